package pool_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/uuid"
)

const a0, a1, a2 = "http://a0:8000", "http://a1:8000", "http://a2:8000"

func TestNewConversationsGoWhereThereIsMostRoom(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		counts := map[string]int{}
		for range 12 {
			c := w.made(agentapi.OpenRequest{})
			counts[w.at(c.Info().ID)]++
		}
		for address, n := range counts {
			if n != 4 {
				t.Errorf("%s got %d of 12", address, n)
			}
		}
		if m := w.member(a1); m.Runs != 4 || m.Slots != 4 || m.State != "up" || m.Profiles != 1 {
			t.Errorf("the member is %+v", m)
		}
		w.spread(3) // when all are full, too
	})
}

func TestAConversationKeepsItsServerAfterARestartOfTheGateway(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		at := map[string]string{}
		for range 9 {
			c := w.made(agentapi.OpenRequest{})
			at[c.Info().ID] = w.at(c.Info().ID)
		}
		w.stop()
		w.config.Servers = []string{a2, a1, a0}
		w.start()
		for id, server := range at {
			c := w.made(agentapi.OpenRequest{ID: id})
			if c.Info().Created || w.at(id) != server {
				t.Errorf("conversation %s of %s: %+v", id, server, c.Info())
			}
			if r, err := w.say(c); err != nil || r.Answer != "ok" {
				t.Errorf("its turn: %+v, %v", r, err)
			}
			if _, err := w.pool.About(t.Context(), id); err != nil {
				t.Error(err)
			}
			if err := w.pool.Remove(t.Context(), id); err != nil {
				t.Error(err)
			}
			if note, err := w.config.Placer.Find(t.Context(), id); err != nil || note != "" {
				t.Errorf("after its end it is noted for %q, %v", note, err)
			}
		}
	})
}

func TestADrainedServerKeepsItsConversationsAndGetsNone(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		var old string
		for old == "" {
			if c := w.made(agentapi.OpenRequest{}); w.at(c.Info().ID) == a0 {
				old = c.Info().ID
			}
		}
		if err := w.config.Placer.Drain(t.Context(), a0, true); err != nil {
			t.Fatal(err)
		}
		if got := w.spread(6); got[a1] != 6 {
			t.Errorf("while a0 drains: %v", got)
		}
		w.state(a0, "drain")
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: old})); err != nil || r.Answer != "ok" || w.at(old) != a0 {
			t.Errorf("its old conversation: %+v, %v", r, err)
		}
		if err := w.config.Placer.Drain(t.Context(), a1, true); err != nil {
			t.Fatal(err)
		}
		_, err := w.begin(agentapi.OpenRequest{})
		w.wantKind(err, agentapi.ErrUnavailable)
		if msg := agentapi.PublicMessage(err, ""); !strings.Contains(msg, "a0:8000: drain") || !strings.Contains(msg, "a1:8000: drain") {
			t.Errorf("the error says: %s", msg)
		}
		if err := w.config.Placer.Drain(t.Context(), a0, false); err != nil {
			t.Fatal(err)
		}
		if got := w.spread(6); got[a0] != 6 {
			t.Errorf("when a0 is back: %v", got)
		}
	})
}

func TestADeadServerCostsNoRequestOfOthers(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		on := map[string]string{}
		for len(on) < 2 {
			c := w.made(agentapi.OpenRequest{})
			on[w.at(c.Info().ID)] = c.Info().ID
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		w.servers[a0].Kill()
		// The pool has not noticed: the first one that is placed there is made elsewhere.
		if got := w.spread(8); got[a1] != 8 {
			t.Errorf("new conversations beside a dead server: %v", got)
		}
		if m := w.member(a0); m.Err == nil {
			t.Errorf("the dead server is %+v", m)
		}
		time.Sleep(20 * time.Second)
		w.state(a0, "lost")
		_, err := w.begin(agentapi.OpenRequest{ID: on[a0]})
		w.wantKind(err, agentapi.ErrUnavailable)
		_, err = w.pool.About(t.Context(), on[a0])
		w.wantKind(err, agentapi.ErrUnavailable)
		w.wantKind(w.pool.Remove(t.Context(), on[a0]), agentapi.ErrUnavailable)
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: on[a1]})); err != nil || r.Answer != "ok" {
			t.Errorf("a conversation of the other: %+v, %v", r, err)
		}
		list, err := w.pool.Profiles(t.Context())
		if st := w.pool.Status(t.Context()); err != nil || len(list) != 1 || st.Err != nil {
			t.Errorf("the pool has %v, %v, %v", list, err, st.Err)
		}
		w.servers[a0].Restart(t)
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: on[a0]})); err != nil || r.Answer != "ok" {
			t.Errorf("the conversation when its server is back: %+v, %v", r, err)
		}
		w.state(a0, "up")
		if n := w.logged("answers again"); n != 1 {
			t.Errorf("the log says %d times that it is back:\n%s", n, w.log.String())
		}
	})
}

func TestAServerThatDiesInARunIsLostToIt(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		c := w.made(agentapi.OpenRequest{})
		at := w.servers[w.at(c.Info().ID)]
		var killed bool
		over := make(chan error, 1)
		go func() {
			_, err := w.say(c)
			over <- err
		}()
		synctest.Wait()
		killed = true
		at.Kill()
		w.wantKind(<-over, agentapi.ErrLost)
		if err := c.Close(); err != nil || !killed {
			t.Error(err)
		}
		_, err := w.begin(agentapi.OpenRequest{ID: c.Info().ID, Existing: true})
		w.wantKind(err, agentapi.ErrUnavailable)
		at.Restart(t)
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: c.Info().ID})); err != nil || r.Answer != "ok" {
			t.Errorf("the next turn: %+v, %v", r, err)
		}
	})
}

func TestAHungServerDelaysNoOther(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		on := map[string]string{}
		for len(on) < 3 {
			c := w.made(agentapi.OpenRequest{})
			on[w.at(c.Info().ID)] = c.Info().ID
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		w.servers[a0].Freeze()
		defer w.servers[a0].Thaw()
		time.Sleep(7 * time.Second) // a look has begun
		began := time.Now()
		if got := w.spread(8); got[a0] != 0 {
			t.Errorf("the hung server got conversations: %v", got)
		}
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: on[a1]})); err != nil || r.Answer != "ok" {
			t.Errorf("a conversation of another: %+v, %v", r, err)
		}
		if _, err := w.pool.Profiles(t.Context()); err != nil {
			t.Error(err)
		}
		w.pool.Status(t.Context())
		if took := time.Since(began); took > time.Second {
			t.Errorf("the others took %v", took)
		}
		time.Sleep(30 * time.Second)
		w.state(a0, "lost")
		began = time.Now()
		_, err := w.begin(agentapi.OpenRequest{ID: on[a0]})
		w.wantKind(err, agentapi.ErrUnavailable)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("its own conversation was refused after %v", took)
		}
		w.servers[a0].Thaw()
		time.Sleep(10 * time.Second)
		w.state(a0, "up")
		if r, err := w.say(w.made(agentapi.OpenRequest{ID: on[a0]})); err != nil || r.Answer != "ok" {
			t.Errorf("its conversation: %+v, %v", r, err)
		}
	})
}

func TestARandomIdIsLookedForEverywhere(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		for range 20 {
			_, err := w.begin(agentapi.OpenRequest{ID: uuid.New(), Existing: true})
			w.wantKind(err, agentapi.ErrConversationNotFound)
			_, err = w.pool.Events(t.Context(), uuid.New(), agentapi.EventQuery{})
			w.wantKind(err, agentapi.ErrConversationNotFound)
			w.wantKind(w.pool.Remove(t.Context(), uuid.New()), agentapi.ErrConversationNotFound)
		}
		// One that another client has made is found, and noted.
		elsewhere := w.made(agentapi.OpenRequest{})
		id, at := elsewhere.Info().ID, w.at(elsewhere.Info().ID)
		if err := w.config.Placer.Remove(t.Context(), id, at); err != nil {
			t.Fatal(err)
		}
		if c := w.made(agentapi.OpenRequest{ID: id, Existing: true}); c.Info().Created {
			t.Error("it was made anew")
		}
		if note, err := w.config.Placer.Find(t.Context(), id); err != nil || note != at {
			t.Errorf("it is noted for %q, %v", note, err)
		}
		w.servers[a0].Kill()
		for _, req := range []agentapi.OpenRequest{{ID: uuid.New(), Existing: true}, {ID: uuid.New()}} {
			_, err := w.begin(req)
			w.wantKind(err, agentapi.ErrUnavailable)
		}
		unseen := w.made(agentapi.OpenRequest{ID: uuid.New(), New: true}) // only ohgw can have made it
		if !unseen.Info().Created {
			t.Error("an id of ohgw's own is known")
		}
	})
}

func TestAServerWithOtherProfilesIsNamed(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		w.servers[a1].SaveProfile("fast", fakeserver.Profile{Model: "openai/other", BaseURL: "http://llm.test/v1"})
		w.servers[a2].SaveProfile("extra", fakeserver.Profile{Model: "openai/test"})
		list, err := w.pool.Profiles(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "fast" || list[0].Model != "openai/test" {
			t.Errorf("the pool has %+v, %v", list, err)
		}
		if got := w.spread(9); got[a1] != 0 || got[a0]+got[a2] != 9 {
			t.Errorf("new conversations: %v", got)
		}
		_, err = w.begin(agentapi.OpenRequest{Profile: "extra"})
		w.wantKind(err, agentapi.ErrProfileNotFound)
		for range 3 {
			if _, err := w.pool.Profiles(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if m := w.member(a1); !slices.Equal(m.Differs, []string{"fast"}) {
			t.Errorf("a1 is %+v", m)
		}
		if m := w.member(a2); !slices.Equal(m.Differs, []string{"extra"}) {
			t.Errorf("a2 is %+v", m)
		}
		if m := w.member(a0); len(m.Differs) != 0 {
			t.Errorf("a0 is %+v", m)
		}
		if n := w.logged("differ from the others"); n != 2 {
			t.Errorf("the log names them %d times:\n%s", n, w.log.String())
		}
		w.servers[a1].SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1"})
		if _, err := w.pool.Profiles(t.Context()); err != nil {
			t.Error(err)
		}
		if m := w.member(a1); len(m.Differs) != 0 || w.logged("agree with the others' again") != 1 {
			t.Errorf("after its repair a1 is %+v", m)
		}
	})
}

func TestANameInDNSNamesTheMembers(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		w.stop()
		w.config.Servers = []string{"dns+http://agents.test:8000"}
		w.start() // the name is not known yet
		_, err := w.begin(agentapi.OpenRequest{})
		w.wantKind(err, agentapi.ErrUnavailable)
		w.resolve("agents.test", "a0", "a1")
		time.Sleep(15 * time.Second)
		on := map[string]string{}
		for len(on) < 2 {
			c := w.made(agentapi.OpenRequest{})
			on[w.at(c.Info().ID)] = c.Info().ID
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		w.state("a0:8000", "up")
		// a0 leaves, a2 joins.
		w.resolve("agents.test", "a1", "a2")
		time.Sleep(15 * time.Second)
		got := map[string]int{}
		for range 2 { // the second goes where there is more room
			got[w.at(w.made(agentapi.OpenRequest{}).Info().ID)]++
		}
		if got[a1] != 1 || got[a2] != 1 {
			t.Errorf("new conversations after the change = %v, want one at each of the two", got)
		}
		if c := w.made(agentapi.OpenRequest{ID: on[a0]}); c.Info().Created {
			t.Error("the conversation of a server that left was made anew")
		}
		w.servers[a0].Kill()
		time.Sleep(time.Minute)
		_, err = w.begin(agentapi.OpenRequest{ID: on[a0]})
		w.wantKind(err, agentapi.ErrUnavailable)
		// It comes back at the same address.
		w.servers[a0].Restart(t)
		w.resolve("agents.test", "a0", "a1", "a2")
		time.Sleep(15 * time.Second)
		if c := w.made(agentapi.OpenRequest{ID: on[a0]}); c.Info().Created || w.at(on[a0]) != a0 {
			t.Error("its conversation was made anew")
		}
		// And a1 at another one, with its files.
		w.servers["http://a7:8000"] = w.servers[a1]
		delete(w.servers, a1)
		w.resolve("agents.test", "a0", "a2", "a7")
		time.Sleep(15 * time.Second)
		if c := w.made(agentapi.OpenRequest{ID: on[a1]}); c.Info().Created {
			t.Error("the conversation of a server with another address was made anew")
		}
	})
}

func TestSlotsAreThoseOfTheMembersThatANameHasNow(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		w.stop()
		w.config.Servers = []string{"dns+http://agents.test:8000"}
		w.start() // the name has no address yet
		for _, hosts := range [][]string{nil, {"a0", "a2"}, {"a0", "a1", "a2"}, {"a1"}} {
			if hosts != nil {
				w.resolve("agents.test", hosts...)
			}
			time.Sleep(15 * time.Second)
			if got, want := w.pool.Slots(), 4*len(hosts); got != want {
				t.Errorf("slots of the servers %v = %d, want %d", hosts, got, want)
			}
		}
	})
}

func TestConversationsOfAServerThatIsNotInThePoolAreNotMadeAnew(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		var id string
		for id == "" {
			if c := w.made(agentapi.OpenRequest{}); w.at(c.Info().ID) == a2 {
				id = c.Info().ID
			}
		}
		w.stop()
		w.config.Servers = []string{a0, a1}
		w.start()
		_, err := w.begin(agentapi.OpenRequest{ID: id})
		w.wantKind(err, agentapi.ErrUnavailable)
		if msg := agentapi.PublicMessage(err, ""); !strings.Contains(msg, a2) {
			t.Errorf("the error says: %s", msg)
		}
	})
}

func TestAPoolWhoseServersAreAllDownSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		w.servers[a0].Kill()
		w.servers[a1].Kill()
		time.Sleep(time.Minute)
		_, err := w.pool.Profiles(t.Context())
		w.wantKind(err, agentapi.ErrUnavailable)
		_, err = w.begin(agentapi.OpenRequest{})
		w.wantKind(err, agentapi.ErrUnavailable)
		st := w.pool.Status(t.Context())
		w.wantKind(st.Err, agentapi.ErrUnavailable)
		if st.Name != "pool" || st.Address != a0+", "+a1 {
			t.Errorf("the status is %+v", st)
		}
		w.servers[a1].Restart(t)
		time.Sleep(10 * time.Second)
		if got := w.spread(3); got[a1] != 3 {
			t.Errorf("with one back: %v", got)
		}
	})
}

// follower is the notes as a gateway has them that looks at no server: another one does.
type follower struct{ placement.Placer }

func (follower) Due(context.Context, string) (bool, error) { return false, nil }

func TestOneGatewayLooksForAll(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		config := w.config
		config.Placer = follower{w.config.Placer}
		other, err := pool.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		before := len(w.servers[a0].Calls(http.MethodGet, "/api/profiles"))
		time.Sleep(time.Minute)
		if n := len(w.servers[a0].Calls(http.MethodGet, "/api/profiles")) - before; n != 12 {
			t.Errorf("in a minute the server was looked at %d times", n)
		}
		w.servers[a0].Kill()
		time.Sleep(20 * time.Second)
		for _, m := range other.Status(t.Context()).Members {
			if want := map[string]agentapi.MemberState{a0: agentapi.MemberLost, a1: agentapi.MemberUp}[m.Name]; m.State != want {
				t.Errorf("the gateway that looks at none says of %s: %s", m.Name, m.State)
			}
		}
		if err := w.config.Placer.Drain(t.Context(), a1, true); err != nil {
			t.Fatal(err)
		}
		_, err = other.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast"})
		w.wantKind(err, agentapi.ErrUnavailable)
	})
}

// crowded is a server that has turned out to have room for one run.
type crowded struct{ agentapi.Backend }

func (crowded) Room() int { return 1 }

func TestAServerThatRefusesRunsHasFewerSlots(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		if room := w.pool.Room(); room != 0 {
			t.Errorf("room of a pool without known limits = %d, want 0", room)
		}
		w.stop()
		w.config.Open = func(address string) (agentapi.Backend, error) {
			b, err := w.open(address)
			if address == a0 && err == nil {
				b = crowded{b}
			}
			return b, err
		}
		w.start()
		if room := w.pool.Room(); room != 5 {
			t.Errorf("room of the pool = %d, want 1 and the 4 slots of the other", room)
		}
		got := map[string]int{}
		for range 4 { // the handles stay open
			got[w.at(w.made(agentapi.OpenRequest{}).Info().ID)]++
		}
		if got[a0] > 1 {
			t.Errorf("new conversations = %v, want at most one at the server with room for one", got)
		}
	})
}

// TestAServerThatRefusesAStartCountsAsFull has a server with room for one run, and one
// with room for all. What the first one refuses waits there, and what is new goes to the
// other one.
func TestAServerThatRefusesAStartCountsAsFull(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, w *world) {
		w.stop()
		w.servers[a0] = w.server(fakeserver.Options{MaxRuns: 1})
		w.start()
		var here []agentapi.Fenced // at the server with little room
		for len(here) < 2 {
			c := w.made(agentapi.OpenRequest{})
			f, ok := c.(agentapi.Fenced)
			if !ok {
				t.Fatal("a conversation of the pool has no Append and no Start")
			}
			if err := f.Append(t.Context(), agentapi.Message{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			if w.at(c.Info().ID) == a0 {
				here = append(here, f)
			}
		}
		if err := here[0].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		full, ok := errors.AsType[*agentapi.FullError](here[1].Start(t.Context()))
		if !ok || !full.Stored {
			t.Fatalf("the second Start is not refused")
		}
		if room := w.pool.Room(); room != 5 {
			t.Errorf("room of the pool = %d, want 1 and the 4 slots of the other", room)
		}
		for range 3 {
			if c := w.made(agentapi.OpenRequest{}); w.at(c.Info().ID) == a0 {
				t.Error("a new conversation is at the server that is full")
			}
		}
		if err := full.Again(t.Context(), nil); err != nil {
			t.Errorf("Again: %v", err)
		}
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.asked != 2 {
			t.Errorf("the model was asked %d times, want 2", w.asked)
		}
	})
}
