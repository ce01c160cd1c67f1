package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Reply is one answer of the scripted model. The zero Reply is an empty
// assistant message.
type Reply struct {
	ID        string // of the answer; empty: the server makes one
	Reasoning string // reasoning_content, before everything else
	Text      string // streamed word by word
	Calls     []Call // tool calls, after the text; arguments are streamed in pieces
	Stop      string // finish_reason; empty means "tool_calls" with calls, else "stop"
	Usage     *Usage // nil means DefaultUsage

	// Feed, if set, is text that the test writes live, piece by piece, before
	// Text. The reply goes on when the test closes it: a Feed that is never
	// written to is a gate.
	Feed <-chan string

	Wait time.Duration // before the first byte
	Pace time.Duration // between two pieces
	End  Ending
	// Frame is the data of the error frame with which Refuse ends.
	Frame string

	Habits []Habit // how the provider writes this reply

	// A Status other than 0 makes the reply this HTTP answer, as it stands.
	Status int
	Body   string
	Header http.Header // sent with any kind of reply
}

// Ending says what happens once a reply has said what it has to say.
type Ending int

// The ways in which a reply ends.
const (
	Complete Ending = iota // as it should
	Hang                   // nothing more until the client leaves
	Cut                    // the connection breaks
	Garble                 // a frame that is not JSON, then a regular end of the body
	Stop                   // a regular end of the body, where more should come
	Drop                   // the connection breaks before anything is answered
	Refuse                 // an error frame, then a regular end of the body
)

// Call is a tool call.
type Call struct {
	ID   string // empty: the server makes one
	Name string
	Args string // JSON text, though nothing checks it
}

// Usage is what a reply says it cost, in tokens. Cached is part of Prompt,
// Reasoning part of Completion. The zero Usage is a provider that reports none.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// DefaultUsage is what a reply costs that says nothing else.
func DefaultUsage() Usage { return Usage{Prompt: 100, Completion: 10} }

// Text is a reply of plain text.
func Text(text string) Reply { return Reply{Text: text} }

// Tool is a reply of one tool call.
func Tool(name, args string) Reply { return Reply{Calls: []Call{{Name: name, Args: args}}} }

// Finish is a call of OpenHands' finish tool, which ends the turn with message
// as its answer.
func Finish(message string) Reply { return Reply{Calls: []Call{finishCall(message)}} }

// Slow is a reply of n words, pace apart.
func Slow(n int, pace time.Duration) Reply {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i+1)
	}
	return Reply{Text: strings.Join(words, " "), Pace: pace}
}

// Fail is an HTTP error with OpenAI's error object.
func Fail(status int, message string) Reply {
	kind, code := errorKind(status)
	return failure(status, kind, code, message)
}

// ContextTooLong is the HTTP error for a prompt that exceeds the model's
// context window.
func ContextTooLong() Reply {
	return failure(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded",
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "+
			"Please reduce the length of the messages.")
}

func finishCall(message string) Call {
	return Call{Name: "finish", Args: encode(map[string]string{"message": message})}
}

func failure(status int, kind, code, message string) Reply {
	if message == "" {
		message = http.StatusText(status)
	}
	return Reply{Status: status, Body: encode(errorBody{errorObject{Message: message, Type: kind, Code: code}})}
}

type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// errorKind returns the type and code that go with a status. A 401 does not say
// invalid_request_error, as OpenAI's does, because LiteLLM takes that for a bad
// request unless it knows the message by heart.
func errorKind(status int) (kind, code string) {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error", "invalid_api_key"
	case status == http.StatusTooManyRequests:
		return "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		return "server_error", "server_error"
	}
	return "invalid_request_error", "invalid_request"
}

// fails reports whether the client is left without a whole answer, and so may
// send the same messages again.
func (r Reply) fails() bool {
	endless := slices.Contains(r.Habits, NoDone) && slices.Contains(r.Habits, NoFinish)
	return r.Status != 0 || r.End != Complete || endless
}

func (r Reply) stop() string {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r Reply) usage() Usage {
	if r.Usage == nil {
		return DefaultUsage()
	}
	return *r.Usage
}

// encode is the JSON of v, which is always one of this package's own values
// and so cannot fail.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
