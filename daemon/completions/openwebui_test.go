package completions_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// recorded is a request that Open WebUI 0.12.4 sent in a browser (e2e/webui
// keeps them), and what it was to the gateway.
type recorded struct {
	Header     map[string]string `json:"header"`
	Body       json.RawMessage   `json:"body"`
	Task       string            `json:"task"`
	Reconciled string            `json:"reconciled"`

	messages []json.RawMessage
	last     string // the message that is asked
}

func recordings(t *testing.T) []recorded {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "openwebui-0.12.4.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		var body struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		r.Body = bytes.ReplaceAll(r.Body, []byte("openhands_seeing"), []byte("openhands_default"))
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		r.messages = body.Messages
		r.last = string(body.Messages[len(body.Messages)-1])
		list = append(list, r)
	}
	return list
}

// answer is what the agent said to the request at i: the transcript of a later
// request shows it. Empty: nothing that was shown.
func answer(list []recorded, i int) string {
	asked := list[i]
	for _, later := range slices.Backward(list[i+1:]) {
		n := len(asked.messages)
		if later.Task != "" || len(later.messages) <= n || !slices.EqualFunc(later.messages[:n], asked.messages, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			continue
		}
		var next struct{ Role, Content string }
		if json.Unmarshal(later.messages[n], &next) == nil && next.Role == "assistant" {
			return next.Content
		}
	}
	return ""
}

// What Open WebUI sent, sentence for sentence: each message of the user is one
// run in the conversation where it belongs, and nothing else is one.
func TestOpenWebUIRunsOneAgentForEachMessage(t *testing.T) {
	t.Parallel()
	list := recordings(t)
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		var steps []daemontest.Step
		b.Script = func(string) []daemontest.Step { return steps }
		g := apitest.Serve(t, b)
		runs, tasks := 0, 0
		for i, r := range list {
			header := []string{}
			for name, value := range r.Header {
				header = append(header, name, value)
			}
			text := answer(list, i)
			steps = []daemontest.Step{daemontest.Finish(text)}
			if strings.Contains(r.last, "[[fail") {
				steps = []daemontest.Step{daemontest.Fail("LLMBadRequestError", "no")}
			}
			if r.Task == "" {
				runs++
			} else {
				tasks++
			}
			if strings.Contains(r.last, "[[slow") && r.Task == "" {
				steps = []daemontest.Step{daemontest.Delta(text), daemontest.Hang()}
				g.Cut(string(r.Body), 2, header...)
				continue
			}
			res := g.Chat(string(r.Body), header...)
			task, how := res.Header.Get("X-OpenHands-Task"), res.Header.Get("X-OpenHands-Reconciled")
			apitest.Equal(t, "task", task, r.Task)
			apitest.Equal(t, "how", how, r.Reconciled)
			if b.Runs() != runs {
				t.Fatalf("%d runs after %d messages", b.Runs(), runs)
			}
		}
		if runs < 10 || tasks < 10 {
			t.Errorf("only %d messages and %d tasks were recorded", runs, tasks)
		}
	})
}
