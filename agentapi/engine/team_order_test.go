//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// seeds are how many orders of events are tried.
const seeds = 20

// late makes a reply come after a random time.
func late(r *rand.Rand, reply llmtest.Reply) llmtest.Reply {
	reply.Wait = time.Duration(r.IntN(30)) * time.Millisecond
	return reply
}

// inManyOrders runs a test with many seeds, in both modes of a team.
func inManyOrders(t *testing.T, stream uint64, f func(t *testing.T, r *rand.Rand, all bool)) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f(t, rand.New(rand.NewPCG(seed, stream)), seed%2 == 0)
		})
	}
}

// TestATeamPaysWhatItsMembersPayInEveryOrder has one member fail and one ask for a
// confirmation, in both modes. What the turns took is what the LLM reported.
func TestATeamPaysWhatItsMembersPayInEveryOrder(t *testing.T) {
	t.Parallel()
	inManyOrders(t, 1, func(t *testing.T, r *rand.Rand, all bool) {
		w, _ := teamWorld(t, all)
		w.llm.On(llmtest.Model("alpha"), late(r, terminal("true")), late(r, llmtest.Text("alpha knows")))
		w.llm.On(llmtest.Model("beta"), late(r, llmtest.Fail(401, "no such key")))
		w.llm.On(llmtest.Model("gamma"), late(r, terminal("touch asked")), late(r, llmtest.Text("gamma did it")))
		members := []string{"alpha", "beta", "gamma"}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		lead, answers := []llmtest.Reply{llmtest.Text("Together, without beta.")}, int64(5)
		if !all {
			lead, answers = append([]llmtest.Reply{handOut(members...)}, lead...), 6
		}
		w.llm.On(llmtest.Model("lead"), lead...)
		first := w.say("go")
		waitsFor(t, first, "gamma: $ touch asked")
		res := w.play(accept)
		if res.Outcome != turn.Finished || res.Answer != "Together, without beta." || !made(w, "asked") {
			t.Errorf("result = %+v, the action ran: %t", res, made(w, "asked"))
		}
		want := turn.Usage{PromptTokens: 100 * answers, CompletionTokens: 10 * answers}
		if got := first.Usage.Plus(res.Usage); got != want {
			t.Errorf("usage = %+v, the LLM reported %+v", got, want)
		}
		if body := string(callsOf(w, "lead")[len(lead)-1].Body); !strings.Contains(body, "LLMAuthenticationError") || !strings.Contains(body, "alpha knows") {
			t.Errorf("the lead was asked %s", body)
		}
	})
}

// counted is a model whose calls are counted.
type counted struct {
	llm.Model

	open, all *atomic.Int64
}

// Generate makes the call.
func (c counted) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	c.all.Add(1)
	c.open.Add(1)
	defer c.open.Add(-1)
	return c.Model.Generate(ctx, req, onDelta)
}

// TestATeamStopsAtAnyMoment has a turn interrupted when so many calls have reached the LLM.
// No call is open afterwards, and no other one follows.
func TestATeamStopsAtAnyMoment(t *testing.T) {
	t.Parallel()
	inManyOrders(t, 2, func(t *testing.T, r *rand.Rand, all bool) {
		var open, made atomic.Int64
		w, _ := teamWorld(t, all, func(c *engine.Config) {
			withModel(c, func(m llm.Model) llm.Model { return counted{m, &open, &made} })
		})
		for _, name := range []string{"alpha", "beta"} {
			w.llm.On(llmtest.Model(name), late(r, terminal("sleep 0.01")), late(r, terminal("sleep 0.02")), llmtest.Reply{Text: "well", End: llmtest.Hang})
		}
		w.llm.On(llmtest.Model("gamma"), llmtest.Reply{Text: "well", End: llmtest.Hang})
		w.llm.On(llmtest.Model("lead"), handOut("alpha", "beta", "gamma"))
		over := w.background("go")
		w.llm.Await(t, 1+r.IntN(6))
		if err := w.open().Interrupt(w.ctx()); err != nil {
			t.Fatal(err)
		}
		if res := <-over; res.Outcome != turn.Interrupted {
			t.Errorf("result = %+v, want the outcome %d", res, turn.Interrupted)
		}
		then := made.Load()
		if n := open.Load(); n != 0 {
			t.Errorf("%d calls are open", n)
		}
		nothingRuns(t, w)
		w.close()
		if n := made.Load(); n != then {
			t.Errorf("%d calls followed", n-then)
		}
	})
}

// TestMembersKeepEachOthersEdits has ten members change ten lines each of one file, all at
// the same time. Every change is there, or the member was told that it is not.
func TestMembersKeepEachOthersEdits(t *testing.T) {
	t.Parallel()
	const members, changes = 10, 10
	agents := named{}
	crew := &team.Team{All: true}
	w := newWorld(t, realTools, func(c *engine.Config) { c.Agents = agents })
	file := filepath.Join(w.workspace, "f.txt")
	var lines []string
	for i := range members {
		name := fmt.Sprint("m", i)
		agents[name] = engine.Agent{Profile: name, Settings: json.RawMessage(`{"tools":[{"name":"file_editor"}]}`)}
		crew.Members = append(crew.Members, team.Member{Name: name, Profile: "agent_" + name})
		w.profiles.Set(name, name)
		var replies []llmtest.Reply
		for n := range changes {
			line := fmt.Sprintf("line %d of %s", n, name)
			lines = append(lines, line)
			args, err := json.Marshal(map[string]string{"command": "str_replace", "path": file, "old_str": line + "\n", "new_str": line + " is done\n"})
			if err != nil {
				t.Fatal(err)
			}
			replies = append(replies, llmtest.Tool("file_editor", string(args)))
		}
		w.llm.On(llmtest.Model(name), append(replies, llmtest.Text("done"))...)
	}
	w.profiles.Set("lead", "lead")
	w.llm.On(llmtest.Model("lead"), llmtest.Text("all done"))
	agents["team/crew"] = engine.Agent{Profile: "lead", Settings: json.RawMessage(`{"tools":[{"name":"task_tool_set"}],"tool_concurrency_limit":10}`), Team: crew}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.begin("team_crew")
	if res := w.say("go"); res.Answer != "all done" {
		t.Fatalf("result = %+v", res)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, r := range w.llm.Requests() {
		if strings.Contains(r.Last().Text, "tool reported an error") {
			refused++
		}
	}
	there := strings.Count(string(data), " is done\n")
	t.Logf("%d changes are there, %d were refused", there, refused)
	if there+refused != members*changes {
		t.Errorf("%d changes are there and %d were refused, want %d together", there, refused, members*changes)
	}
}
