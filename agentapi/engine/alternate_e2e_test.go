//go:build e2e

package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// pythonListed is the log as a Python process has it.
func (w *writer) pythonListed() (listed [][2]string) {
	w.t.Helper()
	w.ask("list", "", 0)
	if err := json.Unmarshal(w.until("done"), &listed); err != nil {
		w.t.Fatal(err)
	}
	return listed
}

// TestAConversationGoesBackAndForth has an old SDK, the newest one and the engine take
// a turn each, three times: closed by the others, or open in all three.
func TestAConversationGoesBackAndForth(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]bool{"closed": true, "open": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.llm.On(llmtest.Says("python goes on"), llmtest.Text("answered for Python"))
			w.llm.On(llmtest.Says("we go on"), terminal("echo hi"), llmtest.Finish("answered for us"))
			w.llm.Reply(llmtest.Text("hello"))
			w.say("hi")
			writers := []*writer{python(t, "1.43.1", w.dir(), w.llm.URL), python(t, "1.58.2", w.dir(), w.llm.URL)}
			before, _ := logOf(t, w.dir())
			// grown compares the log with what it was and what a program lists.
			grown := func(who string, listed [][2]string) {
				t.Helper()
				now, _ := logOf(t, w.dir())
				if len(now) <= len(before) {
					t.Errorf("%s: %d events became %d", who, len(before), len(now))
				}
				if diff := cmp.Diff(before, now[:min(len(before), len(now))]); diff != "" {
					t.Errorf("%s: the log before (-was +is):\n%s", who, diff)
				}
				if diff := cmp.Diff(now, listed); diff != "" {
					t.Errorf("%s: the log (-files +listed):\n%s", who, diff)
				}
				before = now
			}
			for range 3 {
				for _, python := range writers {
					if closes {
						w.close()
						if diff := cmp.Diff(before, python.pythonListed()); diff != "" {
							t.Errorf("%s: the log before its turn (-files +listed):\n%s", python.name, diff)
						}
					}
					python.ask("turn", "python goes on", 0)
					if ended := string(python.until("done")); ended != `"finished"` {
						t.Errorf("%s: the turn ended %s", python.name, ended)
					}
					grown(python.name, python.pythonListed())
					if closes {
						python.ask("close", "", 0)
						python.until("done")
						python.open = false
					}
				}
				if closes {
					w.start()
				}
				if res := w.say("we go on"); res.Answer != "answered for us" {
					t.Errorf("our turn: %+v", res)
				}
				grown("ohgw", w.listed())
			}
		})
	}
}

// alternationsVariable says how often the writer changes.
const alternationsVariable = "OHGW_TEST_ALTERNATIONS"

// TestAlternatingWritersLoseNoEvent has the SDK and the engine write one log by turns
// and at the same time, both with the conversation open, and kills them while they do.
func TestAlternatingWritersLoseNoEvent(t *testing.T) {
	t.Parallel()
	alternations := 16
	if n, err := strconv.Atoi(os.Getenv(alternationsVariable)); err == nil {
		alternations = n
	}
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.close()
	writers := []*writer{
		ours(t, childConfig{Dir: w.cfg.Dir, Workspace: w.workspace, ID: w.id, URL: w.llm.URL}),
		python(t, "1.58.2", w.dir(), w.llm.URL),
	}
	r := rand.New(rand.NewPCG(uint64(alternations), 1))
	var wrote []string
	counts := map[string]int{}
	for i := range alternations {
		one, other := writers[i%2], writers[(i+1)%2]
		text := fmt.Sprintf("alternation %d", i)
		switch kind := r.IntN(4); kind {
		case 0, 1:
			counts["one writes"]++
			one.ask("append", text, 1+r.IntN(3))
			wrote = append(wrote, one.wrote()...)
		case 2:
			counts["killed "+one.name]++
			one.ask("append", text, 200)
			wrote = append(wrote, one.killedAfter(r.IntN(5))...)
		default:
			counts["both write"]++
			one.ask("append", text, 3)
			other.ask("append", text+" of the other", 3)
			wrote = append(wrote, slices.Concat(one.wrote(), other.wrote())...)
		}
	}
	for _, writer := range writers { // so that both have seen the whole log
		writer.ask("append", "the end of "+writer.name, 1)
		wrote = append(wrote, writer.wrote()...)
	}
	listed, texts := logOf(t, w.dir())
	lost, doubled := 0, 0
	for _, text := range wrote {
		if texts[text] == 0 {
			lost++
			t.Errorf("the event %q was written and is lost", text)
		}
	}
	for text, n := range texts {
		if n > 1 {
			doubled++
			t.Errorf("the event %q is there %d times", text, n)
		}
	}
	t.Logf("%d alternations (%v): %d events, %d of them were told of, %d lost, %d doubled", alternations, counts, len(listed), len(wrote), lost, doubled)
	if diff := cmp.Diff(listed, writers[1].pythonListed()); diff != "" {
		t.Errorf("the log (-files +Python's, which had it open):\n%s", diff)
	}
	markers, err := filepath.Glob(filepath.Join(w.dir(), "events", ".eventlog-len-*.marker"))
	if want := fmt.Sprintf(".eventlog-len-%d.marker", len(listed)); err != nil || len(markers) != 1 || filepath.Base(markers[0]) != want {
		t.Errorf("markers %q, %v, want %s", markers, err, want)
	}
	for _, writer := range writers {
		if writer.open {
			writer.killedAfter(0)
		}
	}
	if diff := cmp.Diff(listed, writers[1].pythonListed()); diff != "" {
		t.Errorf("the log (-files +Python's, which has just opened it):\n%s", diff)
	}
	w.cfg.Holder.Alive = func(int) bool { return false }
	w.start()
	if diff := cmp.Diff(listed, w.listed()); diff != "" {
		t.Errorf("the log (-files +ours):\n%s", diff)
	}
}
