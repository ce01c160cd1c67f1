package sandboxes

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// boxedHome is a home directory with what the tests name, and an Env for it.
func boxedHome(t *testing.T) (string, *setup.Env) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sandbox on Windows")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"data", "notes/old", "src/app", ".openhands/profiles", ".config/ohgw", ".local/state/ohgw/workspaces", "run/ohgw"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range [][2]string{{"data", "link"}, {".openhands", "hands"}, {"/", "root"}} {
		if err := os.Symlink(link[0], filepath.Join(home, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := setuptest.New(t, nil)
	env.Paths = func() (paths.Set, error) {
		return paths.Set{
			Home: home, Config: filepath.Join(home, ".config/ohgw"), State: filepath.Join(home, ".local/state/ohgw"), Runtime: filepath.Join(home, "run/ohgw"),
		}, nil
	}
	return home, env
}

// loadSandbox reads settings from a config file in its usual place.
func loadSandbox(t *testing.T, home, text string, flags map[string][]string) *config.Settings {
	t.Helper()
	file := filepath.Join(home, ".config/ohgw/config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(config.Source{File: file, Flags: flags, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSandboxSettings(t *testing.T) {
	t.Parallel()
	home, env := boxedHome(t)
	at := func(name string) string { return filepath.Join(home, name) }
	ln, err := net.Listen("unix", at("s")) // a short path: Unix sockets have at most 104 bytes
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	s := loadSandbox(t, home, `
[sandbox]
minimum = "full"
on_block = "ask"
[sandbox.files]
write = ["~/link/", "~/data"]
read = ["~/notes"]
hide = ["../../notes/old"]
protect = ["~/src/app"]
[sandbox.network]
allow = ["Bücher.example", "*.example.org", "db.example:5432"]
deny = ["10.0.0.1"]
local = ["5432"]
[sandbox.sockets]
allow = ["docker", "~/s"]
[sandbox.env]
pass = ["NODE_OPTIONS"]
[sandbox.workspace."~/src/app"]
on_block = "silent"
git = "open"
network.mode = "off"
network.allow = ["api.example.com"]
files.write = ["~/notes"]
limits.processes = 9
`, map[string][]string{"sandbox-write": {at("src")}, "sandbox-net": {"@go"}, "sandbox-socket": {"ssh-agent"}})
	got, err := sandboxSettings(env, s)
	if err != nil {
		t.Fatal(err)
	}
	want := manager.Settings{
		Mode: manager.On, Minimum: sandbox.Full, OnBlock: manager.Ask,
		Write: []string{at("data"), at("src")}, Read: []string{at("notes")}, Hide: []string{at("notes/old")}, Protect: []string{at("src/app")},
		Network: manager.AllowList, Allow: []string{"xn--bcher-kva.example", "*.example.org", "db.example:5432", "@go"},
		Deny: []string{"10.0.0.1"}, Local: []string{"5432"},
		Sockets: []string{"docker", at("s"), "ssh-agent"}, Pass: []string{"NODE_OPTIONS"}, Processes: 4096,
		For: map[string]manager.Settings{at("src/app"): {
			OnBlock: manager.Silent, GitOpen: true, Network: manager.NoNetwork, Allow: []string{"api.example.com"}, Write: []string{at("notes")}, Processes: 9,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSandboxSettingsWithoutAnythingSet(t *testing.T) {
	t.Parallel()
	home, env := boxedHome(t)
	got, err := sandboxSettings(env, loadSandbox(t, home, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	want := manager.Settings{
		Mode: manager.On, Minimum: sandbox.Reduced, OnBlock: manager.Report, Network: manager.AllowList, Allow: []string{"@packages"}, Processes: 4096,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSandboxSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	files := func(line string) string { return "[sandbox.files]\n" + line }
	network := func(line string) string { return "[sandbox.network]\n" + line }
	tests := []struct {
		name, file string
		flags      map[string][]string
		msg, hint  string
	}{
		{"everything", files(`write = ["/"]`), nil, `sandbox.files.write in HOME/.config/ohgw/config.toml: the root directory`, "name the directories"},
		{"everything by a link", files(`write = ["~/root"]`), nil, `the root directory would open everything`, "name the directories"},
		{"everything by dots", "", map[string][]string{"sandbox-write": {"/usr/../"}}, `--sandbox-write: the root directory`, "name the directories"},
		{"the home directory", files(`write = ["~"]`), nil, `sandbox.files.write in HOME/.config/ohgw/config.toml: HOME is your home directory`, "the directories in it"},
		{"the home directory by its path", "", map[string][]string{"sandbox-write": {"HOME/data/.."}}, `--sandbox-write: HOME is your home directory`, "the directories in it"},
		{"around the home directory", "", map[string][]string{"sandbox-write": {"HOME/.."}}, `contains your home directory`, "the directories in it"},
		{"the home directory to read", files(`read = ["~"]`), nil, `sandbox.files.read in HOME/.config/ohgw/config.toml: HOME is your home`, "the directories in it"},
		{"the root to read", "", map[string][]string{"sandbox-read": {"/"}}, `--sandbox-read: the root directory`, "name the directories"},
		{"the root to hide", files(`hide = ["/"]`), nil, `sandbox.files.hide in HOME/.config/ohgw/config.toml: the root directory is everything`, "single directories"},
		{"the config directory", files(`write = ["~/.config/ohgw"]`), nil, `because HOME/.config/ohgw belongs to ohgw`, ""},
		{"around the config directory", files(`write = ["~/.config"]`), nil, `because HOME/.config/ohgw belongs to ohgw`, ""},
		{"in the state directory", files(`write = ["~/.local/state/ohgw/workspaces"]`), nil, `because HOME/.local/state/ohgw belongs to ohgw`, ""},
		{"around the state directory", files(`read = ["~/.local"]`), nil, `because HOME/.local/state/ohgw belongs to ohgw`, ""},
		{"around the runtime directory", files(`write = ["~/run"]`), nil, `because HOME/run/ohgw belongs to ohgw`, ""},
		{"OpenHands' directory", files(`read = ["~/.openhands/profiles"]`), nil, `because HOME/.openhands belongs to`, ""},
		{"OpenHands' directory by a link", files(`write = ["~/hands"]`), nil, `because HOME/.openhands belongs to`, ""},
		{"the system", files(`write = ["/usr/lib"]`), nil, `belongs to the system and cannot be writable`, "a directory of yours"},
		{"a tree of everybody", files(`write = ["/var"]`), nil, `/var`, ""},
		{"what is alive", files(`read = ["/dev"]`), nil, `it has devices, processes or sockets`, "socket"},
		{"mistyped", files(`read = ["~/note"]`), nil, `sandbox.files.read in HOME/.config/ohgw/config.toml: HOME/note does not exist`, `did you mean HOME/notes?`},
		{"mistyped in the middle", files(`protect = ["~/note/old"]`), nil, `HOME/note/old does not exist`, `did you mean HOME/notes?`},
		{"not there at all", "", map[string][]string{"sandbox-read": {"HOME/zzzzzz"}}, `--sandbox-read: HOME/zzzzzz does not exist`, "HOME exists"},
		{"a socket that is a file", "", map[string][]string{"sandbox-socket": {"HOME/file"}}, `--sandbox-socket: HOME/file is not a socket`, ""},
		{"a private address", network(`allow = ["192.168.0.1"]`), nil, `sandbox.network.allow in HOME/.config/ohgw/config.toml`, "never dialled"},
		{"this machine's metadata", "", map[string][]string{"sandbox-net": {"169.254.169.254"}}, `--sandbox-net`, "never dialled"},
		{"ohgw's usual port", network(`local = ["6449"]`), nil, `sandbox.network.local in`, "port 6449 is used by ohgw itself"},
		{"ohgw's own port", "addr = \"127.0.0.1:7001\"\n" + network(`local = ["7001"]`), nil, `sandbox.network.local in`, "port 7001 is used by ohgw itself"},
		{"a preset that leaks, strictly", "sandbox.strict = true\nsandbox.network.allow = [\"@node\"]", nil, `has @node, which sandbox.strict refuses: packages are published`, "single hosts"},
		{"a flag that leaks, strictly", "sandbox.strict = true", map[string][]string{"sandbox-net": {"@github"}}, `--sandbox-net has @github, which sandbox.strict refuses`, "single hosts"},
		{"all hosts, strictly", "sandbox.strict = true", map[string][]string{"sandbox-net": {"open"}}, `--sandbox-net is "open", and sandbox.strict is true`, "allow-list"},
		{"a strict workspace", "[sandbox.workspace.\"~/src/app\"]\nstrict = true\nnetwork.allow = [\"@go\"]", nil, `sandbox.workspace."~/src/app".network.allow in HOME/.config/ohgw/config.toml has @go`, "single hosts"},
		{"a workspace that is strict alone", "[sandbox.workspace.\"~/src/app\"]\nstrict = true", map[string][]string{"sandbox-net": {"@go"}}, `--sandbox-net has @go, which sandbox.strict refuses`, "single hosts"},
		{"a workspace that is not there", "[sandbox.workspace.\"~/src/ap\"]", nil, `sandbox.workspace."~/src/ap" in HOME/.config/ohgw/config.toml: HOME/src/ap does not exist`, `did you mean HOME/src/app?`},
		{"a workspace twice", "[sandbox.workspace.\"~/data\"]\n[sandbox.workspace.\"~/link\"]", nil, `are the same directory`, "one table"},
		{"the home directory for a workspace", "[sandbox.workspace.\"~/src/app\"]\nfiles.write = [\"~\"]", nil, `sandbox.workspace."~/src/app".files.write in HOME/.config/ohgw/config.toml: HOME is your home`, "the directories in it"},
		{"a guard for one workspace", "sandbox.git = \"open\"\n[sandbox.workspace.\"~/src/app\"]\ngit = \"guarded\"", nil, `"guarded", and sandbox.git is "open"`, `"open" for single workspaces`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home, env := boxedHome(t)
			for _, texts := range tt.flags {
				for i := range texts {
					texts[i] = strings.ReplaceAll(texts[i], "HOME", home)
				}
			}
			_, err := sandboxSettings(env, loadSandbox(t, home, tt.file, tt.flags))
			f, ok := err.(*fault.Error) //nolint:errorlint // The outermost error is what is printed.
			if !ok {
				t.Fatalf("error = %v, want a fault", err)
			}
			msg, hint := strings.ReplaceAll(tt.msg, "HOME", home), strings.ReplaceAll(tt.hint, "HOME", home)
			if !strings.HasPrefix(f.Msg, "invalid setting: ") || !strings.Contains(f.Msg, msg) || !strings.Contains(f.Hint, hint) || f.Code != fault.Usage {
				t.Errorf("got %q, hint %q, code %d\nwant %q, hint %q, code 2", f.Msg, f.Hint, f.Code, msg, hint)
			}
		})
	}
}

// ohgw's directories may be made after the settings were read.
func TestSandboxSettingsKnowDirectoriesThatAreMadeLater(t *testing.T) {
	t.Parallel()
	home, env := boxedHome(t)
	dirs, err := env.Paths()
	if err != nil {
		t.Fatal(err)
	}
	dirs.State = filepath.Join(home, "link/later/ohgw")
	env.Paths = func() (paths.Set, error) { return dirs, nil }
	_, err = sandboxSettings(env, loadSandbox(t, home, "sandbox.files.write = [\"~/data\"]", nil))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(home, "data/later/ohgw")+" belongs to ohgw") {
		t.Errorf("error = %v: the agent could write where ohgw's state will be", err)
	}
}
