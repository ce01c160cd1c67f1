package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ResponseRequest is the part of a Responses request that means something to a
// gateway in front of an agent. What it asks is in the same fields as that of a
// chat completion: the instructions are System, the new messages of the user are
// Text and Images, the items before them are History.
type ResponseRequest struct {
	ChatRequest

	// Previous is the response that is gone on from; empty: none.
	Previous string
	// Conversation is what the client calls the conversation; empty: nothing.
	Conversation string
	// Store keeps the response for later requests.
	Store bool
	// Background answers at once and lets the run go on without its client.
	Background bool
	// Approvals are the answers to actions that wait for a confirmation.
	Approvals []Approval
	// AsksApproval: what waits for a confirmation is told as items. The client has
	// declared the tool that such items belong to.
	AsksApproval bool
	// Items are the items of earlier answers that the input names by an id, in order.
	Items []ItemRef
	// Input is the items to list as the input of the response, the oldest first,
	// each a JSON object with an id. Where they are too many, the oldest are left
	// out.
	Input []json.RawMessage
	// Echo is what the response repeats of the request.
	Echo Echo
}

// ItemRef is an item of an earlier answer in the input of a request.
type ItemRef struct {
	ID    string
	Turns int // how many elements of History are up to it, its own included
}

// Approval is a client's answer to an item that asks for a confirmation.
type Approval struct {
	Request string // the id of that item
	Approve bool
	Reason  string // for the agent; may be empty
}

// ApprovalServer is the label of the tool that a client declares to be asked for
// confirmations in items: {"type":"mcp","server_label":"openhands"}.
const ApprovalServer = "openhands"

// Echo is what a response object repeats of its request. Raw values are JSON.
type Echo struct {
	Instructions       *string         `json:"instructions"`
	MaxOutputTokens    json.RawMessage `json:"max_output_tokens"`
	MaxToolCalls       json.RawMessage `json:"max_tool_calls"`
	ParallelToolCalls  bool            `json:"parallel_tool_calls"`
	PreviousResponseID *string         `json:"previous_response_id"`
	PromptCacheKey     *string         `json:"prompt_cache_key"`
	CacheRetention     *string         `json:"prompt_cache_retention,omitempty"`
	Reasoning          EchoReasoning   `json:"reasoning"`
	SafetyIdentifier   *string         `json:"safety_identifier"`
	Store              bool            `json:"store"`
	Temperature        json.RawMessage `json:"temperature"`
	// Text has the format that was asked for; empty: none was.
	Text json.RawMessage `json:"text,omitempty"`
	// Tools has the function that the request forces, and ToolChoice says so;
	// empty: it forces none.
	Tools       json.RawMessage   `json:"tools,omitempty"`
	ToolChoice  json.RawMessage   `json:"tool_choice,omitempty"`
	TopLogprobs int               `json:"top_logprobs"`
	TopP        json.RawMessage   `json:"top_p"`
	Truncation  string            `json:"truncation"`
	Metadata    map[string]string `json:"metadata"`
}

// EchoReasoning is the field reasoning of a response.
type EchoReasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// The codes of Responses requests alone.
const (
	CodeMutuallyExclusive = "mutually_exclusive_parameters"
	CodePreviousNotFound  = "previous_response_not_found"
	CodePreviousNotLatest = "previous_response_not_latest"
)

const (
	maxPairs     = 16  // of metadata
	maxPairKey   = 64  // characters
	maxPairValue = 512 // characters
	minOutput    = 16  // the least max_output_tokens
	maxID        = 256 // bytes of an id
	maxLogprobs  = 20  // the greatest top_logprobs of the schema
)

// ParseResponse reads the body of a Responses request. Its error is a
// [*RequestError].
func ParseResponse(body []byte, limits Limits) (*ResponseRequest, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, err
	}
	r := &ResponseRequest{ChatRequest: ChatRequest{fields: fields}}
	if r.Model, err = modelOf(fields); err != nil {
		return nil, err
	}
	if err := r.switches(); err != nil {
		return nil, err
	}
	if err := r.origin(); err != nil {
		return nil, err
	}
	if err := r.input(fields["input"], limits); err != nil {
		return nil, err
	}
	if err := r.instructions(limits); err != nil {
		return nil, err
	}
	if err := checkResponseOptions(fields); err != nil {
		return nil, err
	}
	if err := r.text(fields["text"]); err != nil {
		return nil, err
	}
	if err := r.choice(fields["tool_choice"]); err != nil {
		return nil, err
	}
	if err := r.echo(); err != nil {
		return nil, err
	}
	r.AsksApproval = asksApproval(fields["tools"])
	r.MaxTokens = tokenLimit(fields, "max_output_tokens")
	r.Ignored = r.Format.used(ignoredOfResponse(fields))
	r.Digest = digest(fields)
	return r, nil
}

// switches reads the fields that are true or false.
func (r *ResponseRequest) switches() error {
	r.Store = true
	for _, s := range [...]struct {
		name string
		to   *bool
	}{{"stream", &r.Stream}, {"store", &r.Store}, {"background", &r.Background}} {
		v, ok := r.fields[s.name]
		if !ok {
			continue
		}
		var err error
		if *s.to, err = boolean(v, s.name); err != nil {
			return err
		}
	}
	if r.Background && !r.Store {
		return unsupportedValue("store", "must be true with background: a response that is not stored cannot be retrieved later.")
	}
	return nil
}

// origin reads what the response goes on from.
func (r *ResponseRequest) origin() error {
	var err error
	if r.Previous, err = optionalText(r.fields["previous_response_id"], "previous_response_id"); err != nil {
		return err
	}
	v, path := r.fields["conversation"], "conversation"
	if v != nil && kindOf(v) == "object" {
		v, path = field(v, "id"), "conversation.id"
		if v == nil {
			return missing(path)
		}
	}
	if v != nil && kindOf(v) != "string" {
		return invalidType(path, "string or object", v)
	}
	if r.Conversation, err = optionalText(v, path); err != nil {
		return err
	}
	if r.Previous != "" && r.Conversation != "" {
		return &RequestError{
			Code: CodeMutuallyExclusive, Param: "previous_response_id",
			Message: "Mutually exclusive parameters: send previous_response_id or conversation, not both.",
		}
	}
	return nil
}

// instructions go before the system messages of the input.
func (r *ResponseRequest) instructions(limits Limits) error {
	v := r.fields["instructions"]
	if v == nil {
		return nil
	}
	if kindOf(v) != "string" {
		return invalidType("instructions", "string", v)
	}
	reader := contentReader{path: "instructions", role: "system", limits: limits, strict: true}
	if err := reader.text(v, "instructions"); err != nil {
		return err
	}
	text := strings.Join(reader.texts, "")
	r.Echo.Instructions = &text
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if r.System != "" {
		text += "\n\n" + r.System
	}
	r.System = text
	return nil
}

// text reads the field text. Some clients send it without a format, or a format
// without a type.
func (r *ResponseRequest) text(v []byte) error {
	if v == nil {
		return nil
	}
	if err := isObject(v, "text"); err != nil {
		return err
	}
	format := field(v, "format")
	if format == nil || kindOf(format) == "object" && field(format, "type") == nil {
		return nil
	}
	var err error
	if r.Format, err = readTextFormat(format, "text.format"); err != nil || r.Format == nil {
		return err
	}
	r.Echo.Text = append(append([]byte(`{"format":`), format...), '}')
	return nil
}

// functionTool and choiceOf are a function and its choice as a response repeats them.
type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      json.RawMessage `json:"strict"`
}

type choiceOf struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// choice reads the field tool_choice.
func (r *ResponseRequest) choice(v []byte) error {
	if v == nil {
		return nil
	}
	forced, tool, err := choice{tools: r.fields["tools"], flat: true}.forced(v, "tool_choice")
	if err != nil || forced == nil {
		return err
	}
	if r.Format, err = oneForm(r.Format, forced, "text.format"); err != nil {
		return err
	}
	strict := json.RawMessage("true")
	if v := field(tool, "strict"); v != nil {
		strict = v
	}
	r.Echo.Tools = mustEncode([]any{functionTool{"function", forced.Function, looseText(field(tool, "description")), forced.Schema, strict}})
	r.Echo.ToolChoice = json.RawMessage(`"required"`)
	if forced.Finish == FinishStop {
		r.Echo.ToolChoice = mustEncode(choiceOf{"function", forced.Function})
	}
	return nil
}

// echo reads what the response repeats.
func (r *ResponseRequest) echo() error {
	e, f := &r.Echo, r.fields
	e.Store, e.ParallelToolCalls, e.Truncation = r.Store, true, "disabled"
	e.MaxOutputTokens, e.MaxToolCalls = wholeOf(f["max_output_tokens"]), wholeOf(f["max_tool_calls"])
	e.Temperature, e.TopP = upTo(f["temperature"], 2), upTo(f["top_p"], 1)
	if n, err := strconv.Atoi(string(wholeOf(f["top_logprobs"]))); err == nil && n >= 0 && n <= maxLogprobs {
		e.TopLogprobs = n
	}
	if r.Previous != "" {
		e.PreviousResponseID = &r.Previous
	}
	var err error
	if v, ok := f["parallel_tool_calls"]; ok {
		if e.ParallelToolCalls, err = boolean(v, "parallel_tool_calls"); err != nil {
			return err
		}
	}
	if v, ok := f["truncation"]; ok {
		if e.Truncation, err = optionalText(v, "truncation"); err != nil {
			return err
		}
		if e.Truncation != "auto" && e.Truncation != "disabled" {
			return invalidValue("truncation", "%s is not a known value; send auto or disabled.", brief(e.Truncation))
		}
	}
	e.PromptCacheKey, e.SafetyIdentifier = looseText(f["prompt_cache_key"]), looseText(f["safety_identifier"])
	e.CacheRetention = knownText(f["prompt_cache_retention"], "in_memory", "24h")
	if v := f["reasoning"]; v != nil && kindOf(v) == "object" {
		e.Reasoning.Effort = knownText(field(v, "effort"), "none", "minimal", "low", "medium", "high", "xhigh", "max")
		e.Reasoning.Summary = knownText(field(v, "summary"), "auto", "concise", "detailed")
	}
	e.Metadata, err = metadataOf(f["metadata"])
	return err
}

// wholeOf returns a number as libraries want it where they have an integer: 1.0
// is 1. A value that is not an integer becomes null: the schema has no other
// value for it.
func wholeOf(v []byte) json.RawMessage {
	if v != nil {
		if n, err := number(v, ""); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return strconv.AppendInt(nil, int64(n), 10)
		}
	}
	return json.RawMessage("null")
}

// upTo is a number from 0 to most; 1, the default, for any other.
func upTo(v []byte, most float64) json.RawMessage {
	if v != nil {
		if n, err := number(v, ""); err == nil && n >= 0 && n <= most {
			return slices.Clone(v)
		}
	}
	return json.RawMessage("1")
}

// metadataOf reads up to 16 pairs of texts.
func metadataOf(v []byte) (map[string]string, error) {
	pairs := map[string]string{}
	if v == nil {
		return pairs, nil
	}
	if kindOf(v) != "object" {
		return nil, invalidType("metadata", "object", v)
	}
	err := members(v, func(key string, value []byte) error {
		path := "metadata." + key
		switch {
		case len([]rune(key)) > maxPairKey:
			return invalidValue("metadata", "the key %s has more than %d characters.", brief(key), maxPairKey)
		case kindOf(value) != "string":
			return invalidType(path, "string", value)
		}
		text := decodeString(value)
		if len([]rune(text)) > maxPairValue {
			return invalidValue(path, "it has more than %d characters.", maxPairValue)
		}
		pairs[key] = text
		if len(pairs) > maxPairs {
			return invalidValue("metadata", "it has more than %d pairs.", maxPairs)
		}
		return nil
	})
	return pairs, err
}

// optionalText reads a string of bounded length; empty if it is absent.
func optionalText(v []byte, path string) (string, error) {
	switch {
	case v == nil:
		return "", nil
	case kindOf(v) != "string":
		return "", invalidType(path, "string", v)
	case len(v) > maxID:
		return "", &RequestError{Code: CodeStringTooLong, Param: path, Message: fmt.Sprintf("'%s' is longer than %d bytes.", path, maxID)}
	}
	text, flaw := decodeText(v)
	if flaw != "" {
		return "", invalidText(path, flaw)
	}
	return text, nil
}

// looseText is a string that is only repeated; nil for anything else.
func looseText(v []byte) *string {
	if v == nil || kindOf(v) != "string" {
		return nil
	}
	text := decodeString(v)
	return &text
}

// knownText is a string that is one of a few; nil for anything else.
func knownText(v []byte, known ...string) *string {
	text := looseText(v)
	if text == nil || !slices.Contains(known, *text) {
		return nil
	}
	return text
}

// ignoredOfResponse names the fields that change nothing.
func ignoredOfResponse(fields map[string][]byte) []string {
	names := ignored(fields)
	return slices.DeleteFunc(names, func(name string) bool {
		switch name {
		case "input", "instructions", "previous_response_id", "conversation", "background", "store", "stream", "text", "include", "reasoning", "truncation", "client_metadata":
			return true
		}
		return false
	})
}
