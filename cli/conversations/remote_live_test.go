package conversations

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const cloudKey = "sk-cloud"

// told is a fake cloud whose model says what the test tells it to.
type told struct {
	*fakecloud.Server

	client *account.Client
	app    *clitest.App
	id     string
	asked  chan struct{}
	says   chan fakeserver.Reply
}

// newTold starts a conversation there, whose model was asked for its first reply.
func newTold(t *testing.T) *told {
	t.Helper()
	c := &told{asked: make(chan struct{}, 10), says: make(chan fakeserver.Reply, 10)}
	c.Server = fakecloud.New(t, fakecloud.Options{Key: cloudKey, Hosted: true, Model: func(ctx context.Context, _ fakeserver.Prompt, _ func(string)) (fakeserver.Reply, error) {
		c.asked <- struct{}{}
		select {
		case reply := <-c.says:
			return reply, nil
		case <-ctx.Done():
			return fakeserver.Reply{}, ctx.Err()
		}
	}})
	c.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", Key: "sk-llm"})
	client, err := account.New(account.Options{
		URL: c.URL, Key: func(context.Context) (transport.Secret, error) { return cloudKey, nil },
		Sleep: func(ctx context.Context, d time.Duration) error { return transport.Sleep(ctx, d/100) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c.client = client
	conv, err := client.Start(t.Context(), account.StartRequest{Text: "begin"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.id = conv.ID
	<-c.asked
	c.app = clitest.New(t, map[string]string{"OHGW_CLOUD_URL": c.URL, "OHGW_CLOUD_API_KEY": cloudKey})
	return c
}

// hurry makes the program lose its patience soon with a sandbox that is gone.
func (c *told) hurry() {
	began := time.Now()
	c.app.Now = func() time.Time { return began.Add(20 * time.Since(began)) }
}

// tail runs the command until its end.
func (c *told) tail(t *testing.T) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	o := &tailOptions{oneOptions: oneOptions{place: &place{App: c.app.App}, ID: c.id}, Last: 1, Follow: true}
	go func() { ended <- runTail(t.Context(), o) }()
	return ended
}

// await waits until the sandbox was asked for this so often.
func (c *told) await(t *testing.T, method, suffix string, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); len(c.Sandbox(c.id).Calls(method, suffix)) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the sandbox was not asked for %s %s %d times", method, suffix, n)
		}
	}
}

func step(text string) fakeserver.Reply {
	return fakeserver.Reply{Text: text, Calls: []fakeserver.ModelCall{{ID: "c-" + text, Name: "terminal", Args: `{"command":"true"}`}}}
}

func finish(text string) fakeserver.Reply {
	return fakeserver.Reply{Calls: []fakeserver.ModelCall{{ID: "c-" + text, Name: "finish", Args: `{"message":"` + text + `"}`}}}
}

func TestTailFollowsThroughConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	c := newTold(t)
	c.says <- step("said before")
	<-c.asked
	ended := c.tail(t)
	socket := "/sockets/events/" + uuidOf(c.id)
	c.await(t, "GET", socket, 1)
	for i, text := range []string{"one", "two", "three"} {
		c.Sandbox(c.id).Cut()
		c.says <- step(text) // nobody listens
		<-c.asked
		c.await(t, "GET", socket, 2+i)
	}
	c.Sandbox(c.id).Cut()
	c.says <- finish("all done")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got, want := c.app.Out.String(), "said before\none\ntwo\nthree\nall done\n"; got != want {
		t.Errorf("it printed %q, want %q; %s", got, want, c.app.Err.String())
	}
	if n := len(c.Calls("GET", "/events/search")); n != 0 {
		t.Errorf("the server was asked for stored events %d times", n)
	}
}

func TestTailGoesOnWhereTheSandboxIsNow(t *testing.T) {
	t.Parallel()
	c := newTold(t)
	c.hurry()
	c.says <- step("before the move")
	<-c.asked
	ended := c.tail(t)
	c.await(t, "GET", "/sockets/events/"+uuidOf(c.id), 1)
	woken := make(chan error, 1)
	c.Before("GET", "/app-conversations", 1, func() { // whoever looks finds it awake
		_, err := c.client.Wake(t.Context(), c.id, nil)
		woken <- err
	})
	c.Sleep(c.id, true)
	err := <-ended
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	if got := c.app.Out.String(); strings.Count(got, "before the move") != 1 {
		t.Errorf("it printed %q", got)
	}
	// The move has ended the run, which only the sandbox at its new place says.
	if err == nil || err.Error() != "the run ended with the status error" {
		t.Errorf("tail: %v; %s", err, c.app.Err.String())
	}
}

func TestTailSaysThatTheSandboxFellAsleep(t *testing.T) {
	t.Parallel()
	c := newTold(t)
	c.hurry()
	ended := c.tail(t)
	c.await(t, "GET", "/sockets/events/"+uuidOf(c.id), 1)
	c.Sleep(c.id, false)
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "the conversation is asleep") {
		t.Errorf("tail: %v", err)
	}
}

// TestARunIsFollowedFromItsMessage: the end of the run before is not its end.
func TestARunIsFollowedFromItsMessage(t *testing.T) {
	t.Parallel()
	c := newTold(t)
	c.says <- finish("the first answer")
	for conv := (account.Conversation{}); conv.Updated.IsZero() || len(c.Sandbox(c.id).Log(uuidOf(c.id))) < 3; {
		var err error
		if conv, err = c.client.Get(t.Context(), c.id); err != nil {
			t.Fatal(err)
		}
	}
	o := &sendOptions{oneOptions: oneOptions{place: &place{App: c.app.App}, ID: c.id}, Text: []string{"again"}, waitOptions: waitOptions{Wait: true}}
	ended := make(chan error, 1)
	go func() { ended <- runSend(t.Context(), o) }()
	<-c.asked
	c.says <- finish("the second answer")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := c.app.Out.String(); got != "the second answer\n" {
		t.Errorf("it printed %q", got)
	}
}
