package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is one request that the server got. Its exported fields do not
// change any more; how it ended is asked with the methods.
type Request struct {
	Header   http.Header
	Body     []byte // as sent
	Started  time.Time
	Model    string
	Stream   bool
	Messages []Message
	Tools    []string // names of the tools that the model may call

	withUsage bool            // stream_options.include_usage
	messages  json.RawMessage // as sent
	over      chan struct{}   // closed when the request has ended

	mu      sync.Mutex
	outcome Outcome
	ended   time.Time
}

// Message is one message of a request.
type Message struct {
	Role   string
	Text   string   // text parts, one a line
	Images []string // URLs of the image parts
	Calls  []Call   // tool calls of an assistant message
	CallID string   // the call that a tool message answers
}

// Outcome is how a request ended.
type Outcome int

// The outcomes of a request.
const (
	Open       Outcome = iota // still being answered
	Answered                  // the whole reply was written, an HTTP error too
	ClientLeft                // the client went away before that
	Broken                    // the script broke the answer off, or the server was closed
)

func (o Outcome) String() string {
	return [...]string{"open", "answered", "client left", "broken"}[o]
}

// patience bounds every wait of this package; no test should come near it.
const patience = 30 * time.Second

// Outcome says how the request ended, or Open.
func (r *Request) Outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// Ended is when the request ended; zero while it is Open. For ClientLeft it is
// when the server noticed.
func (r *Request) Ended() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// Wait waits until the request has ended and says how. It fails the test if
// that takes half a minute.
func (r *Request) Wait(t testing.TB) Outcome {
	t.Helper()
	select {
	case <-r.over:
	case <-time.After(patience):
		t.Fatalf("llmtest: the request is still open after %v", patience)
	}
	return r.Outcome()
}

// UserText is the text of the newest user message.
func (r *Request) UserText() string {
	return r.Messages[r.newestUser()].Text
}

// Last is the newest message of any role.
func (r *Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// newestUser is the index of the newest user message, else of the first
// message; a Request has at least one. What follows an empty answer is not the
// user's: agents that get one ask for more in the user's name.
func (r *Request) newestUser() int {
	for i := len(r.Messages) - 1; i > 0; i-- {
		if r.Messages[i].Role == "user" && !r.Messages[i-1].isEmptyAnswer() {
			return i
		}
	}
	return 0
}

func (m Message) isEmptyAnswer() bool {
	return m.Role == "assistant" && m.Text == "" && len(m.Calls) == 0
}

// step is the number of replies after the newest user message. That is the
// number of assistant messages, but OpenHands may send a reply with several
// calls again as a message for each of them.
func (r *Request) step() (n int) {
	counted := map[string]bool{}
	for _, m := range r.Messages[r.newestUser():] {
		if m.Role != "assistant" {
			continue
		}
		reply := m.reply()
		if reply == "" || !counted[reply] {
			n++
		}
		counted[reply] = true
	}
	return n
}

// reply reports which reply of a server the message is from, by the ids that
// Server.take makes for calls; empty if it has none, or ids of a script.
func (m Message) reply() string {
	if len(m.Calls) == 0 || !strings.HasPrefix(m.Calls[0].ID, madeID) {
		return ""
	}
	id := m.Calls[0].ID
	return id[:max(0, strings.LastIndex(id, "-"))]
}

func (r *Request) end(outcome Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome, r.ended = outcome, time.Now()
	close(r.over)
}

// parseChat reads the body of a chat completion request as far as this package
// needs it.
func parseChat(header http.Header, body []byte) (*Request, error) {
	var in struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages json.RawMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	var messages []chatMessage
	if err := json.Unmarshal(in.Messages, &messages); err != nil {
		return nil, fmt.Errorf("parse messages: %w", err)
	}
	if in.Model == "" || len(messages) == 0 {
		return nil, errors.New("parse request: it needs a model and messages")
	}
	r := &Request{
		Header: header, Body: body, Started: time.Now(),
		Model: in.Model, Stream: in.Stream, withUsage: in.StreamOptions.IncludeUsage,
		messages: in.Messages, over: make(chan struct{}),
	}
	for _, m := range messages {
		r.Messages = append(r.Messages, m.message())
	}
	for _, tool := range in.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	return r, nil
}

// chatMessage is a message on the wire.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a string, a list of parts, or null
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (m chatMessage) message() Message {
	out := Message{Role: m.Role, CallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	if json.Unmarshal(m.Content, &out.Text) == nil {
		return out
	}
	var parts []struct {
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	// Content of another shape has nothing that a script could match.
	_ = json.Unmarshal(m.Content, &parts)
	var texts []string
	for _, p := range parts {
		if p.ImageURL.URL != "" {
			out.Images = append(out.Images, p.ImageURL.URL)
			continue
		}
		texts = append(texts, p.Text)
	}
	out.Text = strings.Join(texts, "\n")
	return out
}
