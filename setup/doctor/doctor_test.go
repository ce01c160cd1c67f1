package doctor_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup/doctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var today = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)

// healthy is a world in which everything works; tests break one thing each.
func healthy() *doctor.World {
	files := fstest.MapFS{
		"state/ohgw":               {Mode: fs.ModeDir | 0o700},
		"run/ohgw":                 {Mode: fs.ModeDir | 0o700},
		"config/ohgw":              {Mode: fs.ModeDir | 0o700},
		"config/ohgw/config.toml":  {Mode: 0o600},
		"state/ohgw/tokens.json":   {Mode: 0o600},
		"state/ohgw/default-token": {Mode: 0o600},
	}
	return &doctor.World{
		Now: func() time.Time { return today }, Built: today.Add(-240 * time.Hour), GOOS: "linux", Version: "1.2.3",
		Mine: func(fs.FileInfo) bool { return true },
		Provider: func(context.Context) (doctor.Provider, error) {
			return doctor.Provider{Host: "api.example", Model: "gpt-5", Models: []string{"gpt-5", "gpt-5-mini"}, Change: "ohgw profiles add work --replace --model openai/"}, nil
		},
		Getenv:   env(map[string]string{"LANG": "en_US.UTF-8"}),
		Settings: settings(config.Default()),
		Paths: func() (paths.Set, error) {
			return paths.Set{Home: "/home", Config: "/config/ohgw", State: "/state/ohgw", Runtime: "/run/ohgw"}, nil
		},
		Stat:     stat(files),
		Writable: func(string) error { return nil },
		Free:     func(string) (uint64, error) { return 10 << 30, nil },
		KeyStore: func(context.Context) (doctor.KeyStore, error) {
			return doctor.KeyStore{Name: "system keyring", Path: "/state/ohgw/key-names.json", Keys: 2}, nil
		},
		Profiles: func(context.Context) (doctor.Profiles, error) {
			return doctor.Profiles{Base: "/home/.openhands", Count: 1, Active: &doctor.ActiveProfile{
				Name: "work", Model: "anthropic/claude", KeyFrom: "stored for this profile", Variables: []string{"ANTHROPIC_API_KEY"},
			}}, nil
		},
		Bind: func(context.Context, string) error { return nil },
		Backend: func(context.Context) (doctor.Backend, error) {
			return doctor.Backend{Status: agentapi.Status{Name: "embedded"}, Why: "none was named"}, nil
		},
		Agents: func(context.Context) (doctor.Agents, error) { return doctor.Agents{Count: 2}, nil },
		Sandbox: func(context.Context) (doctor.Sandbox, error) {
			return doctor.Sandbox{Level: "full", Words: "full (namespaces)", Refused: []string{"read a file outside"}, Grants: []time.Time{today}}, nil
		},
		Hooks: func(context.Context) (doctor.Hooks, error) {
			return doctor.Hooks{Level: "full", Path: "/home/.openhands/hooks.json"}, nil
		},
		Do:          func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody there") },
		ServerClock: func(context.Context, string) (time.Time, error) { return time.Time{}, errors.New("nobody there") },
		Browser:     func() (string, error) { return "/usr/bin/chromium", nil },
		LookPath:    func(name string) (string, error) { return "/bin/" + name, nil },
		Output:      func(context.Context, string, ...string) (string, error) { return "5.2\n", nil },
		PTY:         func() error { return nil },
		Daemon:      func(context.Context) (*doctor.Daemon, error) { return nil, nil },
		Gateway: func(context.Context) (doctor.Gateway, error) {
			return doctor.Gateway{URL: "http://127.0.0.1:1", Key: "k", Temporary: true}, nil
		},
	}
}

func env(vars map[string]string) func(string) string { return func(n string) string { return vars[n] } }

func settings(c config.Config) func() (*config.Settings, error) {
	return func() (*config.Settings, error) {
		return &config.Settings{Config: c, File: "/config/ohgw/config.toml", Found: true}, nil
	}
}

func stat(files fstest.MapFS) func(string) (fs.FileInfo, error) {
	return func(path string) (fs.FileInfo, error) {
		path = filepath.ToSlash(path)
		if path == "/" {
			return fs.Stat(files, ".")
		}
		return fs.Stat(files, strings.TrimPrefix(path, "/"))
	}
}

// look runs one check.
func look(t *testing.T, w *doctor.World, name string) doctor.Result {
	t.Helper()
	for _, c := range doctor.Checks(true) {
		if c.Name == name {
			c.Needs = nil
			return doctor.Run(t.Context(), w, []doctor.Check{c}, nil, nil)[0]
		}
	}
	t.Fatalf("there is no check %q", name)
	return doctor.Result{}
}

// expect compares the verdict of a check and looks for texts in what it found.
func expect(t *testing.T, r doctor.Result, v doctor.Verdict, texts ...string) {
	t.Helper()
	all := r.Text
	for _, f := range r.Findings {
		all += "\n" + f.Text + "\n" + f.Cause + "\n" + f.Repair
		if f.Repair == "" {
			t.Errorf("nothing says what to do about %q", f.Text)
		}
	}
	if r.Verdict != v {
		t.Errorf("verdict = %s, want %s: %s", r.Verdict, v, all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q is missing in: %s", text, all)
		}
	}
}

func TestAHealthyInstallationHasNothingToRepair(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Do = gateway(t, nil)
	for _, r := range doctor.Run(t.Context(), w, doctor.Checks(true), nil, nil) {
		want := doctor.OK
		if r.Check == "daemon" {
			want = doctor.Skipped // none runs, which is not a failure
		}
		if r.Verdict != want || len(r.Findings) > 0 || r.Text == "" {
			t.Errorf("%s: verdict = %s, text %q, findings %+v", r.Check, r.Verdict, r.Text, r.Findings)
		}
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Now = func() time.Time { return time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC) }
	expect(t, look(t, w, "machine"), doctor.Failed, "31 December 1999", "timedatectl")
	w = healthy()
	w.Built = time.Time{} // a build that does not know when
	w.Root = true
	expect(t, look(t, w, "machine"), doctor.Warning, "root", "sudo -iu")
	for locale, want := range map[string]doctor.Verdict{
		"C": doctor.Warning, "POSIX": doctor.Warning, "de_DE.ISO-8859-1": doctor.Warning, "de_DE@euro": doctor.Warning,
		"C.UTF-8": doctor.OK, "en_US.utf8": doctor.OK, "de_DE.UTF-8@euro": doctor.OK, "": doctor.OK,
	} {
		w = healthy()
		w.Getenv = env(map[string]string{"LC_ALL": locale, "LANG": locale})
		expect(t, look(t, w, "machine"), want)
	}
	w = healthy()
	w.Getenv = env(map[string]string{"LC_ALL": "C.UTF-8", "LANG": "C"}) // the stronger one counts
	expect(t, look(t, w, "machine"), doctor.OK)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Settings = func() (*config.Settings, error) {
		return nil, &fault.Error{Msg: "config.toml, line 3: something is missing", Hint: "complete it", Code: fault.Usage}
	}
	expect(t, look(t, w, "config"), doctor.Failed, "line 3", "complete it; ${EDITOR:-vi}")

	w = healthy()
	w.Stat = stat(fstest.MapFS{"config/ohgw/config.toml": {Mode: 0o662}})
	expect(t, look(t, w, "config"), doctor.Failed, "other users can change", "chmod go-w /config/ohgw/config.toml")

	w = healthy()
	c := config.Default()
	c.Workspace = "/"
	w.Settings = settings(c)
	expect(t, look(t, w, "config"), doctor.Failed, "every file on this machine", "--workspace DIR")
	c.Workspace = "/config/ohgw/config.toml"
	w.Settings = settings(c)
	expect(t, look(t, w, "config"), doctor.Failed, "is not a directory")
	c = config.Default()
	c.NoAuth = true
	w.Settings = settings(c)
	expect(t, look(t, w, "config"), doctor.Warning, "every program")
}

func TestPaths(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*doctor.World)
		want   doctor.Verdict
		texts  []string
	}{
		"no home": {func(w *doctor.World) {
			w.Paths = func() (paths.Set, error) { return paths.Set{}, paths.ErrNoHome }
		}, doctor.Failed, []string{"export HOME="}},
		"nothing there yet": {func(w *doctor.World) { w.Stat = stat(fstest.MapFS{}) }, doctor.OK, nil},
		"nothing can be made": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{})
			w.Writable = func(string) error {
				return &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}
			}
			w.Mine = func(fs.FileInfo) bool { return false }
		}, doctor.Failed, []string{"cannot write to /", "permission denied", "sudo chown $USER /"}},
		"mine, without rights": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{"config/ohgw": {Mode: fs.ModeDir}, "state/ohgw": {Mode: fs.ModeDir | 0o500}, "run/ohgw": {Mode: fs.ModeDir | 0o700}})
			w.Writable = func(dir string) error {
				if dir != "/state/ohgw" {
					return nil
				}
				return &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}
			}
		}, doctor.Failed, []string{"you cannot read /config/ohgw (mode 0000)", "chmod u+rwx /config/ohgw", "chmod u+rwx /state/ohgw"}},
		"the directory above, mine, without rights": {func(w *doctor.World) {
			files := stat(fstest.MapFS{"config": {Mode: fs.ModeDir}, "state/ohgw": {Mode: fs.ModeDir | 0o700}, "run/ohgw": {Mode: fs.ModeDir | 0o700}})
			w.Stat = func(path string) (fs.FileInfo, error) {
				if path == "/config/ohgw" {
					return nil, &fs.PathError{Op: "stat", Path: path, Err: syscall.EACCES}
				}
				return files(path)
			}
		}, doctor.Failed, []string{"/config/ohgw cannot be read", "chmod u+rwx /config"}},
		"a read-only disk": {func(w *doctor.World) {
			w.Writable = func(string) error { return &fs.PathError{Op: "open", Path: "/x", Err: syscall.EROFS} }
		}, doctor.Failed, []string{"is on a read-only disk", "export XDG_STATE_HOME="}},
		"other users can write": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{"state/ohgw": {Mode: fs.ModeDir | 0o770}})
		}, doctor.Failed, []string{"chmod 700 /state/ohgw", "mode 0770"}},
		"other users can look": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{"state/ohgw": {Mode: fs.ModeDir | 0o755}})
		}, doctor.Warning, []string{"chmod 700 /state/ohgw"}},
		"a space in the path": {func(w *doctor.World) {
			w.Paths = func() (paths.Set, error) {
				return paths.Set{Home: "/home", Config: "/config/ohgw", State: "/Application Support/ohgw", Runtime: "/run/ohgw"}, nil
			}
			w.Stat = stat(fstest.MapFS{"Application Support/ohgw": {Mode: fs.ModeDir | 0o770}})
		}, doctor.Failed, []string{`chmod 700 '/Application Support/ohgw'`}},
		"tokens in the open": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{"state/ohgw": {Mode: fs.ModeDir | 0o700}, "state/ohgw/default-token": {Mode: 0o640}})
		}, doctor.Failed, []string{"chmod 600 /state/ohgw/default-token"}},
		"a file in its place": {func(w *doctor.World) {
			w.Stat = stat(fstest.MapFS{"state/ohgw": {Mode: 0o600}})
		}, doctor.Failed, []string{"/state/ohgw is not a directory"}},
		"full": {func(w *doctor.World) {
			w.Writable = func(string) error { return &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC} }
			w.Free = func(string) (uint64, error) { return 5 << 30, nil } // the user's own part of it is used up
		}, doctor.Failed, []string{"is full", "XDG_STATE_HOME"}},
		"no bytes": {func(w *doctor.World) { w.Free = func(string) (uint64, error) { return 0, nil } }, doctor.Failed, []string{"is full"}},
		"scarce":   {func(w *doctor.World) { w.Free = func(string) (uint64, error) { return 100 << 20, nil } }, doctor.Warning, []string{"100 MiB left"}},
		"unknown room": {func(w *doctor.World) {
			w.Free = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
		}, doctor.OK, nil},
		"no modes on windows": {func(w *doctor.World) {
			w.GOOS = "windows"
			w.Stat = stat(fstest.MapFS{"state/ohgw": {Mode: fs.ModeDir | 0o777}, "state/ohgw/tokens.json": {Mode: 0o666}})
		}, doctor.OK, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := healthy()
			tt.change(w)
			expect(t, look(t, w, "paths"), tt.want, tt.texts...)
		})
	}
}

func TestKeyStore(t *testing.T) {
	t.Parallel()
	locked := &fault.Error{Msg: "the keyring is locked", Hint: "unlock it", Code: fault.Credential, Err: errors.New("no prompt")}
	tests := map[string]struct {
		store doctor.KeyStore
		want  doctor.Verdict
		texts []string
	}{
		"locked, with keys":    {doctor.KeyStore{Keys: 3, Problem: locked}, doctor.Failed, []string{"is locked", "no prompt", "unlock it"}},
		"locked, without keys": {doctor.KeyStore{Problem: locked}, doctor.Warning, []string{"is locked"}},
		"exposed":              {doctor.KeyStore{Path: "/k", Exposed: true}, doctor.Failed, []string{"chmod 600 /k"}},
		"plain":                {doctor.KeyStore{Path: "/k", Plain: 2}, doctor.OK, []string{"not encrypted", "OH_SECRET_KEY"}},
	}
	for name, tt := range tests {
		w := healthy()
		w.KeyStore = func(context.Context) (doctor.KeyStore, error) { return tt.store, nil }
		t.Run(name, func(t *testing.T) { expect(t, look(t, w, "keyring"), tt.want, tt.texts...) })
	}
}

func TestProfilesAndTheirKey(t *testing.T) {
	t.Parallel()
	broken := func(name string, n int) (list []profile.Problem) {
		for range n {
			list = append(list, profile.Problem{Profile: name, Severity: profile.Error, Text: "has no model", Repair: "ohgw profiles add " + name + " --replace"})
		}
		return list
	}
	active := &doctor.ActiveProfile{Name: "work", Model: "openai/gpt", Variables: []string{"OPENAI_API_KEY"}}
	tests := map[string]struct {
		profiles doctor.Profiles
		check    string
		want     doctor.Verdict
		texts    []string
	}{
		"none":                     {doctor.Profiles{Base: "/b"}, "profiles", doctor.Warning, []string{"ohgw profiles add", "--demo"}},
		"none, so no key":          {doctor.Profiles{}, "key", doctor.Skipped, nil},
		"the active one broken":    {doctor.Profiles{Count: 1, Active: active, Report: profile.CheckReport{Problems: broken("work", 1)}}, "profiles", doctor.Failed, []string{"work: has no model", "--replace"}},
		"another one broken":       {doctor.Profiles{Count: 2, Active: active, Report: profile.CheckReport{Problems: broken("play", 1)}}, "profiles", doctor.Warning, nil},
		"many broken":              {doctor.Profiles{Count: 9, Active: active, Report: profile.CheckReport{Problems: broken("play", 9)}}, "profiles", doctor.Warning, []string{"and 4 more problems"}},
		"the key is another check": {doctor.Profiles{Count: 1, Active: active, Report: profile.CheckReport{Problems: []profile.Problem{{Profile: "work", Code: "key-missing", Severity: profile.Error}}}}, "profiles", doctor.OK, nil},
		"notes are no problem":     {doctor.Profiles{Count: 1, Report: profile.CheckReport{Problems: []profile.Problem{{Severity: profile.Note, Text: "x"}}}}, "profiles", doctor.OK, nil},
		"a retired model":          {doctor.Profiles{Count: 1, Active: active, Report: profile.CheckReport{Problems: []profile.Problem{{Profile: "work", Code: "report-retired", Severity: profile.Note}}}}, "profiles", doctor.Warning, []string{"work: the model is retired", "ohgw profiles check --live work"}},
		"none active":              {doctor.Profiles{Count: 1, Names: []string{"play", "work"}}, "key", doctor.Warning, []string{"ohgw profiles use play"}},
		"a key for another host":   {doctor.Profiles{Count: 1, Active: &doctor.ActiveProfile{Name: "l", Withheld: "key stored for openai"}}, "key", doctor.Failed, []string{"the key stored for openai is only sent to that provider's hosts", "ohgw keys set l"}},
		"no key":                   {doctor.Profiles{Count: 1, Active: active}, "key", doctor.Failed, []string{"OPENAI_API_KEY is not set", "ohgw keys set work"}},
		"needs none":               {doctor.Profiles{Count: 1, Active: &doctor.ActiveProfile{Name: "l", NeedsNone: "needs no key"}}, "key", doctor.OK, []string{"needs no key"}},
		"a profile without repair": {doctor.Profiles{Count: 1, Report: profile.CheckReport{Problems: []profile.Problem{{Profile: "p", Severity: profile.Error}}}}, "profiles", doctor.Warning, []string{"ohgw profiles check p"}},
	}
	for name, tt := range tests {
		w := healthy()
		w.Profiles = func(context.Context) (doctor.Profiles, error) { return tt.profiles, nil }
		t.Run(name, func(t *testing.T) { expect(t, look(t, w, tt.check), tt.want, tt.texts...) })
	}
}

func TestFilesHereAreNotThoseOfAServerElsewhere(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Profiles = func(context.Context) (doctor.Profiles, error) { return doctor.Profiles{}, nil }
	for address, want := range map[string]doctor.Verdict{
		"https://agents.example": doctor.Skipped, "http://10.0.0.7:8000": doctor.Skipped,
		"http://127.0.0.1:8000": doctor.Warning, "http://localhost:8000": doctor.Warning, "http://[::1]:8000": doctor.Warning,
	} {
		w.Backend = func(context.Context) (doctor.Backend, error) {
			return doctor.Backend{Status: agentapi.Status{Address: address}}, nil
		}
		expect(t, look(t, w, "profiles"), want)
	}
}

func TestAnAgentServerMayHaveProfilesOfItsOwn(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Profiles = func(context.Context) (doctor.Profiles, error) { return doctor.Profiles{Base: "/b"}, nil }
	w.Backend = func(context.Context) (doctor.Backend, error) {
		return doctor.Backend{Status: agentapi.Status{Address: "http://127.0.0.1:8000"}, Profiles: 2}, nil
	}
	expect(t, look(t, w, "profiles"), doctor.OK, "2 profiles in the agent-server")
	expect(t, look(t, w, "key"), doctor.Skipped, "the agent-server holds the keys")
}

func TestPort(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Bind = func(_ context.Context, addr string) error {
		return &fault.Error{Msg: addr + " is in use by python3 (process 4711)", Hint: "stop it", Code: fault.Conflict}
	}
	expect(t, look(t, w, "port"), doctor.Failed, "127.0.0.1:6449 is in use by python3 (process 4711)", "--addr 127.0.0.1:0")
	w.Daemon = func(context.Context) (*doctor.Daemon, error) {
		return &doctor.Daemon{URL: "http://127.0.0.1:6449"}, nil
	}
	expect(t, look(t, w, "port"), doctor.OK, "your daemon")
	w.Daemon = func(context.Context) (*doctor.Daemon, error) {
		return &doctor.Daemon{URL: "http://127.0.0.1:7000"}, nil
	}
	expect(t, look(t, w, "port"), doctor.Failed)
	w.Daemon = func(context.Context) (*doctor.Daemon, error) {
		return &doctor.Daemon{URL: "http://127.0.0.1:7000", PID: 4712}, nil
	}
	expect(t, look(t, w, "port"), doctor.OK, "another port")
}

func TestBackend(t *testing.T) {
	t.Parallel()
	server := agentapi.Status{Name: "agent-server", Version: "1.43.1", Address: "http://127.0.0.1:8000"}
	with := func(change func(*doctor.Backend)) *doctor.World {
		w, b := healthy(), doctor.Backend{Status: server, Why: "named"}
		change(&b)
		w.Backend = func(context.Context) (doctor.Backend, error) { return b, nil }
		return w
	}
	expect(t, look(t, with(func(*doctor.Backend) {}), "backend"), doctor.OK, "agent-server 1.43.1 at http://127.0.0.1:8000")
	expect(t, look(t, with(func(b *doctor.Backend) {
		b.Err = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "It does not answer.", Err: errors.New("private")}
	}), "backend"), doctor.Failed, "It does not answer.", "export OHGW_BACKEND=embedded")
	expect(t, look(t, with(func(b *doctor.Backend) {
		b.Err = &agentapi.Error{Kind: agentapi.ErrUnauthorized, Msg: "It refuses the key."}
	}), "backend"), doctor.Failed, "OHGW_AGENT_SERVER_KEY")
	expect(t, look(t, with(func(b *doctor.Backend) { b.Missing = []string{"Before 1.33: no x."} }), "backend"), doctor.Warning, "Before 1.33: no x.")

	expect(t, look(t, with(func(b *doctor.Backend) { b.KeysWithheld = true }), "backend"), doctor.Warning,
		"it gets none of your stored keys", "export OHGW_AGENT_SERVER_URL=http://127.0.0.1:8000")

	for shift, want := range map[time.Duration]string{0: "", 10 * time.Second: "", 5 * time.Minute: "5m0s ahead of this machine", -time.Hour: "1h0m0s behind this machine"} {
		w := with(func(*doctor.Backend) {})
		w.ServerClock = func(_ context.Context, address string) (time.Time, error) {
			if address != "http://127.0.0.1:8000" {
				t.Errorf("asked %s", address)
			}
			return today.Add(shift), nil
		}
		if want == "" {
			expect(t, look(t, w, "backend"), doctor.OK)
		} else {
			expect(t, look(t, w, "backend"), doctor.Warning, want)
		}
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	expect(t, look(t, healthy(), "agents"), doctor.OK, "2 agents beside the LLM profiles")
	w := healthy()
	w.Agents = func(context.Context) (doctor.Agents, error) {
		bad := doctor.AgentProblem{Path: "/p/a.md", Line: 4, Text: "the MCP servers are not started", Repair: "move the file"}
		whole := doctor.AgentProblem{Path: "/p/b.md", Text: "it is not a regular file", Repair: "replace it"}
		return doctor.Agents{Count: 1, Problems: []doctor.AgentProblem{bad, whole, bad, bad, bad, bad, bad}}, nil
	}
	expect(t, look(t, w, "agents"), doctor.Warning, "/p/a.md:4: the MCP servers are not started", "/p/b.md: it is not", "and 2 more problems", "ohgw agents check")
	w.Agents = func(context.Context) (doctor.Agents, error) { return doctor.Agents{}, errors.New("no right to read") }
	expect(t, look(t, w, "agents"), doctor.Failed, "no right to read")
	w.Backend = func(context.Context) (doctor.Backend, error) {
		return doctor.Backend{Status: agentapi.Status{Address: "http://127.0.0.1:8000"}}, nil
	}
	expect(t, look(t, w, "agents"), doctor.Skipped)
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Output = func(_ context.Context, name string, args ...string) (string, error) {
		if name != "/usr/bin/chromium" || len(args) != 1 || args[0] != "--version" {
			t.Errorf("command %s %v", name, args)
		}
		return "Chromium 150.0.1\n", nil
	}
	expect(t, look(t, w, "browser"), doctor.OK)
	if r := look(t, w, "browser"); r.Text != "Chromium 150.0.1, /usr/bin/chromium" {
		t.Errorf("text %q", r.Text)
	}
	w.Output = func(context.Context, string, ...string) (string, error) { return "", errors.New("exit status 127") }
	expect(t, look(t, w, "browser"), doctor.Warning, "does not work", "exit status 127", "--version")
	w = healthy()
	w.Browser = func() (string, error) { return "", fault.New("there is no Chromium", "install one", nil) }
	if r := look(t, w, "browser"); r.Verdict != doctor.Skipped || !strings.Contains(r.Text, "install one") {
		t.Errorf("without a browser: %+v", r)
	}
	chosen := config.Default()
	chosen.Browser = "/opt/none"
	w.Settings = settings(chosen)
	expect(t, look(t, w, "browser"), doctor.Warning, "there is no Chromium", "install one")
	w.Backend = func(context.Context) (doctor.Backend, error) {
		return doctor.Backend{Status: agentapi.Status{Address: "http://127.0.0.1:8000"}}, nil
	}
	expect(t, look(t, w, "browser"), doctor.Skipped)
}

func TestEngine(t *testing.T) {
	t.Parallel()
	missing := func(name string) func(string) (string, error) {
		return func(n string) (string, error) {
			if n == name {
				return "", errors.New("not found in $PATH")
			}
			return "/bin/" + n, nil
		}
	}
	w := healthy()
	w.LookPath = missing("bash")
	expect(t, look(t, w, "engine"), doctor.Failed, "apt-get install -y bash")
	w.Backend = func(context.Context) (doctor.Backend, error) {
		return doctor.Backend{Status: agentapi.Status{Address: "http://127.0.0.1:8000"}}, nil
	}
	expect(t, look(t, w, "engine"), doctor.Warning) // nothing needs it now
	w = healthy()
	w.LookPath = missing("git")
	expect(t, look(t, w, "engine"), doctor.Warning, "apt-get install -y git")
	w = healthy()
	w.PTY = func() error { return errors.New("no /dev/ptmx") }
	expect(t, look(t, w, "engine"), doctor.Failed, "/dev/pts")
	w = healthy()
	w.Output = func(context.Context, string, ...string) (string, error) { return "", errors.New("exit status 127") }
	expect(t, look(t, w, "engine"), doctor.Failed, "/bin/bash does not work", "exit status 127")
	w = healthy()
	w.GOOS = "windows"
	expect(t, look(t, w, "engine"), doctor.Skipped)
}

func TestDaemon(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		daemon doctor.Daemon
		want   doctor.Verdict
		texts  []string
	}{
		"fine":    {doctor.Daemon{Status: "ok", Version: "1.2.3", PID: 7}, doctor.OK, []string{"process 7"}},
		"ending":  {doctor.Daemon{Status: "draining", Version: "1.2.3"}, doctor.Warning, nil},
		"older":   {doctor.Daemon{Status: "ok", Version: "1.0.0"}, doctor.Warning, []string{"the daemon is ohgw 1.0.0, this program is 1.2.3"}},
		"no host": {doctor.Daemon{Status: "ok", Version: "1.2.3", BackendError: "gone"}, doctor.Failed, []string{"gone"}},
		"locked":  {doctor.Daemon{Status: "ok", Refused: &fault.Error{Msg: "rejected the key", Hint: "put one into OHGW_API_KEY"}}, doctor.Failed, []string{"OHGW_API_KEY"}},
	}
	for name, tt := range tests {
		w := healthy()
		w.Daemon = func(context.Context) (*doctor.Daemon, error) { return &tt.daemon, nil }
		t.Run(name, func(t *testing.T) { expect(t, look(t, w, "daemon"), tt.want, tt.texts...) })
	}
}

// gateway answers as a gateway does; a change of it gets each request first, and
// answers when its status is not 0.
func gateway(t *testing.T, change func(*http.Request) (int, string)) func(*http.Request) (*http.Response, error) {
	t.Helper()
	return func(r *http.Request) (*http.Response, error) {
		status, body := 0, ""
		if change != nil {
			status, body = change(r)
		}
		switch {
		case status != 0:
		case r.Host == "ohgw-doctor.invalid" || r.Header.Get("Origin") != "":
			status = http.StatusForbidden
		case r.Header.Get("Authorization") != "Bearer k":
			status = http.StatusUnauthorized
		case r.URL.Path == "/v1/chat/completions":
			status, body = 200, `{"choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":7,"completion_tokens":1},"ohgw":{"cost":0.0123}}`
		default:
			status, body = 200, `{"data":[]}`
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
	}
}

func TestTheGuardIsReallyTried(t *testing.T) {
	t.Parallel()
	open := func(when func(*http.Request) bool) func(*http.Request) (int, string) {
		return func(r *http.Request) (int, string) {
			if when(r) {
				return http.StatusOK, "{}"
			}
			return 0, ""
		}
	}
	tests := map[string]struct {
		change func(*http.Request) (int, string)
		want   doctor.Verdict
		texts  []string
	}{
		"closed":       {nil, doctor.OK, []string{"a gateway in this process"}},
		"any host":     {open(func(r *http.Request) bool { return r.Host == "ohgw-doctor.invalid" }), doctor.Failed, []string{"another host name got 200"}},
		"any web page": {open(func(r *http.Request) bool { return r.Header.Get("Origin") != "" }), doctor.Failed, []string{"a web page got 200"}},
		"any caller":   {open(func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }), doctor.Failed, []string{"without a key got 200"}},
		"nobody":       {func(*http.Request) (int, string) { return http.StatusForbidden, "" }, doctor.Failed, []string{"a valid request was refused"}},
	}
	for name, tt := range tests {
		w := healthy()
		w.Do = gateway(t, tt.change)
		t.Run(name, func(t *testing.T) { expect(t, look(t, w, "guard"), tt.want, tt.texts...) })
	}

	w := healthy() // no key by choice
	w.Gateway = func(context.Context) (doctor.Gateway, error) { return doctor.Gateway{URL: "http://x"}, nil }
	w.Do = gateway(t, open(func(r *http.Request) bool { return r.Host != "ohgw-doctor.invalid" && r.Header.Get("Origin") == "" }))
	expect(t, look(t, w, "guard"), doctor.Warning, "no API key is required")
	w = healthy()
	expect(t, look(t, w, "guard"), doctor.Failed, "nobody there")
	w.Gateway = func(context.Context) (doctor.Gateway, error) { return doctor.Gateway{}, errors.New("no") }
	w.Backend = func(context.Context) (doctor.Backend, error) { return doctor.Backend{}, errors.New("no") }
	expect(t, look(t, w, "guard"), doctor.Skipped, "fix backend first")
}

func TestTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	w := healthy()
	expect(t, look(t, w, "provider"), doctor.OK, "api.example answers, and has the model gpt-5")
	answer := doctor.Provider{Host: "api.example", Model: "gpt-6", Models: []string{"gpt-5", "o3"}, Change: "ohgw profiles add work --replace --model openai/"}
	w.Provider = func(context.Context) (doctor.Provider, error) { return answer, nil }
	expect(t, look(t, w, "provider"), doctor.Warning, "does not list the model gpt-6", "it has gpt-5, o3", "ohgw profiles add work --replace --model openai/gpt-5")
	answer.Model = "zzz"
	expect(t, look(t, w, "provider"), doctor.Warning, "ohgw profiles check --live work")
	answer.Models = []string{"zzz:latest"}
	expect(t, look(t, w, "provider"), doctor.OK, "has the model zzz")
	answer.Models = nil
	expect(t, look(t, w, "provider"), doctor.OK, "lists no models")
	answer.Problem = &doctor.Finding{Verdict: doctor.Failed, Text: "it is down", Cause: "refuses", Repair: "ollama serve"}
	expect(t, look(t, w, "provider"), doctor.Failed, "it is down", "refuses", "ollama serve")
	w.Provider = func(context.Context) (doctor.Provider, error) { return doctor.Provider{Host: "x"}, doctor.ErrNoList }
	expect(t, look(t, w, "provider"), doctor.Skipped, "--live")
	w.Provider = func(ctx context.Context) (doctor.Provider, error) { return doctor.Provider{}, errors.New("odd") }
	expect(t, look(t, w, "provider"), doctor.Failed, "odd")
	w.Profiles = func(context.Context) (doctor.Profiles, error) { return doctor.Profiles{}, nil }
	expect(t, look(t, w, "provider"), doctor.Skipped, "no profile is active")
}

func TestASmallContextIsToldInTheWordsOfItsServer(t *testing.T) {
	t.Parallel()
	for server, want := range map[window.Server]string{
		window.LlamaCpp: "llama-server --model FILE --ctx-size 32768",
		window.Ollama:   "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
		window.LMStudio: "lms load gemma3 --context-length 32768",
		window.VLLM:     "vllm serve gemma3 --max-model-len 32768",
		window.Other:    "a context of 32768 tokens",
	} {
		w := healthy()
		answer := doctor.Provider{Host: "127.0.0.1:8080", Model: "gemma3", Models: []string{"gemma3"}, Context: 4096, Server: server}
		w.Provider = func(context.Context) (doctor.Provider, error) { return answer, nil }
		expect(t, look(t, w, "provider"), doctor.Warning, "has the model gemma3", "a context of 4096 tokens", want)
		answer.Context = 16_000
		expect(t, look(t, w, "provider"), doctor.OK, "has the model gemma3")
	}
}

func TestALiveTurnTellsItsCost(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Do = gateway(t, nil)
	expect(t, look(t, w, "live"), doctor.OK, "7 tokens in, 1 out, $0.0123")
	w.Do = gateway(t, func(r *http.Request) (int, string) {
		if r.Method == http.MethodPost {
			return http.StatusOK, `{"choices":[{"message":{"content":"ok"}}]}`
		}
		return 0, ""
	})
	expect(t, look(t, w, "live"), doctor.OK, "cost unknown")
	for body, texts := range map[string][]string{
		`{"error":{"code":"llm_error","message":"The provider failed."}}`:         {"The provider failed.", "ohgw profiles check --live work"},
		`{"error":{"code":"model_not_found","message":"There is no openhands."}}`: {"ohgw profiles use NAME"},
	} {
		w.Do = gateway(t, func(r *http.Request) (int, string) {
			if r.Method == http.MethodPost {
				return http.StatusBadGateway, body
			}
			return 0, ""
		})
		expect(t, look(t, w, "live"), doctor.Failed, texts...)
	}
	w.Do = gateway(t, func(r *http.Request) (int, string) {
		if r.Method == http.MethodPost {
			return http.StatusOK, `{"choices":[]}`
		}
		return 0, ""
	})
	expect(t, look(t, w, "live"), doctor.Failed, "the answer is empty")
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	w := healthy()
	if r := look(t, w, "sandbox"); r.Verdict != doctor.OK || !strings.Contains(r.Text, "tried and refused: read a file outside") {
		t.Errorf("row = %+v", r)
	}
	for _, c := range []struct {
		box  doctor.Sandbox
		want doctor.Verdict
		text []string
	}{
		{doctor.Sandbox{Level: "reduced", Reason: "no namespaces", Fix: "install the package"}, doctor.Warning, []string{"no namespaces", "install the package"}},
		{doctor.Sandbox{Level: "full", Escaped: []string{"signal ohgw"}}, doctor.Failed, []string{"signal ohgw", "security issue"}},
		{doctor.Sandbox{Level: "full", TestError: errors.New("no room")}, doctor.Failed, []string{"no room", "ohgw sandbox test"}},
		{doctor.Sandbox{Level: "full", Grants: []time.Time{today.Add(-31 * 24 * time.Hour), today}}, doctor.Warning, []string{": 1", "ohgw sandbox revoke"}},
		{doctor.Sandbox{Level: "full", GrantsError: errors.New("damaged")}, doctor.Warning, []string{"damaged", "revoke --all"}},
		{doctor.Sandbox{Level: "off"}, doctor.Warning, []string{"your rights", "--sandbox on"}},
		{doctor.Sandbox{Level: "external"}, doctor.OK, nil},
		{doctor.Sandbox{Level: "backend"}, doctor.Skipped, nil},
	} {
		w.Sandbox = func(context.Context) (doctor.Sandbox, error) { return c.box, nil }
		expect(t, look(t, w, "sandbox"), c.want, c.text...)
	}
}

func TestHooksThatCannotStartAreNamed(t *testing.T) {
	t.Parallel()
	w := healthy()
	if r := look(t, w, "hooks"); r.Verdict != doctor.OK || !strings.Contains(r.Text, "no hooks in /home/.openhands/hooks.json") {
		t.Errorf("row = %+v", r)
	}
	some := doctor.Hooks{Level: "full", Path: "/h.json", Count: 2, Programs: "/home/.openhands/hooks"}
	models := doctor.Hooks{Level: "full", Path: "/h.json", Count: 4, Prompts: 2, Agents: 1, Shown: []string{"/h/guard"}}
	with := func(change func(*doctor.Hooks)) doctor.Hooks {
		h := some
		change(&h)
		return h
	}
	problem := doctor.HookProblem{Event: "PreToolUse", Command: "guard", Why: "the sandbox does not show /opt/me/guard", Hidden: true, Allow: "/opt/me", Refuses: true}
	for _, c := range []struct {
		hooks doctor.Hooks
		want  doctor.Verdict
		text  []string
	}{
		{some, doctor.OK, []string{"2 hooks of /h.json", "in the agent's sandbox, which does not show your home directory"}},
		{models, doctor.OK, []string{"4 hooks of /h.json: 1 command in a sandbox that also shows, read-only, /h/guard; 2 questions to the model, without a program; 1 agent with the model, in the agent's sandbox"}},
		{doctor.Hooks{Level: "full", Path: "/h.json", Count: 1, Prompts: 1}, doctor.OK, []string{"1 hook of /h.json: 1 question to the model, without a program"}},
		{with(func(h *doctor.Hooks) { h.Shown = []string{"/a", "/b"} }), doctor.OK, []string{"shows, read-only, /a, /b"}},
		{with(func(h *doctor.Hooks) { h.Level = "off" }), doctor.OK, []string{"run with your rights"}},
		{with(func(h *doctor.Hooks) { h.Level = "external" }), doctor.OK, []string{"where ohgw runs"}},
		{with(func(h *doctor.Hooks) { h.Level = "backend" }), doctor.Skipped, nil},
		{with(func(h *doctor.Hooks) { h.Error = errors.New("line 3") }), doctor.Failed, []string{"no conversation starts", "line 3", "repair /h.json"}},
		{
			with(func(h *doctor.Hooks) { h.Problems = []doctor.HookProblem{problem} }), doctor.Warning,
			[]string{"PreToolUse hook guard cannot start, so it refuses all", "does not show /opt/me/guard", "put it into /home/.openhands/hooks; or: ohgw sandbox allow read /opt/me"},
		},
		{
			with(func(h *doctor.Hooks) {
				h.Problems = []doctor.HookProblem{{Event: "Stop", Command: "x", Why: "it is gone"}}
			}), doctor.Warning,
			[]string{"the Stop hook x cannot do its work", "it is gone", "repair the hook in /h.json"},
		},
		{with(func(h *doctor.Hooks) { h.Problems = slices.Repeat([]doctor.HookProblem{problem}, 7) }), doctor.Warning, []string{"and 2 more problems"}},
	} {
		w.Hooks = func(context.Context) (doctor.Hooks, error) { return c.hooks, nil }
		expect(t, look(t, w, "hooks"), c.want, c.text...)
	}
}

func TestWhatNeedsAFailedCheckIsSkipped(t *testing.T) {
	t.Parallel()
	w := healthy()
	w.Settings = func() (*config.Settings, error) { return nil, errors.New("broken") }
	got := map[string]doctor.Verdict{}
	for _, r := range doctor.Run(t.Context(), w, doctor.Checks(true), nil, nil) {
		got[r.Check] = r.Verdict
	}
	want := map[string]doctor.Verdict{"machine": doctor.OK, "config": doctor.Failed, "paths": doctor.OK}
	for _, name := range []string{"keyring", "profiles", "key", "provider", "port", "backend", "engine", "browser", "agents", "sandbox", "hooks", "daemon", "guard", "live"} {
		want[name] = doctor.Skipped
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := doctor.Worst(doctor.Run(t.Context(), w, doctor.Checks(false), nil, nil)); v != doctor.Failed {
		t.Errorf("worst: %s", v)
	}
}

// Whatever hangs, a person has the report within a second.
func TestSlowThingsDoNotAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := healthy()
		w.Now, w.Built = time.Now, time.Time{}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.KeyStore = func(ctx context.Context) (doctor.KeyStore, error) { return doctor.KeyStore{}, hang(ctx) }
		w.Profiles = func(ctx context.Context) (doctor.Profiles, error) { return doctor.Profiles{}, hang(ctx) }
		w.Backend = func(ctx context.Context) (doctor.Backend, error) { return doctor.Backend{}, hang(ctx) }
		w.Daemon = func(ctx context.Context) (*doctor.Daemon, error) { return nil, hang(ctx) }
		w.Gateway = func(ctx context.Context) (doctor.Gateway, error) { return doctor.Gateway{}, hang(ctx) }
		w.Bind = func(ctx context.Context, _ string) error { return hang(ctx) }
		began := time.Now()
		var waited, reported []string
		results := doctor.Run(t.Context(), w, doctor.Checks(false), func(c doctor.Check) { waited = append(waited, c.Doing) }, func(r doctor.Result) { reported = append(reported, r.Check) })
		for _, r := range results {
			for _, f := range r.Findings {
				if !strings.Contains(f.Text+f.Cause, "no answer within 5 s") && !strings.Contains(f.Text+f.Cause, "no answer within 20 s") {
					t.Errorf("%s does not say how long it waited: %+v", r.Check, f)
				}
			}
		}
		if took := time.Since(began); took >= 21*time.Second {
			t.Errorf("it took %s", took)
		}
		if len(waited) == 0 || !strings.Contains(strings.Join(waited, ","), "opening the key store") {
			t.Errorf("nobody was told what goes on: %v", waited)
		}
		var order []string
		for _, r := range results {
			order = append(order, r.Check)
		}
		if diff := cmp.Diff(order, reported); diff != "" {
			t.Error(diff)
		}
	})
}
