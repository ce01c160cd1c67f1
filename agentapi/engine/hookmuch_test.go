//go:build unix

package engine_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/racetest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// much is how much the models and programs of hooks print, in bytes.
const much = 100_000_000

// The answer to a hook of 100 MB is not kept, and refuses nothing. This test is not parallel:
// it looks at the memory of the process.
func TestAnAnswerOf100MBToAHookIsNotKept(t *testing.T) {
	racetest.Skip(t)
	for _, kind := range []string{"prompt", "agent"} {
		t.Run(kind, func(t *testing.T) {
			pieces, left := make(chan string), make(chan struct{})
			var sent int
			go func() {
				defer close(pieces)
				for ; sent < much; sent += 100_000 {
					select {
					case pieces <- distinct(sent, 100_000):
					case <-left:
						return
					}
				}
			}()
			w := withHook(t, "user_prompt_submit", `{"type":"`+kind+`","prompt":"Is it good?","timeout":600}`, withRealModels(func(*llm.Profile) {}))
			w.llm.Reply(llmtest.Reply{Text: `{"decision":"deny"}`, Feed: pieces}, llmtest.Text("hello"))
			if res := withLittleMemory(t, w); res.Answer != "hello" {
				t.Errorf("result = %+v, want the answer %q", res, "hello")
			}
			close(left)
			<-pieces
			if h := lastOf[*event.HookExecution](t, w.log()); h.Blocked || h.Success || !strings.Contains(h.Error, "too long") || len(h.Error)+len(h.Reason) > 10_000 {
				t.Errorf("blocked %v, success %v, reason %.200q, error %.200q; want an answer that is too long", h.Blocked, h.Success, h.Reason, h.Error)
			}
			noneLeft(t, w)
		})
	}
}

// A program of the agent of a hook that prints 100 MB neither fills the memory nor what the
// model is sent, and the hook decides. This test is not parallel, as the one above.
func TestTheAgentOfAHookMayPrint100MB(t *testing.T) {
	racetest.Skip(t)
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"],"timeout":600}`)
	w.llm.Reply(terminal(fmt.Sprintf("yes | head -c %d", much)), llmtest.Finish(`{"decision":"deny","reason":"too much"}`))
	res := withLittleMemory(t, w)
	if res.Outcome != turn.Refused || res.Refusal != "too much" {
		t.Errorf("result = %+v, want the refusal %q", res, "too much")
	}
	if size := len(w.llm.Await(t, 2).Body); size > 1_000_000 {
		t.Errorf("the model was sent %d bytes", size)
	}
	noneLeft(t, w)
}

// distinct makes a text of a size that does not repeat itself.
func distinct(from, size int) string {
	var b strings.Builder
	for i := from; b.Len() < size; i += 6 {
		fmt.Fprintf(&b, "%x ", uint32(i)*2654435761)
	}
	return b.String()[:size]
}

// withLittleMemory runs a turn, and fails if the heap grows by what is printed meanwhile. Garbage is
// collected early.
func withLittleMemory(t *testing.T, w *world) turn.Result {
	t.Helper()
	usual := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	highest, over := before, w.background("hi")
	var res turn.Result
	waittest.Until(t, 5*time.Minute, "the end of the run", func() (any, bool) {
		highest = max(highest, heap())
		select {
		case res = <-over:
			return highest, true
		default:
			return highest, false
		}
	})
	if grown := highest - before; grown > much {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	return res
}
