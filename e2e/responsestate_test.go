//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// responseObject is what a response says of itself.
type responseObject struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Conversation struct {
		ID string `json:"id"`
	} `json:"conversation"`
	Output []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"output"`
}

func (a responseObject) text() (said string) {
	for _, item := range a.Output {
		for _, part := range item.Content {
			said += part.Text
		}
	}
	return said
}

// respond asks for a response with these fields.
func (g *gateway) respond(t testing.TB, fields map[string]any, header ...string) *http.Response {
	t.Helper()
	fields["model"] = model
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, http.MethodPost, g.URL+"/v1/responses", string(body),
		append([]string{"Authorization", "Bearer " + gatewayKey, "Content-Type", "application/json"}, header...)...)
}

func (g *gateway) retrieve(t testing.TB, id string) responseObject {
	t.Helper()
	return answerOf(t, send(t, http.MethodGet, g.URL+"/v1/responses/"+id, "", "Authorization", "Bearer "+gatewayKey))
}

func answerOf(t testing.TB, res *http.Response) (a responseObject) {
	t.Helper()
	body := bodyOf(t, res)
	if err := json.Unmarshal([]byte(body), &a); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s (%v)", res.Status, body, err)
	}
	return a
}

// touched is when a conversation was last changed, which may be saved after its answer.
var touched = regexp.MustCompile(`"updated_at":"[^"]*"`)

// filesOf are the files below home whose path names a conversation, with their
// content but for the time of the last change. Which process has the conversation open
// does not count.
func filesOf(t testing.TB, home, conversation string) map[string]string {
	t.Helper()
	id := strings.TrimPrefix(conversation, "conv_")
	found := map[string]string{}
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		named := strings.Contains(path, id) || strings.Contains(path, strings.ReplaceAll(id, "-", ""))
		if err != nil || !e.Type().IsRegular() || !named || e.Name() == "owner_lease.json" {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(touched.ReplaceAll(data, nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file of conversation %s", id)
	}
	return found
}

// TestTwoResponsesAfterOne goes on twice from one response: the second is a copy,
// and not a byte of the conversation that it was made of changes.
func TestTwoResponsesAfterOne(t *testing.T) {
	t.Parallel()
	llm, home := llmtest.New(t), t.TempDir()
	g := serveEmbeddedAt(t, home, racyProgram(t), llm.URL)
	say := func(script, previous string) responseObject {
		t.Helper()
		text, _ := prompt(script)
		fields := map[string]any{"input": text}
		if previous != "" {
			fields["previous_response_id"] = previous
		}
		return answerOf(t, g.respond(t, fields))
	}
	const write, read = `[[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]`, `[[tool terminal {"command":"cat note.txt"}]] then [[finish Read.]]`
	first := say(write, "")
	second := say(read, first.ID)
	restart := func() { // what is saved after an answer is on the disk then
		g.stop(t)
		g = serveEmbeddedAt(t, home, racyProgram(t), llm.URL)
	}
	restart()
	before := filesOf(t, home, first.Conversation.ID)
	copied := say(read, first.ID)
	further := say(read, copied.ID)
	restart()
	if diff := cmp.Diff(before, filesOf(t, home, first.Conversation.ID)); diff != "" {
		t.Errorf("the copy changed its origin: %s", diff)
	}
	copies := filesOf(t, home, copied.Conversation.ID)
	third := say(read, second.ID)
	restart()
	if diff := cmp.Diff(copies, filesOf(t, home, copied.Conversation.ID)); diff != "" {
		t.Errorf("the origin changed its copy: %s", diff)
	}
	got := []string{second.Conversation.ID, third.Conversation.ID, further.Conversation.ID, second.text(), copied.text(), further.text(), third.text()}
	want := []string{first.Conversation.ID, first.Conversation.ID, copied.Conversation.ID, "Read.", "Read.", "Read.", "Read."}
	if diff := cmp.Diff(want, got); diff != "" || copied.Conversation.ID == first.Conversation.ID {
		t.Errorf("conversations and texts: %s", diff)
	}
}

// TestCodexRepeatsATurn sends a turn six times as Codex does, for a run that fails
// and for streams that break off. The LLM is asked for one turn.
func TestCodexRepeatsATurn(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	g := serveEmbedded(t, racyProgram(t), llm.URL)
	asked := func(mark string) (n int) {
		for _, r := range llm.Requests() {
			if strings.Contains(r.UserText(), mark) {
				n++
			}
		}
		return n
	}
	codex := []string{"Originator", "codex_cli_rs", "User-Agent", "codex_cli_rs/0.140.0"}
	turn := func(text string) *http.Response {
		return g.respond(t, map[string]any{"input": text, "stream": true, "store": false, "prompt_cache_key": text}, codex...)
	}
	t.Run("that fails", func(t *testing.T) {
		text, mark := prompt("[[fail 401]]")
		first := 0
		for attempt := range 6 {
			if body := bodyOf(t, turn(text)); !strings.Contains(body, `"code":"invalid_prompt"`) {
				t.Fatalf("attempt %d: %s", attempt, body)
			}
			if attempt == 0 {
				first = asked(mark)
			}
		}
		if n := asked(mark); n != first || n == 0 {
			t.Errorf("the LLM was asked %d times, %d after the first attempt", n, first)
		}
	})
	t.Run("that is cut", func(t *testing.T) {
		text, mark := prompt("")
		feed := make(chan string)
		llm.On(llmtest.Says(mark), llmtest.Reply{Feed: feed})
		for range 5 {
			res := turn(text)
			if _, err := res.Body.Read(make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
			hangUp(res)
		}
		last := turn(text)
		feed <- "Here it is."
		close(feed)
		if body := bodyOf(t, last); !strings.Contains(body, "Here it is.") || !strings.Contains(body, "event: response.completed") {
			t.Errorf("the last attempt got %s", body)
		}
		if n := asked(mark); n != 1 {
			t.Errorf("the LLM was asked %d times", n)
		}
	})
}

// TestABackgroundResponseSurvivesACrash kills ohgw while an agent-server works on a
// response in the background. The next ohgw has its answer.
func TestABackgroundResponseSurvivesACrash(t *testing.T) {
	t.Parallel()
	llm, fake, home := llmtest.New(t), newFake(t), t.TempDir()
	fake.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: "sk-llm-test"})
	begin := func() *gateway {
		return start(t, racyProgram(t), home, []string{"--agent-server", fake.URL}, "OHGW_AGENT_SERVER_KEY="+fakeKey)
	}
	g := begin()
	text, mark := prompt("")
	feed := make(chan string)
	llm.On(llmtest.Says(mark), llmtest.Reply{Feed: feed})
	m := answerOf(t, g.respond(t, map[string]any{"input": text, "background": true}))
	feed <- "Half " // the agent is at work
	g.stopped = true
	_ = g.process.End(syscall.SIGKILL, patience)
	g = begin()
	if status := g.retrieve(t, m.ID).Status; status != "in_progress" {
		t.Errorf("status %q while the agent works", status)
	}
	feed <- "done."
	close(feed)
	events := send(t, http.MethodGet, fmt.Sprintf("%s/v1/responses/%s?stream=true", g.URL, m.ID), "", "Authorization", "Bearer "+gatewayKey)
	if body := bodyOf(t, events); !strings.Contains(body, "event: response.completed") {
		t.Errorf("events %s", body)
	}
	waittest.Until(t, patience, "the response is completed", func() (any, bool) {
		got := g.retrieve(t, m.ID)
		return got, got.Status == "completed"
	})
	if got := g.retrieve(t, m.ID); got.text() != "Half done." {
		t.Errorf("%s: text = %q", got.Status, got.text())
	}
	asked := 0
	for _, r := range llm.Requests() {
		if strings.Contains(r.UserText(), mark) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the LLM was asked %d times", asked)
	}
}
