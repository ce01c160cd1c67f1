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
