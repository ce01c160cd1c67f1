package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// MaxItems is how many items a request may add to a conversation; it is
	// OpenAI's limit.
	MaxItems = 20
	// maxKind bounds the type of an item, in bytes.
	maxKind = 64
	// maxItemID and idLetters bound the id that a client gives an item.
	maxItemID = 128
	idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
)

// KindReference is the type of an item that names another one by its id.
const KindReference = "item_reference"

// ClientItem is an item that a client adds to a conversation.
type ClientItem struct {
	ID   string // as it was sent; empty: it has none
	Kind string // its type
	Role string // of a message: user, assistant or system; empty: an item of another kind
	Text string // of a message, with a word in the place of everything that is not text

	raw []byte
}

// ConversationRequest is the body of POST /v1/conversations.
type ConversationRequest struct {
	Metadata map[string]string // never nil
	Items    []ClientItem
}

// ParseConversation reads the body of POST /v1/conversations. Its error is a
// [*RequestError].
func ParseConversation(body []byte, limits Limits) (*ConversationRequest, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, err
	}
	r := &ConversationRequest{}
	if r.Metadata, err = metadataOf(fields["metadata"]); err != nil {
		return nil, err
	}
	if v := fields["items"]; v != nil {
		r.Items, err = clientItems(v, limits)
	}
	return r, err
}

// ParseMetadata reads the body of POST /v1/conversations/{id}: null takes the
// metadata away. Its error is a [*RequestError].
func ParseMetadata(body []byte) (map[string]string, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, err
	}
	v, ok := fields["metadata"]
	if !ok {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil || all["metadata"] == nil {
			return nil, missing("metadata")
		}
	}
	return metadataOf(v)
}

// ParseItems reads the body of POST /v1/conversations/{id}/items. Its error is a
// [*RequestError].
func ParseItems(body []byte, limits Limits) ([]ClientItem, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, err
	}
	v, ok := fields["items"]
	if !ok {
		return nil, missing("items")
	}
	items, err := clientItems(v, limits)
	if err == nil && len(items) == 0 {
		err = &RequestError{Code: CodeEmptyArray, Param: "items", Message: "'items' must contain at least one element."}
	}
	return items, err
}

// ReadItem reads an item that [ClientItem.Wire] has made.
func ReadItem(data []byte) ClientItem {
	if !json.Valid(data) || kindOf(data) != "object" {
		return ClientItem{}
	}
	item, err := newClientItem(data, "item", Limits{})
	if err != nil {
		return ClientItem{}
	}
	return item
}

func clientItems(v []byte, limits Limits) (items []ClientItem, err error) {
	if kindOf(v) != "array" {
		return nil, invalidType("items", "array", v)
	}
	err = elements(v, func(i int, e []byte) error {
		if i >= MaxItems {
			return &RequestError{Code: CodeArrayTooLong, Param: "items", Message: fmt.Sprintf("'items' has more than %d elements; add the others with further requests.", MaxItems)}
		}
		item, err := newClientItem(e, fmt.Sprintf("items[%d]", i), limits)
		items = append(items, item)
		return err
	})
	return items, err
}

func newClientItem(v []byte, path string, limits Limits) (ClientItem, error) {
	if kindOf(v) != "object" {
		return ClientItem{}, invalidType(path, "object", v)
	}
	item := ClientItem{Kind: "message", raw: v}
	kind := field(v, "type")
	switch {
	case kind == nil && field(v, "role") == nil:
		return item, missing(path + ".type")
	case kind != nil && kindOf(kind) != "string":
		return item, invalidType(path+".type", "string", kind)
	case kind != nil:
		item.Kind = decodeString(kind)
	}
	var err error
	if item.ID, err = clientItemID(field(v, "id"), path+".id"); err != nil {
		return item, err
	}
	switch {
	case item.Kind == "message":
		err = item.message(path, limits)
	case len(item.Kind) > maxKind || strings.HasPrefix(item.Kind, "openhands.") || item.Kind == "":
		err = invalidValue(path+".type", "%s is not a type of items that a client can add.", brief(item.Kind))
	case item.Kind == KindReference && item.ID == "":
		err = missing(path + ".id")
	}
	return item, err
}

// clientItemID is the id of an item, which becomes a part of a path.
func clientItemID(v []byte, path string) (string, error) {
	if v == nil {
		return "", nil
	}
	if kindOf(v) != "string" {
		return "", invalidType(path, "string", v)
	}
	id := decodeString(v)
	if len(id) == 0 || len(id) > maxItemID || strings.Trim(id, idLetters) != "" {
		return "", invalidValue(path, "send 1 to 128 letters, digits, '-' and '_', or leave it out.")
	}
	return id, nil
}

// message reads the fields of a message.
func (i *ClientItem) message(path string, limits Limits) error {
	m, err := newRawMessage(i.raw, path)
	if err != nil {
		return err
	}
	switch m.role {
	case "tool", "function":
		return invalidValue(path+".role", "%s is not a known role; use user, assistant, system or developer.", brief(m.role))
	case "developer":
		m.role = "system"
	}
	if m.content == nil {
		return missing(path + ".content")
	}
	reader := contentReader{path: path + ".content", role: m.role, limits: limits}
	if err := reader.read(m.content); err != nil {
		return err
	}
	i.Role, i.Text = m.role, strings.Join(reader.texts, "\n")
	return nil
}

// Wire encodes the item as it is listed, under an id: as it was sent, and a message
// in the long form of OpenAI's API.
func (i ClientItem) Wire(id string) json.RawMessage {
	b := append(appendString([]byte(`{"id":`), id), `,"type":`...)
	b = appendString(b, i.Kind)
	if i.Kind == "message" {
		status := []byte(`"completed"`)
		if v := field(i.raw, "status"); v != nil && kindOf(v) == "string" {
			status = v
		}
		b = append(append(b, `,"status":`...), status...)
	}
	seen := map[string]bool{"id": true, "type": true, "status": i.Kind == "message"}
	_ = members(i.raw, func(key string, _ []byte) error {
		if seen[key] {
			return nil
		}
		seen[key] = true
		v := field(i.raw, key) // of equal keys the last one wins
		if v == nil {
			v = []byte("null")
		}
		if key == "content" && i.Kind == "message" {
			v = i.content(v)
		}
		b = append(append(appendString(append(b, ','), key), ':'), v...)
		return nil
	})
	var line bytes.Buffer
	if json.Compact(&line, append(b, '}')) != nil {
		return b // it was valid
	}
	return line.Bytes()
}

// content encodes the content of a message as a list of parts.
func (i ClientItem) content(v []byte) []byte {
	kind, more := "input_text", ""
	if i.Role == "assistant" {
		kind, more = "output_text", `,"annotations":[],"logprobs":[]`
	}
	if kindOf(v) == "string" {
		return append(append([]byte(`[{"type":"`+kind+`","text":`), v...), more+"}]"...)
	}
	b := []byte{'['}
	_ = elements(v, func(n int, part []byte) error {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, part[:len(part)-1]...)
		if t := field(part, "type"); t != nil && decodeString(t) == "output_text" {
			for _, name := range []string{"annotations", "logprobs"} {
				if field(part, name) == nil {
					b = append(b, `,"`+name+`":[]`...)
				}
			}
		}
		b = append(b, '}')
		return nil
	})
	return append(b, ']')
}

// ClientItemPrefix begins the ids that items of a kind are given.
func ClientItemPrefix(kind string) string {
	switch kind {
	case "message":
		return messagePrefix
	case "reasoning":
		return reasoningPrefix
	case "function_call":
		return "fc_"
	case "function_call_output":
		return "fco_"
	}
	return "item_"
}
