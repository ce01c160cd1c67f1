package openai

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// The statuses of a response.
const (
	ResponseQueued     = "queued"
	ResponseInProgress = "in_progress"
	ResponseCompleted  = "completed"
	ResponseFailed     = "failed"
	ResponseCancelled  = "cancelled"
	ResponseIncomplete = "incomplete"
)

// Response is a response object. Its JSON has every key that a client needs, in
// the form of OpenAI's schema.
type Response struct {
	ID           string
	Model        string
	Conversation string // a UUID
	Created      int64  // seconds since 1970
	Completed    int64  // likewise; 0: not yet
	Status       string
	Background   bool
	Error        *ResponseError
	Incomplete   string // why a response is incomplete, such as "max_output_tokens"
	Output       []OutputItem
	Usage        *Usage // nil: not known yet
	Echo         Echo
	Extension    *Extension
}

// ResponseError is why a response failed. Its code is one of OpenAI's list.
type ResponseError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
}

// OutputItem is a reasoning item (ID, Summary), a message (ID, Text), an action
// that waits for a confirmation (ID, Tool, Arguments), or the call of a function of
// the client (ID, Function, Call, Arguments).
type OutputItem struct {
	ID        string
	Tool      string // not empty: the action's
	Function  string // not empty: the function's name
	Call      string // the id of the call, which its output names
	Arguments string // of the action or the function, JSON

	Message bool
	Refusal bool     // of a message: its text says why there is no answer
	Status  string   // of a message or a call
	Text    string   // of a message
	Summary []string // of a reasoning item
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	Logprobs    []any  `json:"logprobs"`
}

type refusalContent struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

// part is the content of a message that has said this text.
func (i OutputItem) part(text string) any {
	if i.Refusal {
		return refusalContent{"refusal", text}
	}
	return textPart(text)
}

type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textPart(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []any{}, Logprobs: []any{}}
}

// MarshalJSON writes the item as OpenAI does. A message in progress has no
// content yet.
func (i OutputItem) MarshalJSON() ([]byte, error) {
	if i.Message {
		content := []any{}
		if i.Status != ResponseInProgress {
			content = append(content, i.part(i.Text))
		}
		return plainjson.Marshal(struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Role    string `json:"role"`
			Status  string `json:"status"`
			Content []any  `json:"content"`
		}{i.ID, "message", "assistant", i.Status, content})
	}
	if i.Tool != "" {
		return plainjson.Marshal(struct {
			ID        string `json:"id"`
			Type      string `json:"type"`
			Server    string `json:"server_label"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{i.ID, "mcp_approval_request", ApprovalServer, i.Tool, i.Arguments})
	}
	if i.Function != "" {
		return plainjson.Marshal(struct {
			ID        string `json:"id"`
			Type      string `json:"type"`
			Call      string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Status    string `json:"status"`
		}{i.ID, "function_call", i.Call, i.Function, i.Arguments, i.Status})
	}
	summary := make([]summaryText, 0, len(i.Summary))
	for _, text := range i.Summary {
		summary = append(summary, summaryText{"summary_text", text})
	}
	return plainjson.Marshal(struct {
		ID      string        `json:"id"`
		Type    string        `json:"type"`
		Summary []summaryText `json:"summary"`
	}{i.ID, "reasoning", summary})
}

// wireResponse is a Response as it is written.
type wireResponse struct {
	ID           string         `json:"id"`
	Object       string         `json:"object"`
	Created      int64          `json:"created_at"`
	Completed    *int64         `json:"completed_at"`
	Status       string         `json:"status"`
	Background   bool           `json:"background"`
	Error        *ResponseError `json:"error"`
	Incomplete   *incomplete    `json:"incomplete_details"`
	Model        string         `json:"model"`
	Output       []OutputItem   `json:"output"`
	ServiceTier  string         `json:"service_tier"`
	ToolChoice   any            `json:"tool_choice"`
	Tools        any            `json:"tools"`
	Usage        *responseUsage `json:"usage,omitempty"`
	Conversation *named         `json:"conversation,omitempty"`
	Echo
	Extension *Extension `json:"ohgw,omitempty"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type named struct {
	ID string `json:"id"`
}

type responseUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64 `json:"total_tokens"`
}

// MarshalJSON writes the response in one line.
func (r *Response) MarshalJSON() ([]byte, error) {
	w := wireResponse{
		ID: r.ID, Object: "response", Created: r.Created, Status: r.Status, Background: r.Background, Error: r.Error, Model: r.Model, Output: r.Output,
		ServiceTier: serviceTier, ToolChoice: "auto", Tools: []any{}, Echo: r.Echo, Extension: r.Extension,
	}
	if len(r.Echo.Tools) > 0 {
		w.ToolChoice, w.Tools = r.Echo.ToolChoice, r.Echo.Tools
	}
	if len(w.Text) == 0 {
		w.Text = json.RawMessage(`{"format":{"type":"text"}}`)
	}
	if w.Output == nil {
		w.Output = []OutputItem{}
	}
	if w.Metadata == nil {
		w.Metadata = map[string]string{}
	}
	if r.Completed != 0 && r.Status == ResponseCompleted {
		w.Completed = &r.Completed
	}
	if r.Incomplete != "" {
		w.Incomplete = &incomplete{r.Incomplete}
	}
	if r.Conversation != "" {
		w.Conversation = &named{ConversationPrefix + r.Conversation}
	}
	if u := r.Usage; u != nil {
		w.Usage = &responseUsage{Input: u.PromptTokens, Output: u.CompletionTokens, Total: u.TotalTokens}
		w.Usage.InputDetails.Cached = u.PromptDetails.CachedTokens
		w.Usage.OutputDetails.Reasoning = u.CompletionDetails.ReasoningTokens
	}
	return plainjson.Marshal(w)
}
