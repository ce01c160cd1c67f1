package completions_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/sse"
)

// said is a message as a chat window keeps it.
type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// window is a chat in a UI: it knows what it shows, and sends all of it with
// each message.
type window struct {
	g      *apitest.Gateway
	header []string
	shows  []said

	last apitest.Response
}

// openWindow opens a chat that names itself in a header.
func openWindow(g *apitest.Gateway, header ...string) *window { return &window{g: g, header: header} }

func (w *window) body(more ...string) string {
	list, err := json.Marshal(w.shows)
	if err != nil {
		w.g.T.Fatal(err)
	}
	return apitest.Messages(strings.Trim(string(list), "[]"), more...)
}

// say sends a message and shows the answer.
func (w *window) say(text string) string {
	w.g.T.Helper()
	w.shows = append(w.shows, said{"user", text})
	return w.answer()
}

// answer asks for an answer to what is shown.
func (w *window) answer() string {
	w.g.T.Helper()
	w.last = w.g.Chat(w.body(apitest.Streamed), w.header...)
	if w.last.Status != http.StatusOK {
		return ""
	}
	f := apitest.Parse(w.g.T, w.last)
	if text := f.Text(); text != "" { // a window shows nothing where nothing came
		w.shows = append(w.shows, said{"assistant", text})
	}
	return f.Text()
}

// edit replaces the message at an index, and what follows it.
func (w *window) edit(index int, text string) string {
	w.g.T.Helper()
	w.shows = append([]said(nil), w.shows[:index]...)
	return w.say(text)
}

// regenerate asks for another answer to the last message.
func (w *window) regenerate() string {
	w.g.T.Helper()
	for len(w.shows) > 0 && w.shows[len(w.shows)-1].Role != "user" {
		w.shows = w.shows[:len(w.shows)-1]
	}
	return w.answer()
}

// stop sends a message and hangs up when the answer has begun with n frames
// of text; what came stays.
func (w *window) stop(text string, n int) {
	w.g.T.Helper()
	w.shows = append(w.shows, said{"user", text})
	ctx, cancel := context.WithCancel(w.g.T.Context())
	defer cancel()
	res := w.g.Send(w.g.Request(http.MethodPost, "/v1/chat/completions", w.body(apitest.Streamed), w.header...).WithContext(ctx))
	defer res.Body.Close()
	r := sse.NewReader(res.Body, 1<<20)
	var seen strings.Builder
	for n > 0 {
		e, err := r.Next()
		if err != nil {
			w.g.T.Fatal(err)
		}
		if text := apitest.ParseChunk(w.g.T, e.Data).Content(); text != "" {
			seen.WriteString(text)
			n--
		}
	}
	if seen.Len() > 0 {
		w.shows = append(w.shows, said{"assistant", seen.String()})
	}
}

// how is what the last request was to the chat.
func (w *window) how() string { return w.last.Header.Get("X-OpenHands-Reconciled") }

// conversation is the one that the last answer came from.
func (w *window) conversation() string {
	return w.last.Header.Get("X-OpenHands-ServerConversation-ID")
}

// wants fails the test unless the last request was that to the chat.
func (w *window) wants(t *testing.T, how string) {
	t.Helper()
	if w.how() != how {
		t.Errorf("the request was %q, want %q: %d %.200s", w.how(), how, w.last.Status, w.last.Body)
	}
}

// told is the last message that the agent was sent.
func told(b *daemontest.Backend) string {
	prompts := b.Prompts()
	if len(prompts) == 0 {
		return ""
	}
	return prompts[len(prompts)-1].Text
}

// echo makes a backend that answers with the last line of its prompt.
func echo() *daemontest.Backend {
	b := daemontest.New("default", "cheap")
	b.Script = func(prompt string) []daemontest.Step {
		lines := strings.Split(prompt, "\n")
		return []daemontest.Step{daemontest.Finish("You said: " + lines[len(lines)-1])}
	}
	return b
}

const chatID = "X-OpenWebUI-Chat-Id"
