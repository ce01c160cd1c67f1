package several_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/several"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// world is a main backend with the profiles local and odd@work, and a cloud "work" with
// fast and other.
type world struct {
	main  *fakeserver.Server
	cloud *fakecloud.Server
	llm   *llmtest.Server
	dir   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{llm: llmtest.New(t), dir: t.TempDir()}
	w.cloud = newCloud(t, fakecloud.Options{Key: cloudKey}, w.llm.URL)
	w.main = fakeserver.New(t, fakeserver.Options{})
	w.main.SaveProfile("local", fakeserver.Profile{Model: "openai/local", BaseURL: w.llm.URL})
	return w
}

// backend opens the world. Without servers it has the main backend only.
func (w *world) backend(t *testing.T, servers ...several.Server) agentapi.Backend {
	t.Helper()
	b := several.New(several.Config{Main: newServer(t, w.main), Servers: servers, Dir: w.dir})
	closed(t, b)
	return b
}

func names(t *testing.T, b agentapi.Backend) []string {
	t.Helper()
	list, err := b.Profiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range list {
		if p.Active != (p.Name == "local") && p.Active || (p.Server == "work") != strings.HasSuffix(p.Name, "@work") {
			t.Errorf("profile %+v", p)
		}
		found = append(found, p.Name)
	}
	return found
}

func TestProfilesOfServersHaveTheirName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.backend(t, further("work", w.cloud))
	if diff := cmp.Diff([]string{"fast@work", "local", "other@work"}, names(t, b)); diff != "" {
		t.Error(diff)
	}
	if st := b.Status(t.Context()).Servers; len(st) != 1 || st[0].Profiles != 2 || st[0].Err != nil || st[0].Asked.IsZero() {
		t.Errorf("servers %+v", st)
	}
}

// Neither New nor Status nor work with the main backend opens a server.
func TestAServerIsOpenedWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opened := 0
	lazy := further("work", w.cloud)
	open := lazy.Open
	lazy.Open = func(ctx context.Context) (agentapi.Backend, error) {
		opened++
		return open(ctx)
	}
	b := w.backend(t, lazy)
	b.Status(t.Context())
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "local", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.About(t.Context(), c.Info().ID); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), b.Remove(t.Context(), c.Info().ID)); err != nil {
		t.Error(err)
	}
	if calls := w.cloud.Calls("GET", ""); opened != 0 || len(calls) != 0 {
		t.Errorf("the server was opened %d times, and asked %d times", opened, len(calls))
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 0 {
		t.Errorf("notes of conversations of the main backend: %v, %v", left, err)
	}
	names(t, b)
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
}

// A server that does not answer at all costs the list a moment, once.
func TestASilentServerDoesNotHoldTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	silent := several.Server{Name: "work", Address: "http://silent.example", Open: func(ctx context.Context) (agentapi.Backend, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	b := w.backend(t, silent)
	began := time.Now()
	for range 3 {
		if diff := cmp.Diff([]string{"local"}, names(t, b)); diff != "" {
			t.Error(diff)
		}
	}
	// Three lists that waited to the end of the question would take a minute.
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the lists took %v", took)
	}
}

func TestALocalProfileWithAnAtIsNotAServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.main.SaveProfile("fast@work", fakeserver.Profile{Model: "openai/mine", BaseURL: w.llm.URL})
	w.main.SaveProfile("me@home", fakeserver.Profile{Model: "openai/mine", BaseURL: w.llm.URL})
	b := w.backend(t, further("work", w.cloud))
	for _, name := range []string{"fast@work", "me@home"} {
		c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: name, Workspace: t.TempDir()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.Info().Profile; got != name {
			t.Errorf("the profile is %q, want %q", got, name)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if calls := w.cloud.Calls("GET", ""); len(calls) != 0 {
		t.Errorf("the server was asked: %+v", calls)
	}
}

// A conversation stays where it was made, whatever profile asks for it later, also
// after a restart, and also when its server is no longer used.
func TestAConversationStaysWithItsServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.New()
	first := w.backend(t, further("work", w.cloud))
	made, err := first.Open(t.Context(), agentapi.OpenRequest{ID: id, New: true, Profile: "fast@work", Workspace: "/workspace/project"})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Error(err)
	}
	if _, err := first.Profiles(t.Context()); err != nil {
		t.Error(err)
	}

	again := w.backend(t, further("work", w.cloud))
	c, err := again.Open(t.Context(), agentapi.OpenRequest{ID: id, Profile: "local", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if info := c.Info(); info.Profile != "fast@work" || info.Created {
		t.Errorf("opened with another profile: %+v", info)
	}
	if err := c.Switch(t.Context(), "local"); !errors.Is(err, agentapi.ErrUnsupported) || !strings.Contains(err.Error(), "--server work") {
		t.Errorf("Switch to a profile of this machine: %v", err)
	}
	if err := c.Switch(t.Context(), "other@work"); err != nil {
		t.Errorf("Switch on the same server: %v", err)
	}
	if about, err := again.About(t.Context(), id); err != nil || about.Profile != "other@work" {
		t.Errorf("About: %+v, %v", about, err)
	}

	without := w.backend(t)
	for what, err := range map[string]error{
		"Open":   second(without.Open(t.Context(), agentapi.OpenRequest{ID: id, Profile: "local", Workspace: t.TempDir()})),
		"About":  second(without.About(t.Context(), id)),
		"Events": second(without.Events(t.Context(), id, agentapi.EventQuery{})),
		"Remove": without.Remove(t.Context(), id),
	} {
		if !errors.Is(err, agentapi.ErrUnavailable) || !strings.Contains(err.Error(), "--server work") {
			t.Errorf("%s without the server: %v", what, err)
		}
	}

	if err := again.Remove(t.Context(), id); err != nil {
		t.Error(err)
	}
	if several.Any(w.dir) {
		t.Error("the note of a removed conversation is still there")
	}
}

func second[T any](_ T, err error) error { return err }

// A conversation of the main backend is not made anew on a server that its id is
// asked for at.
func TestAConversationOfTheMainBackendStaysThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.backend(t, further("work", w.cloud))
	id := uuid.New()
	for _, profile := range []string{"local", "fast@work"} {
		c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id, Profile: profile, Workspace: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if c.Info().Profile != "local" {
			t.Errorf("opened as %s: %+v", profile, c.Info())
		}
		if profile != "local" {
			if err := c.Switch(t.Context(), profile); !errors.Is(err, agentapi.ErrUnsupported) || !strings.Contains(err.Error(), "not on the server work") {
				t.Errorf("Switch to a server: %v", err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A start that fails leaves no note behind; one of unknown outcome does.
func TestANoteIsThereAsLongAsTheConversationMayBe(t *testing.T) {
	t.Parallel()
	for kind, stays := range map[error]bool{agentapi.ErrRefused: false, agentapi.ErrUnavailable: false, agentapi.ErrUncertain: true} {
		w := newWorld(t)
		b := w.backend(t, several.Server{Name: "work", Open: func(context.Context) (agentapi.Backend, error) {
			return nil, &agentapi.Error{Kind: kind, Msg: "No."}
		}})
		_, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast@work"})
		if !errors.Is(err, kind) || several.Any(w.dir) != stays {
			t.Errorf("%v: Open: %v, and a note: %t", kind, err, several.Any(w.dir))
		}
	}
}

// After a rejected key a server is opened anew, with the key that is stored then.
func TestANewKeyHoldsWithoutARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := further("work", w.cloud)
	rejected := true
	open := key.Open
	key.Open = func(ctx context.Context) (agentapi.Backend, error) {
		if rejected {
			return nil, &agentapi.Error{Kind: agentapi.ErrUnauthorized, Msg: "No."}
		}
		return open(ctx)
	}
	b := w.backend(t, key)
	_, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast@work"})
	if !errors.Is(err, agentapi.ErrUnauthorized) {
		t.Errorf("Open: %v", err)
	}
	rejected = false
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast@work"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
