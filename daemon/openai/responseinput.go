package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxInput bounds the items that are stored with a response, in bytes.
const maxInput = 1 << 20

// inputItem is an item of which only the structure was read.
type inputItem struct {
	role    string // of a message; empty: an item of another kind
	answer  []byte // an mcp_approval_response, which is one of the client's; else nil
	id      string // of an item of an answer; empty: it has none
	said    string // in a call that ohgw has made
	call    []byte // the id of that call, or of the one whose result it is; nil: neither
	name    string // of the function that the call is of
	path    string
	content []byte
}

// input reads the field of this name into r. The new turn is what the user says
// after the last output item.
func (r *ResponseRequest) input(v []byte, limits Limits) error {
	items, err := inputItems(v, limits.Messages)
	if err != nil {
		return err
	}
	begin := newTurn(items)
	if err := r.approvals(items[begin:]); err != nil {
		return err
	}
	if len(r.Approvals) == 0 && !slices.ContainsFunc(items[begin:], func(i inputItem) bool { return i.role == "user" }) {
		return invalidValue("input", "there is no new message of the user, and no result of a call that ohgw made; it is the agent's task.")
	}
	if err := r.messagesOf(items, begin, limits); err != nil {
		return err
	}
	if strings.TrimSpace(r.Text) == "" && len(r.Images) == 0 && len(r.Approvals) == 0 {
		return invalidValue("input", "it is empty; the new message of the user is the agent's task.")
	}
	r.boundInput()
	return nil
}

// newTurn is the index of the first item after the last output item.
func newTurn(items []inputItem) int {
	begin := 0
	for i, item := range items {
		if item.role == "" && item.answer == nil || item.role == "assistant" {
			begin = i + 1
		}
	}
	return begin
}

// messagesOf reads the messages; those from begin on are new.
func (r *ResponseRequest) messagesOf(items []inputItem, begin int, limits Limits) error {
	functions := make(map[string]string) // by the id of the call
	for i, item := range items {
		if item.role == "" {
			if item.said != "" {
				r.History = append(r.History, Turn{Role: "assistant", Text: item.said})
			}
			if item.call != nil {
				functions[decodeString(item.call)] = item.name
			}
			r.refer(item)
			continue
		}
		reader := contentReader{path: item.path, role: item.role, limits: limits}
		reader.strict = item.role != "assistant" && (item.role != "user" || i >= begin) && item.call == nil
		if err := reader.read(item.content); err != nil {
			return err
		}
		if item.call != nil {
			r.Input = append(r.Input, listedResult(i, item.call, reader))
			var result functionResults
			result.add(item.call, functions[decodeString(item.call)], reader)
			reader.texts = []string{result.told}
			r.take(item.role, reader, i >= begin)
			continue
		}
		r.take(item.role, reader, i >= begin)
		r.refer(item)
		r.Input = append(r.Input, listed(i, item.role, reader))
	}
	return nil
}

// refer notes an item of an earlier answer, once its text is in History.
func (r *ResponseRequest) refer(item inputItem) {
	if item.id != "" {
		r.Items = append(r.Items, ItemRef{ID: item.id, Turns: len(r.History)})
	}
}

// take sorts a message by what it is to the agent; new ones are after the last
// output item.
func (r *ResponseRequest) take(role string, c contentReader, isNew bool) {
	text := strings.Join(c.texts, "\n")
	if isNew && role == "user" {
		r.Images = append(r.Images, c.images...)
	}
	switch {
	case strings.TrimSpace(text) == "":
	case role == "system":
		r.System = paragraphs(r.System, text)
	case isNew:
		r.Text = paragraphs(r.Text, text)
	default:
		r.History = append(r.History, Turn{Role: role, Text: text})
	}
}

// paragraphs is two texts with an empty line between them.
func paragraphs(before, text string) string {
	if before == "" {
		return text
	}
	return before + "\n\n" + text
}

// inputItems reads the structure of the input. A string is one message.
func inputItems(v []byte, limit int) ([]inputItem, error) {
	if v == nil {
		return nil, missing("input")
	}
	switch kindOf(v) {
	case "string":
		return []inputItem{{role: "user", path: "input", content: v}}, nil
	case "array":
	default:
		return nil, invalidType("input", "string or array", v)
	}
	var items []inputItem
	err := elements(v, func(i int, e []byte) error {
		if limit > 0 && i >= limit {
			return &RequestError{Code: CodeArrayTooLong, Param: "input", Message: fmt.Sprintf("'input' has more than %d elements; ohgw serve --max-messages changes the limit.", limit)}
		}
		item, err := newInputItem(e, fmt.Sprintf("input[%d]", i))
		items = append(items, item)
		return err
	})
	if err == nil && len(items) == 0 {
		err = &RequestError{Code: CodeEmptyArray, Param: "input", Message: "'input' must contain at least one element."}
	}
	return items, err
}

// newInputItem reads an item. One without a type is a message if it has a role.
func newInputItem(v []byte, path string) (inputItem, error) {
	if kindOf(v) != "object" {
		return inputItem{}, invalidType(path, "object", v)
	}
	kind, role := field(v, "type"), field(v, "role")
	switch {
	case kind == nil && role == nil:
		return inputItem{}, missing(path + ".type")
	case kind != nil && kindOf(kind) != "string":
		return inputItem{}, invalidType(path+".type", "string", kind)
	case kind != nil && decodeString(kind) == "mcp_approval_response":
		return inputItem{path: path, answer: v}, nil
	case kind != nil && decodeString(kind) != "message":
		return toolItem(v, decodeString(kind), path)
	case role == nil:
		return inputItem{}, missing(path + ".role")
	}
	m, err := newRawMessage(v, path)
	if err != nil {
		return inputItem{}, err
	}
	switch m.role {
	case "tool", "function":
		return inputItem{}, invalidValue(path+".role", "%s is not a known role; use user, assistant, system or developer.", brief(m.role))
	case "developer":
		m.role = "system"
	}
	item := inputItem{role: m.role, path: path + ".content", content: m.content}
	if m.role == "assistant" {
		item.id = itemName(v)
	}
	return item, nil
}

// toolItem reads an item of an earlier answer, or about the client's own tools. What a
// function returned whose call ohgw made is a message of the client. The id of a call
// names its answer, too: some clients leave the ids of items out.
func toolItem(v []byte, kind, path string) (inputItem, error) {
	item := inputItem{id: itemName(v)}
	call := field(v, "call_id")
	if !isOwnCall(call) {
		return item, nil
	}
	item.call = call
	if kind != "function_call_output" {
		item.name, item.said = functionName(v), saidInCall(call, field(v, "arguments"))
		if item.id == "" {
			item.id = decodeString(call)
		}
		return item, nil
	}
	item.id, item.role, item.path, item.content = "", "user", path+".output", field(v, "output")
	if c := item.content; c != nil && kindOf(c) != "string" && kindOf(c) != "array" {
		return item, invalidType(item.path, "string or array", c)
	}
	return item, nil
}

// itemName is the id of an item; empty where it has none that can be one of ours.
func itemName(v []byte) string {
	id := field(v, "id")
	if id == nil || len(id) > maxID {
		return ""
	}
	if name := looseText(id); name != nil {
		return *name
	}
	return ""
}

// listed encodes a message as GET …/input_items shows it. Pictures are shown without
// their bytes.
func listed(place int, role string, c contentReader) json.RawMessage {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	var parts []map[string]any
	for _, text := range c.texts {
		part := map[string]any{"type": kind, "text": text}
		if role == "assistant" {
			part["annotations"], part["logprobs"] = []any{}, []any{}
		}
		parts = append(parts, part)
	}
	for _, image := range c.images {
		if strings.HasPrefix(image, "data:") {
			parts = append(parts, map[string]any{"type": kind, "text": "[image]"})
			continue
		}
		parts = append(parts, map[string]any{"type": "input_image", "detail": "auto", "image_url": image})
	}
	if parts == nil {
		parts = []map[string]any{}
	}
	return mustEncode(map[string]any{"id": itemID(place, role, parts), "type": "message", "role": role, "status": "completed", "content": parts})
}

// listedResult is what a function returned as GET …/input_items shows it.
func listedResult(place int, call []byte, c contentReader) json.RawMessage {
	output := strings.Join(c.texts, "\n")
	if output == "" && len(c.images) > 0 {
		output = "[image]"
	}
	id := itemID(place, "function_call_output", output)
	return mustEncode(map[string]any{
		"id": "fco_" + strings.TrimPrefix(id, "msg_"), "type": "function_call_output", "status": "completed", "call_id": decodeString(call), "output": output,
	})
}

// itemID names an item of a request: by its place and its content.
func itemID(place int, role string, parts any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", place, role, mustEncode(parts)))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// mustEncode is v as JSON; there are only texts and numbers in it.
func mustEncode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("openai: " + err.Error())
	}
	return data
}

// boundInput leaves out the oldest items beyond maxInput.
func (r *ResponseRequest) boundInput() {
	size := 0
	for i, item := range slices.Backward(r.Input) {
		if size += len(item); size > maxInput {
			r.Input = r.Input[min(i+1, len(r.Input)-1):]
			return
		}
	}
}
