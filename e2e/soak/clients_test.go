//go:build e2e && soak

package soak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// actor is one client of many turns.
type actor struct {
	*books
	world *world
	open  *daemon // whose agents run at once
	asks  *daemon // whose agents ask first
	r     *rand.Rand

	kept  []*kept         // conversations that must have everything at the end
	named map[*daemon]int // other conversations that have a name, and so are kept
}

// kept is a conversation, or a chat of a UI, with what was acknowledged in it.
type kept struct {
	daemon       *daemon
	conversation string // its header, else
	chat         string // the id of a UI's chat, with
	transcript   []message
	acked        []*turn
	sent         int
}

// kinds are what a client may do next, each with its weight.
var kinds = []struct {
	name   string
	weight int
	do     func(*actor, context.Context)
}{
	{"one-shot", 12, func(a *actor, ctx context.Context) { a.oneShot(ctx, false) }},
	{"stream", 16, func(a *actor, ctx context.Context) { a.oneShot(ctx, true) }},
	{"picture", 4, (*actor).pictured},
	{"hang-up", 8, (*actor).hangUp},
	{"hang-up, again", 6, (*actor).hangUpAndAsk},
	{"marked retry", 6, (*actor).markedRetry},
	{"key", 8, (*actor).keyed},
	{"samples", 3, (*actor).samples},
	{"conversation", 12, (*actor).converse},
	{"chat", 12, (*actor).chat},
	{"stop", 4, (*actor).stop},
	{"confirmation", 6, (*actor).confirm},
	{"utility", 5, (*actor).utility},
	{"tool that prints", 4, func(a *actor, ctx context.Context) { a.tool(ctx, "prints", "seq 1 60000") }},
	{"tool that crashes", 4, func(a *actor, ctx context.Context) { a.tool(ctx, "crashes", "kill -9 $$") }},
	{"tool that hangs", 3, (*actor).hangs},
	{"habit", 10, (*actor).habit},
}

// act does one thing after another until ctx ends.
func (a *actor) act(ctx context.Context) {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for ctx.Err() == nil {
		n := a.r.IntN(total)
		for _, k := range kinds {
			if n -= k.weight; n < 0 {
				k.do(a, ctx)
				break
			}
		}
		pause(ctx, time.Duration(a.r.IntN(300))*time.Millisecond)
	}
}

// script is the message of a turn whose command notes it in the ledger, behind
// other directives in the first reply and before others in the last.
func (a *actor) script(t *turn, first, last string) string {
	return a.command(t, "", first, last)
}

// command is script with another command behind the note.
func (a *actor) command(t *turn, then, first, last string) string {
	note := fmt.Sprintf("echo '%s' >> %s", t.mark, a.ledger)
	if then != "" {
		note += "; " + then
	}
	return fmt.Sprintf(`%s %s[[tool terminal {"command":%q}]] then %s[[finish Answer %s]]`, t.mark, first, note, last, t.mark)
}

// judge notes what a client saw of a turn, and says whether the answer is whole.
func (a *actor) judge(t *turn, r reply) bool {
	a.note(t.kind, r.outcome())
	switch {
	case errors.Is(r.err, context.DeadlineExceeded):
		a.problem("%s %s: no whole answer within %v", t.kind, t.mark, client.Timeout)
	case r.code == "internal_error":
		a.problem("%s %s: internal_error: %s", t.kind, t.mark, r.raw)
	case r.err != nil && r.status != 0 && !r.left && r.raw != "" && !strings.Contains(r.err.Error(), "EOF") && !strings.Contains(r.err.Error(), "reset"):
		a.problem("%s %s: an answer that cannot be read: %v: %.300s", t.kind, t.mark, r.err, r.raw)
	}
	if !r.whole || r.run != "" && r.run != "finished" {
		return false
	}
	if !strings.Contains(r.text, "Answer "+t.mark) {
		if strings.Contains(r.text, "interrupted") || strings.Contains(r.text, "waits for") {
			return false
		}
		a.problem("%s %s: the wrong answer: %.300q", t.kind, t.mark, r.text)
		return false
	}
	a.mu.Lock()
	t.acked = true
	a.mu.Unlock()
	return true
}

func (a *actor) oneShot(ctx context.Context, stream bool) {
	kind := "one-shot"
	if stream {
		kind = "stream"
	}
	t := a.add(kind, 1)
	a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.script(t, "", "[[pace 1ms]]"))}, stream: stream}))
}

func (a *actor) pictured(ctx context.Context) {
	t := a.add("picture", 1)
	a.judge(t, send(ctx, a.open, ask{model: "openhands_seeing", stream: true, messages: []message{{"user", []any{
		map[string]any{"type": "text", "text": a.script(t, "", "")},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": picture(40+a.r.IntN(200), a.r.Uint32())}},
	}}}}))
}

// slowly makes a reply take a while, so that there is time to leave.
const slowly = "[[slow 60 20ms]]"

func (a *actor) hangUp(ctx context.Context) {
	t := a.add("hang-up", 1)
	a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.script(t, slowly, ""))}, stream: true, leaveAt: 1 + a.r.IntN(40)}))
}

// hangUpAndAsk leaves and asks the same again, as a page that is reloaded: the
// run that was left answers.
func (a *actor) hangUpAndAsk(ctx context.Context) {
	t := a.add("hang-up, again", 1)
	before := a.world.epoch.Load()
	q := ask{messages: []message{user(a.script(t, slowly, ""))}, stream: true}
	first := q
	first.leaveAt = 2 + a.r.IntN(30)
	if r := send(ctx, a.open, first); !r.left {
		a.judge(t, r)
		return
	}
	left := time.Now()
	pause(ctx, time.Duration(50+a.r.IntN(1500))*time.Millisecond)
	r := send(ctx, a.open, q)
	a.forgive(t, before, r.began.Sub(left))
	a.judge(t, r)
}

// graceful is how long after a hang-up a repeat joins in any case, on a busy
// machine too: the grace is 10 s.
const graceful = 8 * time.Second

// forgive allows one more run where the program may have forgotten the first, or
// was so busy that it took up the repeat when the grace was over.
func (a *actor) forgive(t *turn, before int64, after time.Duration) {
	if a.world.epoch.Load() == before && before%2 == 0 && after < graceful {
		return
	}
	a.mu.Lock()
	t.most++
	a.mu.Unlock()
}

func (a *actor) markedRetry(ctx context.Context) {
	t := a.add("marked retry", 1)
	before := a.world.epoch.Load()
	q := ask{messages: []message{user(a.script(t, slowly, ""))}, leave: time.Duration(50+a.r.IntN(1500)) * time.Millisecond}
	for n := 1; ; n++ {
		began := time.Now()
		r := send(ctx, a.open, q)
		if n > 1 {
			a.forgive(t, before, r.began.Sub(began))
		}
		if a.judge(t, r); !r.left || n == 4 {
			return
		}
		if q.header = map[string]string{"X-Stainless-Retry-Count": fmt.Sprint(n)}; n == 3 {
			q.leave = 0
		}
	}
}

// keyed asks with a key until it is told the end: at most one run, whatever
// happens to the program meanwhile.
func (a *actor) keyed(ctx context.Context) {
	t := a.add("key", 1)
	clock := a.world.epoch.Load()
	q := ask{messages: []message{user(a.script(t, slowly, ""))}, stream: a.r.IntN(2) == 0, header: map[string]string{
		"Idempotency-Key": "soak-" + strings.Trim(t.mark, "<>"),
	}}
	for n := range 8 {
		try := q
		if n < 2 {
			try.leave = time.Duration(50+a.r.IntN(2000)) * time.Millisecond
		}
		r := send(ctx, a.open, try)
		done := a.judge(t, r)
		if done || r.code == "run_interrupted" || r.run != "" {
			break
		}
		pause(ctx, time.Duration(100+a.r.IntN(1500))*time.Millisecond)
	}
	// A key is kept for a day; a clock that jumps by 25 h ends that.
	if a.world.epoch.Load() != clock {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.world.jumped.Load() {
			t.most++
		}
	}
}

// samples are an evaluation's: the same request, several answers wanted.
func (a *actor) samples(ctx context.Context) {
	const n = 4
	t := a.add("samples", n)
	q := ask{messages: []message{user(a.script(t, "", ""))}, stream: a.r.IntN(2) == 0}
	var all sync.WaitGroup
	var mu sync.Mutex
	conversations := map[string]int{}
	for i := range n {
		all.Go(func() {
			pause(ctx, time.Duration(i*i)*20*time.Millisecond)
			r := send(ctx, a.open, q)
			if a.judge(t, r) {
				mu.Lock()
				conversations[r.conversation]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, answers := range conversations {
		if answers > 1 {
			a.problem("samples %s: %d answers came from one conversation, %s", t.mark, answers, id)
		}
	}
}

// stop interrupts a run by its conversation, and asks the same again: that is a
// run of its own.
func (a *actor) stop(ctx context.Context) {
	t := a.add("stop", 2)
	id := newID(a.r)
	a.named[a.open]++
	header := map[string]string{"X-OpenHands-ServerConversation-ID": id}
	var running sync.WaitGroup
	running.Go(func() {
		a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.script(t, slowly, ""))}, stream: true, header: header}))
	})
	pause(ctx, time.Duration(100+a.r.IntN(900))*time.Millisecond)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.open.URL+"/v1/conversations/"+id+"/interrupt", nil)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+gatewayKey)
		if res, err := client.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}
	running.Wait()
	a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.script(t, "", ""))}, header: header}))
}

// confirm answers what an agent asks before it acts.
func (a *actor) confirm(ctx context.Context) {
	t := a.add("confirmation", 1)
	a.named[a.asks]++
	header := map[string]string{"X-OpenHands-ServerConversation-ID": newID(a.r)}
	r := send(ctx, a.asks, ask{messages: []message{user(a.script(t, "", ""))}, header: header})
	a.note(t.kind, "asked: "+r.outcome())
	if !r.whole || r.run != "waiting_for_confirmation" {
		return
	}
	if a.r.IntN(3) == 0 {
		a.mu.Lock()
		t.most = 0 // it was refused
		a.mu.Unlock()
		a.note(t.kind, "no: "+send(ctx, a.asks, ask{messages: []message{user("no")}, header: header}).outcome())
		return
	}
	for range 3 { // the finish action asks, too, where the engine says so
		r = send(ctx, a.asks, ask{messages: []message{user("yes")}, header: header})
		if !r.whole || r.run != "waiting_for_confirmation" {
			break
		}
	}
	a.judge(t, r)
}

func (a *actor) utility(ctx context.Context) {
	t := a.add("utility", 0)
	q := ask{messages: []message{user(t.mark + " Say hello.")}, model: "openhands_utility"}
	if a.r.IntN(2) == 0 {
		q.model = ""
		q.messages = []message{user("### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n" +
			"### Output:\nJSON format: { \"title\": \"your concise title here\" }\n### Chat History:\n<chat_history>\nUSER: " + t.mark + "\n</chat_history>")}
	}
	r := send(ctx, a.open, q)
	a.note(t.kind, r.outcome())
	if r.code == "internal_error" {
		a.problem("utility %s: %s", t.mark, r.raw)
	}
}

func (a *actor) tool(ctx context.Context, does, command string) {
	t := a.add("tool that "+does, 1)
	a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.command(t, command, "", ""))}, stream: true}))
}

// endless is in the command line of every tool that hangs.
const endless = "86399.25"

func (a *actor) hangs(ctx context.Context) {
	t := a.add("tool that hangs", 1)
	a.judge(t, send(ctx, a.open, ask{
		messages: []message{user(a.command(t, "sleep "+endless, "", ""))}, stream: true, leave: time.Duration(500+a.r.IntN(2500)) * time.Millisecond,
	}))
}

// habits are ways of providers that must not be noticed, or cost one more try.
var habits = []string{
	"[[habit keepalive]]", "[[habit empty-choices]]", "[[habit no-done]]", "[[habit usage-floats]]", "[[habit usage-object]]",
	"[[habit usage-nulls]]", "[[habit reasoning]][[think Hm.]]", "[[habit think-tags]][[think Hm.]]", "[[habit whole]]", "[[habit one-index]]",
	"[[id chatcmpl-1]]", "[[usage 10 20]]", "[[fail 503 busy]] then ", "[[fail 429 slowly]][[header Retry-After 1]] then ", "[[cut]] then ", "[[drop]] then ",
}

func (a *actor) habit(ctx context.Context) {
	t := a.add("habit", 1)
	habit := habits[a.r.IntN(len(habits))]
	t.plain = !strings.HasSuffix(habit, "then ")
	if a.judge(t, send(ctx, a.open, ask{messages: []message{user(a.script(t, habit, ""))}, stream: a.r.IntN(2) == 0})) {
		a.note("habit "+habit, "answered")
	}
}

func newID(r *rand.Rand) string {
	hi, lo := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(hi>>32), uint16(hi>>16), hi&0xfff, lo>>52, lo&0xffffffffffff)
}
