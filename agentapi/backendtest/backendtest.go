// Package backendtest is the contract of agentapi.Backend as tests: every
// backend passes it, the fake and the real agent-server alike.
//
// It knows backends by the seam only, and the agent's model by what
// internal/testkit/llmtest was asked. A behaviour that some backends cannot have is a
// field of [Features]; all others are the contract.
package backendtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Factory makes backends to test.
type Factory struct {
	// New makes what one behaviour needs, and cleans up after it. Backends may
	// share a server unless the needs say otherwise.
	New func(t *testing.T, needs Needs) *Setup
	Has Features
}

// Needs are what a behaviour asks of its backend beyond the contract.
type Needs struct {
	Kill    bool // it is going to kill the server
	Confirm bool // every action but finish waits for a confirmation
	Alone   bool // it is going to take all the room of the server
}

// Features are what a backend can have or not.
type Features struct {
	Deltas  bool // text comes while it is written
	Stop    bool // a run stops in the middle of a step
	Switch  bool // a conversation can change its profile
	Fork    bool // a conversation can be copied up to an event
	Confirm bool // actions can wait for a confirmation
	Pause   bool // another client can pause a run
	Kill    bool // the server can die and come back while we live
	Agents  bool // agents are among its profiles
	Goals   bool // a message can have a goal
	Fenced  bool // a message and its run are two calls
	Room    int  // how many runs the backend has room for at the same time; 0: no limit

	// GoalsWait: a goal goes on after an action of it was confirmed. Without that, goals are
	// refused where actions wait for a confirmation.
	GoalsWait bool

	// KeyWords: a refused LLM key is told in words of the server's own, not in
	// those of the provider.
	KeyWords bool
	// Blind: the agent declines images for a model that its server does not know.
	Blind bool
}

// Setup is a backend under test and what its agents talk to.
type Setup struct {
	Backend agentapi.Backend
	// LLM is the model of both profiles.
	LLM *llmtest.Server
	// Profile and Other are two profiles, of the models "test" and "other" as
	// LLM is asked for them. Other is empty where a backend has only one.
	Profile, Other string
	// Agent is an agent of Profile's LLM that is told "You are the agent of the
	// contract."; empty for a backend without agents.
	Agent         string
	Workspace     string
	Pause         func(t *testing.T, id string)
	Kill, Restart func(t *testing.T)

	has Features
}

// behaviour is one claim of the contract.
type behaviour struct {
	name  string
	needs Needs
	has   func(Features) bool // nil: everybody has it
	check func(*testing.T, *Setup)
}

// Run checks every behaviour, each in a parallel subtest.
func Run(t *testing.T, f Factory) {
	t.Helper()
	all := slices.Concat(profiles(), agents(), conversations(), absences(), answers(), streams(), follows(), stops(), confirmations(), modes(), goals(), condensations(), fences(), resumes(), forks(), histories(), extensions(), losses())
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if b.has != nil && !b.has(f.Has) {
				t.Skip("the backend does not have that")
			}
			s := f.New(t, b.needs)
			s.has = f.Has
			b.check(t, s)
		})
	}
}

func hasDeltas(f Features) bool  { return f.Deltas }
func hasStop(f Features) bool    { return f.Stop }
func hasSwitch(f Features) bool  { return f.Switch }
func hasConfirm(f Features) bool { return f.Confirm }
func hasPause(f Features) bool   { return f.Pause }
func hasKill(f Features) bool    { return f.Kill }

// patience bounds what a behaviour waits for; none should come near it.
const patience = time.Minute

// within is a context for one step of a test.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// open makes a new conversation.
func (s *Setup) open(t *testing.T) agentapi.Conversation {
	t.Helper()
	return s.openAs(t, agentapi.OpenRequest{ID: uuid.New(), New: true})
}

func (s *Setup) openAs(t *testing.T, req agentapi.OpenRequest) agentapi.Conversation {
	t.Helper()
	if req.Profile == "" {
		req.Profile = s.Profile
	}
	req.Workspace = s.Workspace
	c, err := s.Backend.Open(within(t, patience), req)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// varying ignores what of a result is not the same in each run, or for each
// backend.
func varying() cmp.Option { return cmpopts.IgnoreFields(turn.Result{}, "Context", "Last") }

// played is a turn that was run to its end.
type played struct {
	turn.Result
	updates []turn.Update
	err     error
}

// text is the live text.
func (p played) text() string { return p.join(turn.Text, "") }

// progress is one line for each action.
func (p played) progress() string { return p.join(turn.Progress, "\n") }

func (p played) join(kind turn.UpdateKind, sep string) string {
	var parts []string
	for _, u := range p.updates {
		if u.Kind == kind {
			parts = append(parts, u.Text)
		}
	}
	return strings.Join(parts, sep)
}

// say runs a turn that must work.
func say(t *testing.T, c agentapi.Conversation, text string) played {
	t.Helper()
	return play(t, c, turn.Input{Message: agentapi.Message{Text: text}})
}

func play(t *testing.T, c agentapi.Conversation, in turn.Input) played {
	t.Helper()
	p := <-begin(t, c, in)
	if p.err != nil {
		t.Fatalf("turn: %v", p.err)
	}
	return p
}

// begin runs a turn and gives what became of it when it is over.
func begin(t *testing.T, c agentapi.Conversation, in turn.Input) <-chan played {
	t.Helper()
	return beginUnder(within(t, patience), t, c, in)
}

func beginUnder(ctx context.Context, t *testing.T, c agentapi.Conversation, in turn.Input) <-chan played {
	t.Helper()
	over := make(chan played, 1)
	var p played
	emit := in.Emit
	in.Emit = func(u turn.Update) {
		p.updates = append(p.updates, u)
		if emit != nil {
			emit(u)
		}
	}
	owned(t, func() {
		p.Result, p.err = turn.Run(ctx, c, in)
		over <- p
	})
	return over
}

// owned runs f in a goroutine that the test waits for.
func owned(t *testing.T, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(f)
	t.Cleanup(wg.Wait)
}

// await waits for a value of ch.
func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s after %v", what, patience)
		panic("unreachable")
	}
}

// gate is a reply that says what it is fed, and ends when it is closed.
func gate() (chan<- string, llmtest.Reply) {
	feed := make(chan string)
	return feed, llmtest.Reply{Feed: feed}
}

// feed gives a gated reply a piece of text.
func feed(t *testing.T, gate chan<- string, text string) {
	t.Helper()
	select {
	case gate <- text:
	case <-time.After(patience):
		t.Fatalf("nobody takes %q after %v", text, patience)
	}
}

// watch opens a stream that is closed with the test.
func watch(t *testing.T, c agentapi.Conversation, after string) agentapi.Stream {
	t.Helper()
	s, err := c.Watch(within(t, patience), after)
	if err != nil {
		t.Fatalf("Watch: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close stream: %v", err)
		}
	})
	return s
}

func next(t *testing.T, s agentapi.Stream) event.Event {
	t.Helper()
	e, err := s.Next(within(t, patience))
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return e
}

// until reads events up to the first that last accepts, it included.
func until(t *testing.T, s agentapi.Stream, last func(event.Event) bool) []event.Event {
	t.Helper()
	var events []event.Event
	for {
		e := next(t, s)
		events = append(events, e)
		if last(e) {
			return events
		}
	}
}

// ended accepts the snapshot that closes a run.
func ended() func(event.Event) bool {
	ran := false
	return func(e event.Event) bool {
		if status, ok := e.StatusUpdate(); ok && status == event.Running {
			ran = true
		}
		return ran && isSnapshot(e) && statusOf(e) != event.Running
	}
}

func isSnapshot(e event.Event) bool {
	_, ok, err := e.FullState()
	return ok && err == nil
}

func statusOf(e event.Event) event.Status {
	s, _, _ := e.FullState() // isSnapshot was asked before
	return s.Status
}

// wantKind checks that err is of a kind, has a sentence, and holds no secret.
func wantKind(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v, want %v", err, kind)
	}
	if agentapi.PublicMessage(err, "") == "" {
		t.Errorf("the error %v has no sentence for people", err)
	}
}
