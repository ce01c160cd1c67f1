package pg_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// mortalBackend is the agent-server of a gateway, which does nothing there once it is
// dead.
type mortalBackend struct {
	agentapi.Backend

	g *gateway
}

func (b *mortalBackend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if b.g.dead.Load() {
		return nil, errDead
	}
	c, err := b.Backend.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return &mortal{Fenced: c.(agentapi.Fenced), g: b.g}, nil //nolint:forcetypeassert // of an agent-server
}

func (b *mortalBackend) Remove(ctx context.Context, id string) error {
	if b.g.dead.Load() {
		return errDead
	}
	return b.Backend.Remove(ctx, id)
}

// mortalLedger is the ledger of a gateway that dies at a point of the protocol.
type mortalLedger struct {
	ledger.Ledger

	g *gateway
}

func (l *mortalLedger) Claim(ctx context.Context, c ledger.Claim) (ledger.Found, error) {
	if l.g.dead.Load() {
		return ledger.Found{}, errDead
	}
	f, err := l.Ledger.Claim(ctx, c)
	if at := l.g.point; at != nil && (at("waits") || at("admitted")) {
		f.Slot = false // as where none was free
	}
	return f, errors.Join(err, l.g.at("claimed"))
}

func (l *mortalLedger) Find(ctx context.Context, id int64) (ledger.Found, error) {
	if l.g.dead.Load() {
		return ledger.Found{}, errDead
	}
	return l.Ledger.Find(ctx, id)
}

func (l *mortalLedger) Await(ctx context.Context, id int64) (ledger.Found, error) {
	if l.g.dead.Load() {
		return ledger.Found{}, errDead
	}
	return l.Ledger.Await(ctx, id)
}

// step does something between two points, if its gateway lives.
func (l *mortalLedger) step(before, after string, do func() error) error {
	if err := l.g.at(before); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return l.g.at(after)
}

func (l *mortalLedger) Turn(ctx context.Context, t ledger.Ticket) error {
	return l.step("waits", "admitted", func() error { return l.Ledger.Turn(ctx, t) })
}

func (l *mortalLedger) Sending(ctx context.Context, t ledger.Ticket, b turn.Baseline, request []byte, keyed bool) error {
	return l.step("opened", "noted", func() error { return l.Ledger.Sending(ctx, t, b, request, keyed) })
}

func (l *mortalLedger) Running(ctx context.Context, t ledger.Ticket) error {
	return l.step("appended", "fenced", func() error { return l.Ledger.Running(ctx, t) })
}

func (l *mortalLedger) Started(ctx context.Context, t ledger.Ticket, interrupt func(context.Context) error) error {
	return l.step("started", "checked", func() error { return l.Ledger.Started(ctx, t, interrupt) })
}

func (l *mortalLedger) End(ctx context.Context, t ledger.Ticket, e ledger.Ending) error {
	return l.step("answered", "ended", func() error { return l.Ledger.End(ctx, t, e) })
}

func (l *mortalLedger) Drop(ctx context.Context, t ledger.Ticket) error {
	return l.step("", "", func() error { return l.Ledger.Drop(ctx, t) })
}

func (l *mortalLedger) Release(ctx context.Context, t ledger.Ticket) error {
	return l.step("", "", func() error { return l.Ledger.Release(ctx, t) })
}

func (l *mortalLedger) Orphans(ctx context.Context) (found []ledger.Found, err error) {
	err = l.step("", "", func() error { found, err = l.Ledger.Orphans(ctx); return err })
	return found, err
}

// manager is what answers requests in a gateway.
type manager struct {
	*run.Manager

	g *gateway
}

func (p *pool) manager(t *testing.T, runs int, die string) *manager {
	t.Helper()
	g := &gateway{Replica: join(t, p.db, runs), p: p, point: func(at string) bool { return die != "" && at == die }}
	m, err := run.New(run.Config{
		Backend: &mortalBackend{p.backend, g}, Ledger: &mortalLedger{g.Replica, g}, MaxRuns: runs, Workspace: "/tmp", Grace: time.Second, OneShotTTL: time.Hour,
	})
	must(t, err)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return &manager{m, g}
}

func request(text, key, conversation string) run.Request {
	return run.Request{
		Access: run.Access{Token: "t", Person: true}, IdempotencyKey: key, ConversationID: conversation, Profile: "fast",
		Fingerprint: sha256.Sum256([]byte(text + conversation)), Message: agentapi.Message{Text: text},
	}
}

// answer is what a client reads, and the name of the answer.
func (m *manager) answer(t *testing.T, req run.Request) (text, id string, err error) {
	t.Helper()
	a, err := m.Submit(t.Context(), req)
	if err != nil {
		return "", "", err
	}
	return read(t, a)
}

func read(t *testing.T, a *run.Attachment) (text, id string, err error) {
	t.Helper()
	defer a.Close()
	for {
		u, err := a.Next(soon(t, time.Minute))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return text, a.AnswerID(), err
		}
		if u.Kind == turn.Text {
			text += u.Text
		}
	}
	res, err := a.Result()
	if err == nil {
		a.Delivered()
	}
	if err == nil && res.Outcome == turn.Finished && !strings.HasSuffix(text, res.Answer) {
		t.Errorf("the text %q does not end with the answer %q", text, res.Answer)
	}
	return text, a.AnswerID(), err
}

// firstRun is the run that was claimed first.
func (p *pool) firstRun(t *testing.T) int64 {
	t.Helper()
	rows, err := p.db.Query(t.Context(), "SELECT min(id) FROM runs")
	must(t, err)
	id, err := strconv.ParseInt(rows[0][0], 10, 64)
	must(t, err)
	return id
}

// asked counts what the model was asked, by the last message.
func (p *pool) asked() map[string]int {
	n := map[string]int{}
	for _, r := range p.llm.Requests() {
		n[r.UserText()]++
	}
	return n
}

func TestAnyManagerGivesTheAnswerOfOneRun(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	a, b, c := p.manager(t, 4, ""), p.manager(t, 4, ""), p.manager(t, 4, "")
	first, err := a.Submit(t.Context(), request("hello", "key", ""))
	must(t, err)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second, err := b.Submit(t.Context(), request("hello", "key", ""))
	must(t, err)
	if _, err := b.Submit(t.Context(), request("something else", "key", "")); !errors.Is(err, run.ErrKeyConflict) {
		t.Errorf("another request with the key: %v", err)
	}
	go func() {
		for _, s := range []string{"one ", "two ", "three"} {
			feed <- s
		}
		close(feed)
	}()
	texts := []string{}
	for _, at := range []*run.Attachment{second, first} {
		text, id, err := read(t, at)
		must(t, err)
		texts = append(texts, text+" "+id)
	}
	for _, m := range []*manager{c, b, a} {
		text, id, err := m.answer(t, request("hello", "key", ""))
		must(t, err)
		texts = append(texts, text+" "+id)
	}
	if len(slices.Compact(slices.Clone(texts))) != 1 || !strings.HasPrefix(texts[0], "one two three ") {
		t.Errorf("the answers: %q", texts)
	}
	if got := p.asked()["hello"]; got != 1 {
		t.Errorf("the agent ran %d times", got)
	}
}

// TestAManagerTakesOverWhereAnotherOneDied: one dies between two steps, the client asks
// the other one with the same key.
func TestAManagerTakesOverWhereAnotherOneDied(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.llm.On(llmtest.Says("turn"), llmtest.Text("the answer"))
	b := p.manager(t, 64, "")
	var wg sync.WaitGroup
	for _, die := range []string{"claimed", "waits", "admitted", "opened", "noted", "appended", "fenced", "started", "checked", "answered", "ended"} {
		for _, conversation := range []string{"", uuid.New()} {
			a := p.manager(t, 64, die)
			wg.Go(func() {
				text := "turn " + die + " " + conversation
				if _, _, err := a.answer(t, request(text, text, conversation)); err == nil && !slices.Contains([]string{"started", "checked", "answered", "ended"}, die) {
					t.Errorf("%s: the dead one answers", die)
				}
				waitFor(t, "a death", a.g.dead.Load)
				got, _, err := b.answer(t, request(text, text, conversation))
				if err != nil || got != "the answer" {
					t.Errorf("%s: %q, %v", die, got, err)
				}
				if n := p.asked()[text]; n != 1 {
					t.Errorf("%s: the agent ran %d times", die, n)
				}
			})
		}
	}
	wg.Wait()
}

// TestAClientKeepsItsAnswerWhenTheOtherManagerDies: it has read half of it by then.
func TestAClientKeepsItsAnswerWhenTheOtherManagerDies(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	a, b := p.manager(t, 4, "none"), p.manager(t, 4, "")
	first, err := a.Submit(t.Context(), request("hello", "key", ""))
	must(t, err)
	defer first.Close()
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second, err := b.Submit(t.Context(), request("hello", "key", ""))
	must(t, err)
	got := make(chan string, 1)
	go func() {
		text, _, err := read(t, second)
		got <- fmt.Sprint(text, err)
	}()
	time.Sleep(time.Second) // it watches
	feed <- "one "
	time.Sleep(300 * time.Millisecond)
	a.g.dead.Store(true)
	a.g.Die()
	feed <- "two"
	waitFor(t, "a takeover", func() bool {
		f, err := b.g.Find(t.Context(), p.firstRun(t))
		return err == nil && f.Epoch > 1
	})
	close(feed)
	if text := <-got; text != "one two<nil>" {
		t.Errorf("the client read %q", text)
	}
	if n := p.asked()["hello"]; n != 1 {
		t.Errorf("the agent ran %d times", n)
	}
}

func TestManagersKeepTheOrderOfAConversation(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.llm.On(llmtest.Says("message"), llmtest.Text("ok"))
	managers := []*manager{p.manager(t, 8, ""), p.manager(t, 8, "")}
	conv := uuid.New()
	var attached []*run.Attachment
	var want []string
	for i := range 6 {
		text := fmt.Sprintf("message %d", i)
		want = append(want, text)
		a, err := managers[i%2].Admit(request(text, text, conv))
		must(t, err)
		attached = append(attached, a)
	}
	for _, a := range attached {
		_, _, err := read(t, a)
		must(t, err)
	}
	var got []string
	for _, r := range p.llm.Requests() {
		got = append(got, r.UserText())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order was %q", got)
	}
}

func TestAManagerStopsTheRunsOfAnother(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	defer close(feed)
	a, b := p.manager(t, 4, ""), p.manager(t, 4, "")
	conv := uuid.New()
	first, err := a.Admit(request("hello", "1", conv))
	must(t, err)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second, err := a.Admit(request("hello again", "2", conv))
	must(t, err)
	watcher, err := b.Admit(request("hello", "1", conv))
	must(t, err)
	if n := b.Stop("stranger", conv, ""); n != 0 {
		t.Errorf("a stranger stopped %d", n)
	}
	if n := b.Stop("t", conv, "2"); n != 1 {
		t.Errorf("stopped %d by key", n)
	}
	if _, _, err := read(t, second); !errors.Is(err, run.ErrStopped) {
		t.Errorf("the one that waits ends with %v", err)
	}
	if n := b.Stop("t", conv, ""); n != 1 {
		t.Errorf("stopped %d", n)
	}
	for _, at := range []*run.Attachment{first, watcher} {
		if _, _, err := read(t, at); err != nil {
			t.Errorf("the run ends with %v", err)
		}
		if res, _ := at.Result(); res.Outcome != turn.Interrupted {
			t.Errorf("the outcome is %v", res.Outcome)
		}
	}
}

func TestADrainLeavesRunsToOthers(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	p.llm.On(llmtest.Says("later"), llmtest.Text("too"))
	a, b := p.manager(t, 1, ""), p.manager(t, 1, "")
	first, err := a.Admit(request("hello", "1", ""))
	must(t, err)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second, err := a.Admit(request("later", "2", ""))
	must(t, err)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		a.Drain(ctx)
		close(ended)
	}()
	if _, _, err := read(t, second); !errors.Is(err, run.ErrReleased) {
		t.Errorf("the one that waits ends with %v", err)
	}
	if _, err := a.Admit(request("third", "3", "")); !errors.Is(err, run.ErrReleased) {
		t.Errorf("a new one: %v", err)
	}
	later, err := b.Admit(request("later", "2", ""))
	must(t, err)
	cancel()
	if _, _, err := read(t, first); !errors.Is(err, run.ErrReleased) {
		t.Errorf("the one that runs ends with %v", err)
	}
	<-ended
	again, err := b.Admit(request("hello", "1", ""))
	must(t, err)
	if status := p.status(t, again.ConversationID()); status == event.Paused {
		t.Errorf("the run is %s", status)
	}
	go func() {
		feed <- "the answer"
		close(feed)
	}()
	for _, c := range []struct {
		at   *run.Attachment
		want string
	}{{again, "the answer"}, {later, "too"}} {
		if text, _, err := read(t, c.at); err != nil || text != c.want {
			t.Errorf("the other one answers %q, %v", text, err)
		}
	}
	for text, n := range p.asked() {
		if n != 1 {
			t.Errorf("the agent ran %d times for %q", n, text)
		}
	}
}

func TestOrphansGoOnOrAreInterrupted(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Feed: feed})
	p.llm.On(llmtest.Says("forgotten"), llmtest.Reply{Feed: make(chan string)})
	a, b := p.manager(t, 4, ""), p.manager(t, 4, "")
	kept := request("hello", "1", uuid.New())
	kept.Detach = true
	lost := request("forgotten", "2", uuid.New())
	for _, req := range []run.Request{kept, lost} {
		at, err := a.Admit(req)
		must(t, err)
		defer at.Close()
	}
	waitFor(t, "two runs", func() bool { return len(p.llm.Requests()) == 2 })
	a.g.dead.Store(true)
	a.g.Die()
	waitFor(t, "an interrupt", func() bool { return p.status(t, lost.ConversationID) == event.Paused })
	feed <- "done"
	close(feed)
	waitFor(t, "the end of the other", func() bool {
		f, err := b.g.Claim(t.Context(), ledger.Claim{Token: "t", Key: nil, Print: kept.Fingerprint[:], Conversation: uuid.New(), Joins: func(p []ledger.Past) int { return -1 }})
		must(t, err, b.g.Drop(t.Context(), f.Ticket))
		got, err := b.g.Find(t.Context(), p.firstRun(t))
		return err == nil && got.Kind == ledger.Closed
	})
	if text, _, err := b.answer(t, kept); err != nil || text != "done" {
		t.Errorf("the detached one: %q, %v", text, err)
	}
	if _, _, err := b.answer(t, lost); !errors.Is(err, run.ErrAbandoned) && !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("the other one ends with %v", err)
	}
	if n := len(p.llm.Requests()); n != 2 {
		t.Errorf("the agents ran %d times", n)
	}
}

// TestARetryWithoutAKeyIsJoinedAnywhere: as long as the answer is owed, and no longer.
func TestARetryWithoutAKeyIsJoinedAnywhere(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.llm.On(llmtest.Says("hello"), llmtest.Reply{Text: "hi", Wait: 2 * time.Second}, llmtest.Text("hi again"))
	a, b := p.manager(t, 4, ""), p.manager(t, 4, "")
	first, err := a.Admit(request("hello", "", ""))
	must(t, err)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	first.Close() // the client is gone
	waitFor(t, "a debt", func() bool {
		rows, err := p.db.Query(t.Context(), "SELECT owed FROM runs")
		must(t, err)
		return rows[0][0] == "1"
	})
	if text, _, err := b.answer(t, request("hello", "", "")); err != nil || text != "hi" {
		t.Errorf("the retry got %q, %v", text, err)
	}
	if n := len(p.llm.Requests()); n != 1 {
		t.Errorf("the agent ran %d times", n)
	}
	waitFor(t, "a delivery", func() bool {
		rows, err := p.db.Query(t.Context(), "SELECT deliveries, owed FROM runs")
		must(t, err)
		return rows[0][0] == "1" && rows[0][1] == "0"
	})
	if text, _, err := a.answer(t, request("hello", "", "")); err != nil || text != "hi again" {
		t.Errorf("the same question later got %q, %v", text, err)
	}
}
