package openai

import (
	"encoding/json"
	"strings"
)

// ItemList is a page of the items of a conversation.
type ItemList struct {
	Object  string  `json:"object"`   // "list"
	Data    []any   `json:"data"`     // of Message, and of types of ohgw; never null
	FirstID *string `json:"first_id"` // null where the page is empty
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// NewItemList makes a page. ids are those of the items.
func NewItemList(items []any, ids []string, more bool) ItemList {
	list := ItemList{Object: "list", Data: items, HasMore: more}
	if list.Data == nil {
		list.Data = []any{}
	}
	if n := len(ids); n > 0 {
		list.FirstID, list.LastID = &ids[0], &ids[n-1]
	}
	return list
}

// The phases of an assistant's message.
const (
	PhaseCommentary = "commentary"
	PhaseAnswer     = "final_answer"
)

// Message is an item of a conversation that was said.
type Message struct {
	ID      string `json:"id"`
	Type    string `json:"type"`   // "message"
	Status  string `json:"status"` // "completed"
	Role    string `json:"role"`   // "user" or "assistant"
	Content []any  `json:"content"`
	Phase   string `json:"phase,omitempty"` // of an assistant
}

// InputText is a text of the user.
type InputText struct {
	Type string `json:"type"` // "input_text"
	Text string `json:"text"`
}

// InputImage is a picture of the user. URL is null unless it was asked for.
type InputImage struct {
	Type   string  `json:"type"`   // "input_image"
	Detail string  `json:"detail"` // "auto"
	File   *string `json:"file_id"`
	URL    *string `json:"image_url"`
}

// OutputText is a text of the assistant.
type OutputText struct {
	Type        string `json:"type"` // "output_text"
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	LogProbs    []any  `json:"logprobs"`
}

// UserMessage is what the user said. images has the URL of each picture, or an
// empty text where it is not wanted.
func UserMessage(id, text string, images []string) Message {
	m := Message{ID: id, Type: "message", Status: "completed", Role: "user", Content: []any{}}
	if text != "" || len(images) == 0 {
		m.Content = append(m.Content, InputText{"input_text", text})
	}
	for _, image := range images {
		part := InputImage{Type: "input_image", Detail: "auto"}
		if image != "" {
			part.URL = &image
		}
		m.Content = append(m.Content, part)
	}
	return m
}

// AssistantMessage is what the assistant said.
func AssistantMessage(id, text, phase string) Message {
	return Message{
		ID: id, Type: "message", Status: "completed", Role: "assistant", Phase: phase,
		Content: []any{OutputText{Type: "output_text", Text: text, Annotations: []any{}, LogProbs: []any{}}},
	}
}

// The types of ohgw's items.
const (
	ItemAction = "openhands.action"
	ItemError  = "openhands.error"
)

// ErrorItem is why a turn of a conversation failed.
type ErrorItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // ItemError
	Message string `json:"message"`
}

// ActionItem is an action of the agent: an object in JSON with an id, which gets
// its type as its first member.
func ActionItem(action []byte) json.RawMessage {
	return append([]byte(`{"type":"`+ItemAction+`",`), action[1:]...)
}

// ReasoningItem is what the agent thought.
func ReasoningItem(id, text string) OutputItem { return OutputItem{ID: id, Summary: []string{text}} }

const (
	messagePrefix   = "msg_"
	errorPrefix     = "err_"
	reasoningPrefix = "rs_"
	// beforeSuffix ends the id of what was said before the call, or the answer, of
	// the same event.
	beforeSuffix = "_before"
)

// MessageID is the id of a message: of the event that it is in, and of the first
// of two messages of an event.
func MessageID(event string, before bool) string {
	if before {
		return messagePrefix + event + beforeSuffix
	}
	return messagePrefix + event
}

// ErrorID is the id of an ErrorItem.
func ErrorID(event string) string { return errorPrefix + event }

// ReasoningID is the id of a ReasoningItem.
func ReasoningID(event string) string { return reasoningPrefix + event }

// ParseItemID gives the event of an item, whether it is the first of two messages,
// and whether it is what was thought before them.
func ParseItemID(id string) (event string, before, reasoning bool) {
	event, message := strings.CutPrefix(id, messagePrefix)
	if message {
		event, before = strings.CutSuffix(event, beforeSuffix)
		return event, before, false
	}
	if event, reasoning = strings.CutPrefix(id, reasoningPrefix); reasoning {
		return event, false, true
	}
	return strings.TrimPrefix(id, errorPrefix), false, false
}
