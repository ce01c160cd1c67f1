//go:build e2e

package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The models: scripted, and the same for an agent that takes it for one that
// understands images.
const (
	model       = "openhands_scripted"
	seeingModel = "openhands_seeing"
)

// stack is a gateway with everything around it.
type stack struct {
	*gateway
	agents *agentservertest.Server
	llm    *llmtest.Server
}

// newStack starts a scripted LLM, a real agent-server that uses it, and a
// gateway in front.
func newStack(t testing.TB, program string, args ...string) stack {
	t.Helper()
	llm := llmtest.New(t)
	agents := agentservertest.Start(t)
	agents.SaveProfile(t, "scripted", agentservertest.LLM(llm.URL))
	seeing := agentservertest.LLM(llm.URL)
	seeing["model"] = "openai/gpt-4o"
	agents.SaveProfile(t, "seeing", seeing)
	return stack{gateway: serve(t, program, server{agents.URL, agents.Key}, args...), agents: agents, llm: llm}
}

// promptMark is in every prompt and must be in no log.
const promptMark = "aardvark"

var prompts atomic.Int64

// prompt is a prompt around a script of llmtest, and the words in it that no
// other prompt has.
func prompt(script string) (text, mark string) {
	mark = fmt.Sprintf("%s %d.", promptMark, prompts.Add(1))
	return mark + " " + script, mark
}

// asked are the requests to the LLM for a prompt, by its mark.
func (s stack) asked(mark string) []*llmtest.Request {
	var found []*llmtest.Request
	for _, r := range s.llm.Requests() {
		if strings.Contains(r.UserText(), mark) {
			found = append(found, r)
		}
	}
	return found
}

// conversations is how many conversations the agent-server has.
func (s stack) conversations(t testing.TB) int {
	t.Helper()
	var n int
	s.agents.Call(t, http.MethodGet, "/api/conversations/count", nil, &n)
	return n
}

// chat is the body of a plain request.
func chat(prompt string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`, model, stream, prompt)
}

var isUUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// parallelism is how many goroutines RunParallel starts for each unit.
func parallelism() int { return runtime.GOMAXPROCS(0) }

// resident is the memory that a process holds, in bytes; 0 where the system
// does not tell.
func resident(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kilobytes, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
			return kilobytes << 10
		}
	}
	return 0
}
