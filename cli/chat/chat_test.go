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
	const quota = "see what is spent: ohgw tokens list; use a token with a higher limit, or wait until this one renews"
	for _, tt := range []struct {
		err  gateway.Error
		code fault.Code
		hint string
	}{
		{gateway.Error{Kind: gateway.Busy, Code: "rate_limit_exceeded"}, fault.Failed, "try again"},
		{gateway.Error{Kind: gateway.Busy, Code: "rate_limit_exceeded", RetryAfter: 4 * time.Second}, fault.Failed, "try again in 4s"},
		{gateway.Error{Kind: gateway.Busy, Code: "insufficient_quota", RetryAfter: time.Minute}, fault.Budget, quota},
		{gateway.Error{Kind: gateway.Failed, Code: "insufficient_quota"}, fault.Budget, quota},
	} {
		c := session{opts: &options{}}
		f, ok := errors.AsType[*fault.Error](c.faultOf(&tt.err))
		if !ok || f.Code != tt.code || f.Hint != tt.hint {
			t.Errorf("the error for %+v is %+v, want the code %d and the hint %q", tt.err, f, tt.code, tt.hint)
		}
	}
}
