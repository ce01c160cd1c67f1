package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/setup/running"
)

func TestAQuestionIsCheckedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*options{
		"two conversations": {prompt: "hi", conversation: "x", last: true},
		"a negative time":   {prompt: "hi", timeout: -time.Second},
		"no prompt":         {},
		"no such image":     {prompt: "hi", images: []string{"nothing.png"}},
	} {
		o.App = clitest.New(t, nil).App
		if err := run(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

func TestTheTextOnStdinGoesWithThePrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ prompt, stdin, want string }{
		{"why?", "", "why?"},
		{"", "why?\n", "why?\n"},
		{"why?", "a log\n", "why?\n\n<stdin>\na log\n</stdin>"},
	} {
		a := clitest.New(t, nil)
		a.Stdin = strings.NewReader(tt.stdin)
		if got, err := readPrompt(t.Context(), a.App, tt.prompt); err != nil || got != tt.want {
			t.Errorf("readPrompt(%q) with %q on stdin = %q, %v; want %q", tt.prompt, tt.stdin, got, err, tt.want)
		}
	}
}

// lateList is a gateway whose backend is slow: the first list of models is not there in time.
type lateList struct {
	mu     sync.Mutex
	lists  int
	models []string // that were asked
}

func (g *lateList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/models":
		if g.lists++; g.lists == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, `{"error":{"message":"The agent-server does not answer.","type":"server_error","param":null,"code":"agent_server_unavailable"}}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"object":"list","data":[{"id":"openhands_work","object":"model","created":1,"owned_by":"openhands"}]}`)
	case "/v1/chat/completions":
		var q struct {
			Model string `json:"model"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		if g.models = append(g.models, q.Model); q.Model != "openhands_work" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"The model '%s' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`, q.Model)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const chunk = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"openhands_work","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
		_, _ = fmt.Fprintf(w, chunk+chunk+"data: [DONE]\n\n", `{"role":"assistant","content":"hi"}`, "null", "{}", `"stop"`)
	}
}

func TestAModelIsLookedForAgainWhereTheListWasLate(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct {
		code  fault.Code
		asked []string
	}{
		"work":    {0, []string{"work", "openhands_work"}},
		"wrok":    {fault.Configuration, []string{"wrok"}},
		"another": {fault.Configuration, []string{"another"}},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			gateway := &lateList{}
			server := httptest.NewServer(gateway)
			defer server.Close()
			app := clitest.New(t, map[string]string{"OHGW_URL": server.URL, "OHGW_API_KEY": "token"})
			cmd, _ := newCommand(app.App)
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs([]string{"-p", "--model", model, "hello"})
			err := cmd.ExecuteContext(t.Context())
			if got := fault.CodeOf(err); got != want.code {
				t.Errorf("exit code %d (%v), want %d\n%s", got, err, want.code, app.Err.String())
			}
			if !slices.Equal(gateway.models, want.asked) {
				t.Errorf("asked %q, want %q", gateway.models, want.asked)
			}
		})
	}
}

// A chat that was opened before there was a list finds the model in the list that comes.
func TestAChatLooksForItsModelInAListThatCameLate(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct{ id, why string }{
		"work":          {id: "openhands_work"},
		"another":       {id: "another"},
		"opnhands_work": {why: `there is no model "opnhands_work"; did you mean openhands_work? ohgw models lists the models`},
	} {
		server := httptest.NewServer(&lateList{})
		t.Cleanup(server.Close)
		app := clitest.New(t, nil)
		c := &session{opts: &options{App: app.App, model: typed}, asker: &running.Daemon{Found: instance.Info{URL: server.URL}}}
		c.client = c.newClient(gateway.Config{URL: server.URL, HTTP: server.Client()})
		if err := c.findModel(t.Context()); err != nil || startOf(c).Find == nil {
			t.Fatalf("%s: %v, or there was a list", typed, err)
		}
		models, err := c.client.Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, err := startOf(c).Find(t.Context(), models)
		if id != want.id || (err == nil) != (want.why == "") || err != nil && err.Error() != want.why {
			t.Errorf("%s is %q, %v; want %+v", typed, id, err, want)
		}
		if err := c.findModel(t.Context()); want.why == "" && err != nil || startOf(c).Find != nil {
			t.Errorf("%s: a model of a list that was there is looked for again (%v)", typed, err)
		}
	}
}
