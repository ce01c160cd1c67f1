package session_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// script is a gateway that does what a test says.
type script struct {
	models func() ([]gateway.Model, error)
	pieces []gateway.Piece
	err    error // after the pieces; nil hangs unless the last piece is Done
	asked  []gateway.Question
}

func (s *script) Models(context.Context) ([]gateway.Model, error) {
	if s.models != nil {
		return s.models()
	}
	return []gateway.Model{{ID: "one"}, {ID: "two"}}, nil
}

func (s *script) Ask(ctx context.Context, q gateway.Question) iter.Seq2[gateway.Piece, error] {
	s.asked = append(s.asked, q)
	return func(yield func(gateway.Piece, error) bool) {
		for _, p := range s.pieces {
			if !yield(p, nil) {
				return
			}
		}
		if s.err == nil {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		yield(nil, s.err)
	}
}

// diary is a view that notes all it is told.
type diary struct {
	lines []string
	given []session.Outgoing
	end   session.End // the last one
}

func (d *diary) note(format string, a ...any) { d.lines = append(d.lines, fmt.Sprintf(format, a...)) }

func (d *diary) Say(text string) tea.Cmd       { d.note("say %s", text); return nil }
func (d *diary) Noted(text string, bad bool)   { d.note("note %s %v", text, bad) }
func (d *diary) Linked()                       { d.note("linked") }
func (d *diary) Asking(o session.Outgoing)     { d.note("asking %s", o.Shown) }
func (d *diary) Came(p gateway.Piece)          { d.note("came %T %v", p, p) }
func (d *diary) GiveBack(o []session.Outgoing) { d.given = append(d.given, o...) }
func (d *diary) Offer(text string)             { d.note("offer %s", text) }
func (d *diary) Recalled()                     { d.note("recalled") }
func (d *diary) Printed(text string)           { d.note("printed %s", text) }
func (d *diary) Ran(o session.Output)          { d.note("ran %s %s", o.Line, o.How) }
func (d *diary) Ended(e session.End) {
	d.end = e
	d.note("ended %v %v", e.Stopped, e.Failure != nil)
}

func (d *diary) Resumable(list []session.Conversation, _ string) {
	d.note("resumable %d", len(list))
}

func (d *diary) Sheet(title string, rows [][2]string) {
	d.note("sheet %s", title)
	for _, r := range rows {
		d.note("%s | %s", r[0], r[1])
	}
}

func (d *diary) has(t *testing.T, want string) {
	t.Helper()
	if all := strings.Join(d.lines, "\n"); !strings.Contains(all, want) {
		t.Errorf("%q was not told:\n%s", want, all)
	}
}

// chat runs the commands of a session.
type chat struct {
	*session.Session
	view *diary
	msgs chan tea.Msg
}

// talk tests a session that has listed its models, in a bubble.
func talk(t *testing.T, s *script, change func(*session.Config), test func(c *chat)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ids := 0
		cfg := session.Config{
			Endpoint: s, Now: time.Now, NewID: func() string { ids++; return fmt.Sprintf("id%d", ids) }, Again: "press r", Models: "Ctrl+P", Redials: true,
		}
		if change != nil {
			change(&cfg)
		}
		c := &chat{view: &diary{}, msgs: make(chan tea.Msg, 1000)}
		c.Session = session.New(ctx, cfg, c.view)
		c.run(c.Open())
		c.settle()
		test(c)
		cancel()
		c.Wait()
		c.settle()
	})
}

func (c *chat) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { c.msgs <- cmd() }()
	}
}

// settle takes in messages until nothing happens at this moment.
func (c *chat) settle() {
	for {
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		select {
		case msg := <-c.msgs:
			if batch, ok := msg.(tea.BatchMsg); ok {
				for _, cmd := range batch {
					c.run(cmd)
				}
				continue
			}
			cmd, _ := c.Update(msg)
			c.run(cmd)
		default:
			return
		}
	}
}

func (c *chat) do(cmd tea.Cmd) {
	c.run(cmd)
	c.settle()
}

func done() gateway.Done { return gateway.Done{RunStatus: "finished"} }

func TestAPieceIsToldOnceAndHarmless(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Progress("$ \x1b[2Jls\n\n$ pwd"), gateway.Text("a\x1b[31mb"), done()}}
	talk(t, s, nil, func(c *chat) {
		c.do(c.Submit("go", "go"))
		want := []string{
			"linked", "asking go", "came gateway.Started {}", "came gateway.Progress $ ls", "came gateway.Progress $ pwd", "came gateway.Text ab", "ended false false",
		}
		got := c.view.lines
		for i, l := range got {
			if strings.HasPrefix(l, "came gateway.Started") {
				got[i] = "came gateway.Started {}"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAQuestionHasAllThatIsSet(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
	talk(t, s, func(cfg *session.Config) {
		cfg.Start.Timeout = time.Minute
		cfg.ReadImage = func(context.Context, string) (session.Image, error) { return session.Image{DataURL: "data:x"}, nil }
	}, func(c *chat) {
		c.do(c.SetModel("two"))
		c.do(c.SetSystem("brief"))
		c.do(c.Attach("a.png"))
		c.do(c.Submit("go", "go"))
		want := gateway.Question{Model: "two", Conversation: "id1", System: "brief", Text: "go", Images: []string{"data:x"}, Timeout: time.Minute, Key: "id2", Details: true}
		if diff := cmp.Diff(want, s.asked[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if c.Images != nil {
			t.Errorf("the next question has the images %v", c.Images)
		}
	})
}

func TestQuestionsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}}}
	talk(t, s, nil, func(c *chat) {
		c.do(c.Submit("one", "one"))
		c.do(c.Submit("two", "two"))
		if n := len(s.asked); n != 1 {
			t.Errorf("%d questions were asked", n)
		}
		if n := len(c.Queue); n != 1 {
			t.Errorf("%d questions wait", n)
		}
		c.Stop()
		if n := len(c.Queue); n != 0 {
			t.Errorf("after a stop %d questions wait", n)
		}
		if len(c.view.given) != 1 || c.view.given[0].Text != "two" {
			t.Errorf("given back: %+v", c.view.given)
		}
	})
}

func TestAStopKeepsWhatCameUntilThen(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("half")}}
	talk(t, s, nil, func(c *chat) {
		c.run(c.Submit("go", "go"))
		batch, _ := (<-c.msgs).(tea.BatchMsg)
		go batch[0]() // The question; no caller waits for its pieces yet.
		synctest.Wait()
		c.Stop()
		if got := c.Log.LastAnswer().Source(); got != "half" {
			t.Errorf("the answer is %q", got)
		}
		c.view.has(t, "ended true false")
	})
}

func TestActionsThatWaitAreDecided(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		consent  session.Consent
		text     string
		decision gateway.Decision
	}{{session.Once, "yes", gateway.Accept}, {session.Refuse, "no", gateway.Reject}} {
		s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Done{RunStatus: "waiting_for_confirmation", Notice: "- $ make"}}}
		talk(t, s, nil, func(c *chat) {
			if cmd := c.Decide(tc.consent); cmd != nil {
				t.Error("there is something to decide before a question")
			}
			c.do(c.Submit("go", "go"))
			if diff := cmp.Diff([]string{"$ make"}, c.Pending); diff != "" {
				t.Errorf("what waits (-want +got):\n%s", diff)
			}
			c.do(c.Decide(tc.consent))
			if got := s.asked[1].Text; got != tc.text {
				t.Errorf("asked %q, want %q", got, tc.text)
			}
			if got := s.asked[1].Decision; got != tc.decision {
				t.Errorf("decided %q, want %q", got, tc.decision)
			}
		})
	}
}

func TestWhatWaitsIsReadFromWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		done gateway.Done
		want []string
	}{
		{"actions", gateway.Done{Waiting: []gateway.Action{{Tool: "terminal", Line: "$ ls"}, {Tool: "browser"}}, Notice: "- other"}, []string{"$ ls", "browser"}},
		{"a list", gateway.Done{Notice: "Confirm:\n- $ a\n - $ b"}, []string{"$ a", "$ b"}},
		{"a text", gateway.Done{Notice: "Confirm\nthis"}, []string{"Confirm this"}},
	} {
		s := &script{}
		tc.done.RunStatus = "waiting_for_confirmation"
		s.pieces = []gateway.Piece{gateway.Started{}, tc.done}
		talk(t, s, nil, func(c *chat) {
			c.do(c.Submit("go", "go"))
			if diff := cmp.Diff(tc.want, c.Pending); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
		})
	}
}

func TestARetryJoinsOnlyARunThatMayGoOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		same bool
	}{
		{"failed", &gateway.Error{Kind: gateway.Failed}, false},
		{"busy", &gateway.Error{Kind: gateway.Busy}, false},
		{"refused", &gateway.Error{Kind: gateway.Refused}, false},
		{"unreachable", &gateway.Error{Kind: gateway.Unreachable}, true},
		{"a stranger", &gateway.Error{Kind: gateway.Stranger}, true},
		{"another error", errors.New("x"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &script{pieces: []gateway.Piece{gateway.Started{}}, err: tc.err}
			talk(t, s, func(cfg *session.Config) { cfg.Redials = false }, func(c *chat) {
				c.do(c.Submit("go", "go"))
				c.do(c.Retry())
				if len(s.asked) != 2 {
					t.Fatalf("asked %d times", len(s.asked))
				}
				if got := s.asked[0].Key == s.asked[1].Key; got != tc.same {
					t.Errorf("the key is the same: %v, want %v", got, tc.same)
				}
			})
		})
	}
}

func TestALostGatewayIsLookedForOnlyIfTheViewWants(t *testing.T) {
	t.Parallel()
	for _, redials := range []bool{true, false} {
		lists := 0
		s := &script{pieces: []gateway.Piece{gateway.Started{}}, err: &gateway.Error{Kind: gateway.Unreachable}}
		s.models = func() ([]gateway.Model, error) { lists++; return []gateway.Model{{ID: "one"}}, nil }
		talk(t, s, func(cfg *session.Config) { cfg.Redials = redials }, func(c *chat) {
			c.do(c.Submit("go", "go"))
			s.pieces = append(s.pieces, done())
			time.Sleep(time.Minute)
			c.settle()
			want := 1
			if redials {
				want = 2
			}
			if lists != want {
				t.Errorf("redials %v: the models were listed %d times, want %d", redials, lists, want)
			}
			if len(s.asked) != want {
				t.Errorf("redials %v: asked %d times, want %d", redials, len(s.asked), want)
			}
		})
	}
}

func TestTheNextStepFitsTheFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  *gateway.Error
		want string
	}{
		{&gateway.Error{Kind: gateway.Failed}, "Press r"},
		{&gateway.Error{Kind: gateway.Busy, RetryAfter: 3 * time.Second}, "3.0 s"},
		{&gateway.Error{Kind: gateway.Locked}, "(get one)"},
		{&gateway.Error{Kind: gateway.Refused}, "another model"},
		{&gateway.Error{Kind: gateway.Stranger}, "address"},
	} {
		s := &script{pieces: []gateway.Piece{gateway.Started{}}, err: tc.err}
		talk(t, s, func(cfg *session.Config) { cfg.Hints.Locked = []string{"get one"} }, func(c *chat) {
			c.do(c.Submit("go", "go"))
			if got := c.view.end.Next; !strings.Contains(got, tc.want) {
				t.Errorf("kind %v: the next step is %q, want %q in it", tc.err.Kind, got, tc.want)
			}
		})
	}
}

func TestANewConversationForgetsTheOldOne(t *testing.T) {
	t.Parallel()
	usage := gateway.Usage{Prompt: 10, Completion: 2}
	s := &script{pieces: []gateway.Piece{gateway.Started{Conversation: "c1"}, gateway.Text("a"), gateway.Done{Usage: usage}}}
	talk(t, s, nil, func(c *chat) {
		c.do(c.Submit("go", "go"))
		if c.Convo.ID != "c1" || c.Convo.Title != "go" || c.Convo.Turns != 1 {
			t.Errorf("the conversation is %+v", c.Convo)
		}
		if want := [2]int64{10, 2}; c.Tokens != want {
			t.Errorf("tokens %v, want %v", c.Tokens, want)
		}
		c.New()
		if c.Convo.ID == "c1" || c.Convo.Title != "" {
			t.Errorf("the new conversation is %+v", c.Convo)
		}
		if c.Tokens != [2]int64{} {
			t.Errorf("the new conversation has the tokens %v", c.Tokens)
		}
		if c.Log.LastAnswer() != nil {
			t.Error("the old answer is still there")
		}
		c.do(c.Retry())
		if len(s.asked) != 1 {
			t.Error("the old question was asked again")
		}
	})
}

func TestAConversationIsContinuedWithItsModel(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
	talk(t, s, nil, func(c *chat) {
		c.Continue(session.Conversation{ID: "c9", Model: "two", Title: "old"})
		c.do(c.Submit("go", "go"))
		if q := s.asked[0]; q.Conversation != "c9" {
			t.Errorf("asked in %q", q.Conversation)
		}
		if q := s.asked[0]; q.Model != "two" {
			t.Errorf("asked %q", q.Model)
		}
	})
}

// shelf keeps conversations.
type shelf struct {
	list []session.Conversation
	err  error
}

func (s *shelf) List(context.Context) ([]session.Conversation, error) { return s.list, s.err }
func (s *shelf) Remember(_ context.Context, c session.Conversation) error {
	s.list = append(s.list, c)
	return s.err
}

func (s *shelf) Rename(_ context.Context, id, title string) error {
	i := slices.IndexFunc(s.list, func(c session.Conversation) bool { return c.ID == id })
	s.list[i].Title = title
	return s.err
}

func (s *shelf) Forget(_ context.Context, id string) error {
	s.list = slices.DeleteFunc(s.list, func(c session.Conversation) bool { return c.ID == id })
	return s.err
}

func TestConversationsAreListed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		recent     session.Recent
	}{
		{"none are kept", "say ", nil},
		{"no conversation", "say ", &shelf{}},
		{"two", "resumable 2", &shelf{list: make([]session.Conversation, 2)}},
		{"an error", "broken true", &shelf{err: errors.New("broken")}},
	} {
		talk(t, &script{}, func(cfg *session.Config) { cfg.Recent = tc.recent }, func(c *chat) {
			c.do(c.Kept.Recent(""))
			c.view.has(t, tc.want)
			if c.Working != 0 {
				t.Errorf("%s: %d commands are said to work", tc.name, c.Working)
			}
		})
	}
}

func TestAConversationThatIsNotKeptIsSaid(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{gateway.Started{}, done()}}
	talk(t, s, func(cfg *session.Config) { cfg.Recent = &shelf{err: errors.New("disk full")} }, func(c *chat) {
		c.do(c.Submit("go", "go"))
		c.view.has(t, "disk full")
	})
}

func TestTheLinkSaysHowTheGatewayIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		models []gateway.Model
		err    error
		state  session.LinkState
		stuck  bool
	}{
		{"ready", []gateway.Model{{ID: "m"}}, nil, session.Ready, false},
		{"no models", nil, nil, session.NoModels, true},
		{"unreachable", nil, &gateway.Error{Kind: gateway.Unreachable}, session.Unreachable, false},
		{"locked", nil, &gateway.Error{Kind: gateway.Locked}, session.Locked, true},
		{"a stranger", nil, &gateway.Error{Kind: gateway.Stranger}, session.Broken, true},
		{"another error", nil, errors.New("x"), session.Broken, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &script{models: func() ([]gateway.Model, error) { return tc.models, tc.err }}
			talk(t, s, nil, func(c *chat) {
				if c.Link.State != tc.state {
					t.Errorf("the state is %d, want %d", c.Link.State, tc.state)
				}
				if got := c.Link.Stuck(); got != tc.stuck {
					t.Errorf("stuck = %v, want %v", got, tc.stuck)
				}
				if c.Busy() {
					t.Error("it is busy")
				}
			})
		})
	}
}

func TestAGatewayIsLookedForMoreAndMoreSeldom(t *testing.T) {
	t.Parallel()
	var at []time.Time
	s := &script{models: func() ([]gateway.Model, error) {
		at = append(at, time.Now())
		return nil, &gateway.Error{Kind: gateway.Unreachable}
	}}
	talk(t, s, nil, func(c *chat) {
		for range 45 {
			time.Sleep(time.Second)
			c.settle()
		}
		var waits []int
		for i := range at[1:] {
			waits = append(waits, int(at[i+1].Sub(at[i]).Round(2*time.Second).Seconds()))
		}
		if n := len(waits); n < 5 || n > 8 {
			t.Errorf("%d attempts in 45 s", n)
		}
		for i := range waits[1:] {
			if waits[i+1] < waits[i] {
				t.Errorf("the waits %v become shorter", waits)
			}
		}
		at = at[:1]
	})
}

func TestASavedConversationIsMarkdown(t *testing.T) {
	t.Parallel()
	var saved string
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("an *answer*\n"), done()}}
	talk(t, s, func(cfg *session.Config) {
		cfg.Save = func(_ context.Context, path, text string) (string, error) { saved = text; return path, nil }
	}, func(c *chat) {
		c.do(c.Submit("go", "go"))
		c.do(c.Save("f.md"))
		if want := "## You\n\ngo\n\n## one\n\nan *answer*\n\n"; saved != want {
			t.Errorf("saved %q, want %q", saved, want)
		}
		c.view.has(t, "say saved to f.md")
	})
}

func TestAnAnswerThatBeginsAgainIsThereOnce(t *testing.T) {
	t.Parallel()
	s := &script{pieces: []gateway.Piece{
		gateway.Started{}, gateway.Text("one tw"), gateway.Lost{Attempt: 1}, gateway.Started{}, gateway.Text("one two"), done(),
	}}
	talk(t, s, nil, func(c *chat) {
		c.do(c.Submit("go", "go"))
		if got := c.Log.LastAnswer().Source(); got != "one two" {
			t.Errorf("the answer is %q", got)
		}
		if c.Convo.Turns != 1 {
			t.Errorf("%d turns", c.Convo.Turns)
		}
	})
}

func TestABrokenEndpointEndsTheAnswerAndNotTheChat(t *testing.T) {
	t.Parallel()
	talk(t, &script{}, func(cfg *session.Config) { cfg.Endpoint = panics{&script{}} }, func(c *chat) {
		c.do(c.Submit("go", "go"))
		if c.Turn != nil {
			t.Fatal("the turn goes on")
		}
		if c.Failure == nil || !strings.Contains(c.Failure.Message, "made to") {
			t.Errorf("the failure is %v", c.Failure)
		}
	})
}

type panics struct{ *script }

func (panics) Ask(context.Context, gateway.Question) iter.Seq2[gateway.Piece, error] {
	return func(func(gateway.Piece, error) bool) { panic("made to") }
}

func TestPlacesHaveNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ title, name, at string }{
		{"", "the gateway", "at the gateway"},
		{"127.0.0.1:6449", "127.0.0.1:6449", "at 127.0.0.1:6449"},
		{"in this process", "the gateway in this process", "in this process"},
		{"x\x1b[2Jy", "xy", "at xy"},
	} {
		p := session.Place{Title: tc.title}
		if got := p.Name(); got != tc.name {
			t.Errorf("Name of %q = %q, want %q", tc.title, got, tc.name)
		}
		if got := p.At(); got != tc.at {
			t.Errorf("At of %q = %q, want %q", tc.title, got, tc.at)
		}
	}
}
