package openai

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
)

// Limits bound a request. Zero means no limit.
type Limits struct {
	Messages int // elements of messages
	Text     int // bytes of text in one message
	Images   int // images in the last user message
	// RemoteImages allows http and https URLs. Those of private addresses are
	// refused all the same, as far as the URL itself tells.
	RemoteImages bool
}

// ChatRequest is the part of a chat completion request that means something to
// a gateway in front of an agent.
type ChatRequest struct {
	Model        string
	Stream       bool
	IncludeUsage bool

	// System is the text of the system and developer messages, in order.
	System string
	// History are the turns before the last user message.
	History []Turn
	// Text and Images are the last user message. Images are data URLs, or
	// http(s) URLs where the limits allow them.
	Text   string
	Images []string

	// Continues is the conversation, a UUID, whose answer was the call that the last
	// message has the result of; empty: it has none, or the call does not name it.
	Continues string

	// Begun are the turns after that message: an answer that has begun and is to
	// go on.
	Begun []Turn

	// MaxTokens is how long the answer may be, in tokens; 0: no limit is set. It has no
	// effect on an agent, but says what a request is for.
	MaxTokens float64

	// Format is the form that the answer has to have; nil: any text.
	Format *Format

	// Ignored names the fields that have no effect, sorted.
	Ignored []string
	// Digest identifies what was asked: equal for two bodies that differ in
	// form only, or in how the answer is to be sent.
	Digest [sha256.Size]byte

	fields map[string][]byte
}

// Turn is an earlier message of the user or the assistant. Its text may be
// shortened and holds marks such as [image] for what is not text.
type Turn struct {
	Role string // "user", "assistant" or "system"
	Text string
}

const (
	maxDepth        = 64  // objects and arrays in each other
	maxModel        = 256 // bytes of a model id
	maxIgnored      = 32  // names in ChatRequest.Ignored
	maxIgnoredBytes = 64  // bytes of one of them
)

// ParseChat reads the body of a chat completion request. Its error is a
// [*RequestError].
func ParseChat(body []byte, limits Limits) (*ChatRequest, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, err
	}
	r := &ChatRequest{fields: fields}
	if r.Model, err = modelOf(fields); err != nil {
		return nil, err
	}
	if err := r.messages(fields["messages"], limits); err != nil {
		return nil, err
	}
	if r.Stream, err = boolean(fields["stream"], "stream"); err != nil {
		return nil, err
	}
	if r.IncludeUsage, err = includeUsage(fields["stream_options"]); err != nil {
		return nil, err
	}
	if err := checkOptions(fields); err != nil {
		return nil, err
	}
	if r.Format, err = formatOf(fields); err != nil {
		return nil, err
	}
	r.MaxTokens = tokenLimit(fields, "max_completion_tokens", "max_tokens")
	r.Ignored = r.Format.used(ignored(fields))
	r.Digest = digest(fields)
	return r, nil
}

// topLevel reads the fields of a body that are not null. Of equal keys the last one
// wins.
func topLevel(body []byte) (map[string][]byte, error) {
	if !json.Valid(body) {
		return nil, invalidJSON(body)
	}
	if tooDeep(body, maxDepth) {
		return nil, &RequestError{Code: CodeInvalidValue, Message: fmt.Sprintf("Invalid request body: objects and arrays are nested more than %d levels deep.", maxDepth)}
	}
	start := skipSpace(body, 0)
	end := skipValue(body, start)
	value := body[start:end]
	if kindOf(value) != "object" {
		return nil, &RequestError{Code: CodeInvalidType, Message: "Invalid type for the request body: expected object, got " + kindOf(value) + "."}
	}
	fields := make(map[string][]byte, 16)
	_ = members(value, func(key string, v []byte) error {
		if kindOf(v) == "null" {
			delete(fields, key)
		} else {
			fields[key] = v
		}
		return nil
	})
	return fields, nil
}

func invalidJSON(body []byte) error {
	where := "it is empty"
	var v json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &v)); ok && len(body) > 0 {
		where = fmt.Sprintf("%s at byte %d", syntax.Error(), syntax.Offset)
	}
	return &RequestError{Code: CodeInvalidJSON, Message: "The request body is not valid JSON: " + where + "."}
}

func modelOf(fields map[string][]byte) (string, error) {
	v, ok := fields["model"]
	if !ok {
		return "", missing("model")
	}
	if kindOf(v) != "string" {
		return "", invalidType("model", "string", v)
	}
	if len(v) > maxModel {
		return "", &RequestError{Code: CodeStringTooLong, Param: "model", Message: fmt.Sprintf("'model' is longer than %d bytes; GET /v1/models lists the ids.", maxModel)}
	}
	model, flaw := decodeText(v)
	if flaw != "" {
		return "", invalidText("model", flaw)
	}
	return model, nil
}

func includeUsage(v []byte) (bool, error) {
	if v == nil {
		return false, nil
	}
	if kindOf(v) != "object" {
		return false, invalidType("stream_options", "object", v)
	}
	return boolean(field(v, "include_usage"), "stream_options.include_usage")
}

// field is the value of a member of an object; nil if it is absent or null.
func field(object []byte, name string) []byte {
	var found []byte
	_ = members(object, func(key string, v []byte) error {
		if key == name {
			found = v
			if kindOf(v) == "null" {
				found = nil
			}
		}
		return nil
	})
	return found
}

func boolean(v []byte, path string) (bool, error) {
	if v == nil {
		return false, nil
	}
	if kindOf(v) != "boolean" {
		return false, invalidType(path, "boolean", v)
	}
	return v[0] == 't', nil
}

// number is a number of any form: clients write 1 and 1.0.
func number(v []byte, path string) (float64, error) {
	if kindOf(v) != "number" {
		return 0, invalidType(path, "number", v)
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalidType(path, "number", v)
	}
	return f, nil
}

// tokenLimit is the first limit of these fields, which were checked; 0: there is none.
func tokenLimit(fields map[string][]byte, names ...string) float64 {
	for _, name := range names {
		if v := fields[name]; v != nil {
			n, _ := number(v, name)
			return n
		}
	}
	return 0
}

// ignored names the fields that change nothing. Labels (user, metadata, the
// cache keys) are not named: they never change an answer.
func ignored(fields map[string][]byte) []string {
	var names []string
	for name, v := range fields {
		switch name {
		case "model", "messages", "stream", "stream_options", "n", "response_format", "modalities", "logprobs", "top_logprobs",
			"tool_choice", "function_call", "user", "metadata", "safety_identifier",
			"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
			continue
		case "store":
			if v[0] == 'f' {
				continue
			}
		case "tools", "functions":
			if string(v) == "[]" {
				continue
			}
		}
		if plainName(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names[:min(len(names), maxIgnored)]
}

// plainName reports whether a name can be repeated in a header.
func plainName(name string) bool {
	if name == "" || len(name) > maxIgnoredBytes {
		return false
	}
	for _, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func missing(path string) error {
	return &RequestError{Code: CodeMissingParameter, Param: path, Message: "Missing required parameter: '" + path + "'."}
}

func invalidType(path, want string, got []byte) error {
	return &RequestError{
		Code: CodeInvalidType, Param: path,
		Message: fmt.Sprintf("Invalid type for '%s': expected %s, got %s.", path, want, kindOf(got)),
	}
}

func invalidValue(path, format string, args ...any) error {
	return &RequestError{Code: CodeInvalidValue, Param: path, Message: fmt.Sprintf("Invalid value for '%s': ", path) + fmt.Sprintf(format, args...)}
}

func invalidText(path, flaw string) error {
	return invalidValue(path, "the text contains %s; remove it.", flaw)
}

// brief is s as it may be repeated in a message.
func brief(s string) string {
	const limit = 40
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return strconv.Quote(s)
}
