package agents

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// said are the notes of an Env.
type said struct {
	setup.Silent

	notes []string
}

func (s *said) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// besideServer is an Env where an agent-server answers at the usual address.
func besideServer(t *testing.T) (env *setup.Env, notes *said, address string) {
	t.Helper()
	server := fakeserver.New(t, fakeserver.Options{})
	env, notes = setuptest.New(t, nil), &said{}
	env.Notes = notes
	env.Usual = func(string) string { return strings.TrimPrefix(server.URL, "http://") }
	return env, notes, server.URL
}

// settingsOf are those of the variables, the flags and the text of a config file.
func settingsOf(t *testing.T, file string, variables map[string]string, flags map[string][]string) *config.Settings {
	t.Helper()
	at := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(at, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(config.Source{File: at, Getenv: func(name string) string { return variables[name] }, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An agent-server that the user did not name runs commands outside of the sandbox.
// It is not preferred where the user has set anything of the sandbox.
func TestTheSandboxIsNotLeftInSilence(t *testing.T) {
	t.Parallel()
	env, _, address := besideServer(t)
	for name, tt := range map[string]struct {
		file      string
		variables map[string]string
		flags     map[string][]string
		want      string // of the reason; "" if the server is used
	}{
		"nothing set":        {},
		"another setting":    {file: "demo = false\n"},
		"a flag":             {flags: map[string][]string{"sandbox": {"on"}}, want: "sandbox.mode is set (--sandbox)"},
		"a variable":         {variables: map[string]string{"OHGW_SANDBOX_REQUIRE": "full"}, want: "sandbox.minimum is set (OHGW_SANDBOX_REQUIRE)"},
		"the file":           {file: "[sandbox]\nstrict = true\n", want: "sandbox.strict is set (/"},
		"one workspace":      {file: "[sandbox.workspace.\"/src/app\"]\nstrict = true\n", want: "sandbox.workspace is set (/"},
		"a server was named": {flags: map[string][]string{"sandbox": {"on"}, "agent-server": {address}}},
		"asked for a server": {flags: map[string][]string{"sandbox": {"on"}, "backend": {"agent-server"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := notAdopted(t.Context(), env, settingsOf(t, tt.file, tt.variables, tt.flags))
			if tt.want == "" && got == "" {
				return
			}
			if tt.want == "" || !strings.HasPrefix(got, "an agent-server answers at "+address+", but "+tt.want) ||
				!strings.HasSuffix(got, "): name it with --agent-server to use it") {
				t.Errorf("reason = %q, want %q", got, tt.want)
			}
		})
	}
	if got := notAdopted(t.Context(), setuptest.New(t, nil), settingsOf(t, "", nil, map[string][]string{"sandbox": {"on"}})); got != "" {
		t.Errorf("without a server: %q", got)
	}
}

func TestTheBrowserNeedsTheEmbeddedAgent(t *testing.T) {
	t.Parallel()
	server := map[string]string{"OHGW_AGENT_SERVER_URL": "http://127.0.0.1:1"}
	with := func(more, of map[string]string) map[string]string {
		all := map[string]string{}
		for _, from := range []map[string]string{more, of} {
			for name, value := range from {
				all[name] = value
			}
		}
		return all
	}
	for name, tt := range map[string]struct {
		variables map[string]string
		flags     map[string][]string
		want      string
		refused   bool
	}{
		"nothing set":              {},
		"a flag":                   {flags: map[string][]string{"browser": {"true"}}, want: "--browser"},
		"a variable":               {variables: map[string]string{"OHGW_BROWSER_TOOLS": "true"}, want: "OHGW_BROWSER_TOOLS"},
		"the flag of the window":   {flags: map[string][]string{"headed": {"true"}}, want: "--headed"},
		"its variable":             {variables: map[string]string{"OHGW_BROWSER_HEADED": "true"}},
		"a flag beside a server":   {variables: server, flags: map[string][]string{"browser": {"true"}}, refused: true},
		"a window beside a server": {variables: server, flags: map[string][]string{"headed": {"true"}}, refused: true},
		"a variable beside a server": {variables: with(server, map[string]string{
			"OHGW_BROWSER_TOOLS": "true", "OHGW_BROWSER_HEADED": "true",
		})},
		"both beside a server": {
			variables: with(server, map[string]string{"OHGW_BROWSER_TOOLS": "true"}), flags: map[string][]string{"headed": {"true"}}, refused: true,
		},
		"another backend": {flags: map[string][]string{"browser": {"true"}, "backend": {"cloud"}}, refused: true},
	} {
		got, err := browserFrom(settingsOf(t, "", tt.variables, tt.flags))
		if got != tt.want || (fault.CodeOf(err) == fault.Usage) != tt.refused || err != nil && !tt.refused {
			t.Errorf("the browser is wanted (%s): %q, %v", name, got, err)
		}
	}
}

func TestAWindowNeedsADisplay(t *testing.T) {
	t.Parallel()
	env, _, _ := besideServer(t)
	flags := map[string][]string{"key-store": {"file"}, "sandbox": {"off"}, "headed": {"true"}}
	_, err := Open(t.Context(), env, settingsOf(t, "", nil, flags), slog.New(slog.DiscardHandler))
	if runtime.GOOS == "darwin" {
		t.Skip("macOS has a display")
	}
	if err == nil || !strings.Contains(err.Error(), "DISPLAY and WAYLAND_DISPLAY are not set") {
		t.Errorf("error = %v", err)
	}
}

func TestOpenSaysWhoKeepsTheCommands(t *testing.T) {
	t.Parallel()
	off := map[string][]string{"sandbox": {"off"}} // an engine that asks the kernel for nothing
	for name, tt := range map[string]struct {
		named   bool
		flags   map[string][]string
		backend string
		why     string
		notes   int
	}{
		"found":                    {backend: "agent-server", why: "it runs commands outside of ohgw's sandbox"},
		"found beside a setting":   {flags: off, backend: "embedded", why: "name it with --agent-server to use it"},
		"named":                    {named: true, backend: "agent-server", why: "named by --agent-server"},
		"named beside the setting": {named: true, flags: off, backend: "agent-server", why: "named by --agent-server", notes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, notes, address := besideServer(t)
			flags := map[string][]string{"key-store": {"file"}}
			for flag, values := range tt.flags {
				flags[flag] = values
			}
			if tt.named {
				flags["agent-server"] = []string{address}
			}
			b, err := Open(t.Context(), env, settingsOf(t, "", nil, flags), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			if b.Status.Name != tt.backend || !strings.Contains(b.Line(), tt.why) {
				t.Errorf("line = %s", b.Line())
			}
			if len(notes.notes) != tt.notes {
				t.Errorf("said %q", notes.notes)
			}
			for _, note := range notes.notes {
				if !strings.HasPrefix(note, "warning: no effect of --sandbox: the agent-server at "+address) {
					t.Errorf("said %q", note)
				}
			}
		})
	}
}

func TestAPoolIsOneBackend(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 2 {
		s := fakeserver.New(t, fakeserver.Options{})
		s.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://127.0.0.1:1"})
		urls = append(urls, s.URL)
	}
	env := setuptest.New(t, nil)
	s := settingsOf(t, "", nil, map[string][]string{"agent-server": append(urls, "http://127.0.0.1:1")})
	b, err := Open(t.Context(), env, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !b.Pooled() || b.ID() != "pool" || b.InProcess() || len(b.Status.Members) != 3 || b.Native != nil {
		t.Errorf("the backend is %+v", b)
	}
	if want := "pool 1.58.2 at " + urls[0] + ", " + urls[1] + ", http://127.0.0.1:1 (named by --agent-server)"; b.Line() != want {
		t.Errorf("its line is %q, want %q", b.Line(), want)
	}
	list, err := b.Profiles(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "fast" {
		t.Errorf("its profiles are %v, %v", list, err)
	}
	one, err := Open(t.Context(), env, settingsOf(t, "", nil, map[string][]string{"agent-server": urls[:1]}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if one.Pooled() || one.Status.Name != "agent-server" {
		t.Errorf("one server is %+v", one.Status)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	s = settingsOf(t, "native = true\n", nil, map[string][]string{"agent-server": urls})
	if _, err := Open(t.Context(), env, s, slog.New(slog.DiscardHandler)); fault.CodeOf(err) != fault.Usage {
		t.Errorf("a pool with OpenHands' own API: %v", err)
	}
}
