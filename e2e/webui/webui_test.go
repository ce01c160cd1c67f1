//go:build e2e_webui

package webui_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// plainly matches calls without an agent.
func plainly(words string) llmtest.Match {
	says := llmtest.Says(words)
	return func(r *llmtest.Request) bool { return len(r.Tools) == 0 && says(r) }
}

// asked is the message in which the agent was told a mark.
func (w *world) asked(mark string) string {
	for _, r := range w.llm.Requests() {
		if len(r.Tools) > 0 && strings.Contains(r.UserText(), mark) {
			return r.UserText()
		}
	}
	return ""
}

// images counts the images that the model was shown with a mark.
func (w *world) images(mark string) int {
	for _, r := range w.llm.Requests() {
		for _, m := range r.Messages {
			if len(r.Tools) > 0 && strings.Contains(m.Text, mark) {
				return len(m.Images)
			}
		}
	}
	return 0
}

// finished is how many runs of agents the gateway has counted.
func (w *world) finished(t *testing.T) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.gateway+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+gatewayKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, m := range regexp.MustCompile(`(?m)^ohgw_runs_total\{.*\} (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}

// runs counts the calls of agents for a message: those with tools.
func (w *world) runs(mark string) int {
	n := 0
	for _, r := range w.llm.Requests() {
		if len(r.Tools) > 0 && strings.Contains(r.UserText(), mark) {
			n++
		}
	}
	return n
}

func (w *world) send(t *testing.T, text string) {
	t.Helper()
	w.browser.For(t)
	w.browser.Op("send", map[string]any{"text": text}, nil)
}

func (w *world) shows(t *testing.T, text string) {
	t.Helper()
	w.browser.For(t)
	w.browser.Op("shows", map[string]any{"text": text}, nil)
}

func (w *world) do(t *testing.T, op string, args map[string]any) {
	t.Helper()
	w.browser.For(t)
	w.browser.Op(op, args, nil)
}

// how is what the last request for a chat was to it.
func (w *world) how(t *testing.T, want string) {
	t.Helper()
	chats := w.proxy.chats()
	last := chats[len(chats)-1]
	if got := last.Answer.Get("X-OpenHands-Reconciled"); got != want {
		t.Errorf("the request was %q, want %q\n%.500s", got, want, last.Body)
	}
}

func (w *world) once(t *testing.T, mark string) {
	t.Helper()
	if n := w.runs(mark); n != 1 {
		t.Errorf("%d calls of the agent for %q, want one", n, mark)
	}
}

// sentence is the messages of a chat as the browser shows them.
type sentence struct{ Users, Answers []string }

func (w *world) messages(t *testing.T) sentence {
	t.Helper()
	var m sentence
	w.browser.For(t)
	w.browser.Op("messages", nil, &m)
	return m
}

// tasks are the kinds of housekeeping so far, with how often each came.
func (w *world) tasks() map[string]int {
	n := map[string]int{}
	for _, e := range w.proxy.all() {
		if task := e.Answer.Get("X-OpenHands-Task"); task != "" {
			n[task]++
		}
	}
	return n
}

// red is a PNG of one pixel.
const red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// TestJourneys is what people do in Open WebUI, one thing after the other.
// Each message is one run of the agent, whatever Open WebUI asks beside it.
func TestJourneys(t *testing.T) {
	w := newWorld(t)
	w.llm.On(plainly("Generate a concise title"), llmtest.Text("```json\n{\"title\": \"A scripted title\"}\n```"))
	w.llm.On(plainly("broad tags"), llmtest.Text(`{"tags":["Testing"]}`))
	w.llm.On(plainly("send next"), llmtest.Text(`{"follow_ups":["What about the rest of it?"]}`))
	messages := 0 // that a run was made for

	t.Run("model list", func(t *testing.T) {
		w.do(t, "open", map[string]any{"path": "/?model=openhands_seeing"})
		var list struct{ Names []string }
		w.browser.Op("models", nil, &list)
		if got := strings.Join(list.Names, ", "); !strings.Contains(got, "OpenHands (seeing)") || strings.Contains(got, "titles") {
			t.Errorf("the list of models is %q", got)
		}
	})
	t.Run("streamed turn with title, tags and suggestions", func(t *testing.T) {
		w.send(t, "first mark-1 [[say Hello from the agent.]]")
		w.shows(t, "Hello from the agent.")
		w.do(t, "settle", nil)
		w.do(t, "page", map[string]any{"text": "What about the rest of it?"})
		w.do(t, "titled", map[string]any{"text": "A scripted title"})
		w.once(t, "mark-1")
		w.how(t, "new")
		messages++
		want := map[string]int{"title_generation": 1, "tags_generation": 1, "follow_up_generation": 1}
		if diff := cmp.Diff(want, w.tasks()); diff != "" {
			t.Errorf("housekeeping (-want +got):\n%s", diff)
		}
	})
	t.Run("second turn with a thinking block", func(t *testing.T) {
		w.send(t, `second mark-2 [[tool terminal {"command":"echo 4711"}]] then [[say It said 4711.]]`)
		w.shows(t, "It said 4711.")
		w.do(t, "settle", nil)
		w.how(t, "continued")
		messages++
		if m := w.messages(t); !strings.Contains(m.Answers[1], "Thought") {
			t.Errorf("there is no thinking block: %q", m.Answers[1])
		}
	})
	t.Run("edit", func(t *testing.T) {
		w.do(t, "edit", map[string]any{"index": 1, "text": "edited mark-3 [[say After the edit.]]"})
		w.shows(t, "After the edit.")
		w.do(t, "settle", nil)
		w.how(t, "forked")
		w.once(t, "mark-3")
		messages++
	})
	t.Run("regenerate", func(t *testing.T) {
		w.llm.On(llmtest.Says("mark-3"), llmtest.Text("Another answer."))
		w.do(t, "regenerate", nil)
		w.shows(t, "Another answer.")
		w.do(t, "settle", nil)
		w.how(t, "forked")
		messages++
	})
	t.Run("stop then a new message", func(t *testing.T) {
		w.send(t, "slow mark-4 [[slow 600 100ms]]")
		w.shows(t, "word")
		w.do(t, "stop", nil)
		w.send(t, "mark-5 [[say Gone on.]]")
		w.shows(t, "Gone on.")
		w.do(t, "settle", nil)
		w.how(t, "continued")
		w.once(t, "mark-5")
		messages += 2
		told := w.asked("mark-5")
		if !strings.Contains(told, "The user stopped your last answer.") {
			t.Errorf("the agent was told %q", told)
		}
	})
	t.Run("image", func(t *testing.T) {
		w.do(t, "send", map[string]any{"text": "mark-6 [[say A red dot.]]", "image": red})
		w.shows(t, "A red dot.")
		w.do(t, "settle", nil)
		w.how(t, "continued")
		w.once(t, "mark-6")
		messages++
		if images := w.images("mark-6"); images != 1 {
			t.Errorf("the model was shown %d images", images)
		}
	})
	t.Run("failed run", func(t *testing.T) {
		w.send(t, "mark-7 [[fail 400 Something is wrong with this request.]]")
		w.do(t, "page", map[string]any{"text": "Something is wrong with this request."})
		w.do(t, "settle", nil)
		w.once(t, "mark-7")
		w.send(t, "mark-8 [[say Well again.]]")
		w.shows(t, "Well again.")
		w.do(t, "settle", nil)
		w.how(t, "continued")
		w.once(t, "mark-8")
		messages += 2
	})
	t.Run("temporary chats", func(t *testing.T) {
		w.do(t, "open", map[string]any{"path": "/?model=openhands_seeing&temporary-chat=true"})
		w.send(t, "mark-9 [[say First of the temporary chat.]]")
		w.shows(t, "First of the temporary chat.")
		w.do(t, "settle", nil)
		w.how(t, "new")
		w.send(t, "mark-10 [[say Second of the temporary chat.]]")
		w.shows(t, "Second of the temporary chat.")
		w.do(t, "settle", nil)
		w.how(t, "continued")
		w.once(t, "mark-9")
		w.once(t, "mark-10")
		messages += 2
	})
	t.Run("one run for each message", func(t *testing.T) {
		if n := w.finished(t); n != messages {
			t.Errorf("%d runs for %d messages", n, messages)
		}
	})
	w.proxy.keep(t)
}
