package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/serving"
)

func TestFilesOfAChatAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &session{opts: &options{App: &kit.App{Env: &kit.Env{Paths: func() (paths.Set, error) { return paths.Set{Home: home}, nil }}}}}
	path, err := c.save(t.Context(), "~/talk.md", "hello")
	if err != nil || path != filepath.Join(home, "talk.md") {
		t.Fatalf("path = %s, error %v", path, err)
	}
	if _, err := c.save(t.Context(), path, "other"); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("saving over a file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "hello" {
		t.Errorf("file = %q, error %v", data, err)
	}
	if _, err := c.save(t.Context(), filepath.Join(home, "none", "x"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("saving in a directory that is not there: %v", err)
	}
}

func TestAConversationIsGoneOnWithWhereItIs(t *testing.T) {
	t.Parallel()
	remote := gateway.New(gateway.Config{URL: "http://gateway.example:1234"})
	waits := answer.Turn{Conversation: "ID", Status: "waiting_for_confirmation"}
	for name, tt := range map[string]struct {
		chat         session
		screen, once string
	}{
		"the daemon": {
			session{opts: &options{}, client: remote, asker: &running.Daemon{Found: instance.Info{URL: "http://127.0.0.1:6449"}}},
			"ohgw chat --conversation ID", "ohgw chat -p --conversation ID yes",
		},
		"another one": {
			session{client: remote, asker: &running.Daemon{}, opts: &options{model: "openhands_work"}},
			"ohgw chat --url http://gateway.example:1234 --conversation ID",
			"ohgw chat --url http://gateway.example:1234 -p --model openhands_work --conversation ID yes",
		},
		"the demo": {
			session{own: &serving.Own{}, demo: true, opts: &options{model: demoModel}},
			"ohgw chat --demo --conversation ID", "ohgw chat --demo -p --conversation ID yes",
		},
		"here": {session{opts: &options{}, own: &serving.Own{}}, "ohgw chat --conversation ID", "ohgw chat -p --conversation ID yes"},
	} {
		if got := tt.chat.hints().Resume("ID"); got != tt.screen {
			t.Errorf("%s: Resume = %q, want %q", name, got, tt.screen)
		}
		f, ok := errors.AsType[*fault.Error](tt.chat.unfinished(waits))
		if want := "continue with " + tt.once + " (or no)"; !ok || f.Hint != want {
			t.Errorf("%s: error = %+v, want the hint %q", name, f, want)
		}
	}
}

func TestWhatToDoAboutABusyGateway(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*gateway.Error{
		"try again":       {Kind: gateway.Busy},
		"try again in 4s": {Kind: gateway.Busy, RetryAfter: 4 * time.Second},
		"see what is spent: ohgw tokens list; use a token with a higher limit, or try again in 3h0m0s": {
			Kind: gateway.Busy, Code: "insufficient_quota", RetryAfter: 3 * time.Hour,
		},
	} {
		if got := busyHint(e); got != want {
			t.Errorf("the hint for %+v is %q, want %q", e, got, want)
		}
	}
}
