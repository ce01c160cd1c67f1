package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestSandboxFlagsAddToTheirLists(t *testing.T) {
	t.Parallel()
	path := write(t, "[sandbox]\nfiles.write = [\"/srv/a\"]\nfiles.read = [\"/srv/b\"]\nsockets.allow = [\"docker\"]")
	got, err := config.Load(config.Source{
		File: path, Getenv: env("OHGW_SANDBOX_READ", "/srv/c,~/d"),
		Flags: map[string][]string{
			"sandbox": {"external"}, "sandbox-require": {"full"}, "sandbox-write": {"/srv/e", "/srv/a/"}, "sandbox-read": {"~/f"},
			"sandbox-net": {"Example.com", "@github"}, "sandbox-socket": {"ssh-agent"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default().Sandbox
	want.Mode, want.Minimum = "external", "full"
	want.Write, want.Read = []string{"/srv/a", "/srv/e"}, []string{"/srv/c", "~/d", "~/f"}
	want.Allow, want.Sockets = []string{"@packages", "example.com", "@github"}, []string{"docker", "ssh-agent"}
	if diff := cmp.Diff(want, got.Sandbox); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, tt := range []struct{ key, item, want string }{
		{"sandbox.files.write", "/srv/e", "--sandbox-write"},
		{"sandbox.files.read", "/srv/c", "OHGW_SANDBOX_READ"},
		{"sandbox.files.read", "~/f", "--sandbox-read"},
		{"sandbox.sockets.allow", "docker", "sandbox.sockets.allow in " + path},
		{"sandbox.network.allow", "@packages", "sandbox.network.allow"},
		{"sandbox.mode", "", "--sandbox"},
	} {
		if got := got.SourceOf(tt.key, tt.item); got != tt.want {
			t.Errorf("%s of %s is from %q, want %q", tt.item, tt.key, got, tt.want)
		}
	}
}

// The list of one load is not that of the next.
func TestSandboxFlagsDoNotChangeTheDefault(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"a.example", "b.example"} {
		got, err := config.Load(config.Source{Getenv: env(), Flags: map[string][]string{"sandbox-net": {host}}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"@packages", host}, got.Sandbox.Allow); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestTheNetworkFlagSetsTheMode(t *testing.T) {
	t.Parallel()
	for mode, file := range map[string]string{"off": "open", "open": "off"} {
		path := write(t, `sandbox.network.mode = "`+file+`"`)
		got, err := config.Load(config.Source{File: path, Getenv: env(), Flags: map[string][]string{"sandbox-net": {mode, mode}}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Sandbox.Network != mode || got.SourceOf("sandbox.network.mode", "") != "--sandbox-net" {
			t.Errorf("the mode is %q from %s, want %s", got.Sandbox.Network, got.SourceOf("sandbox.network.mode", ""), mode)
		}
		if diff := cmp.Diff([]string{"@packages"}, got.Sandbox.Allow); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestBadSandboxValues(t *testing.T) {
	t.Parallel()
	net := func(texts ...string) map[string][]string { return map[string][]string{"sandbox-net": texts} }
	tests := []struct {
		name      string
		flags     map[string][]string
		env       []string
		file      string
		msg, hint string
	}{
		{name: "mode", flags: map[string][]string{"sandbox": {"none"}}, msg: `--sandbox is "none"`, hint: "use on, external or off"},
		{name: "level", flags: map[string][]string{"sandbox-require": {"off"}}, msg: `--sandbox-require is "off"`, hint: "full or reduced"},
		{name: "git", file: `sandbox.git = "watched"`, msg: "sandbox.git in", hint: "guarded or open"},
		{name: "home does not exist", file: `sandbox.home = "copy"`, msg: "unknown key sandbox.home in", hint: "config show"},
		{name: "no processes", env: []string{"OHGW_SANDBOX_PROCESSES", "0"}, msg: "OHGW_SANDBOX_PROCESSES", hint: "1 or more"},
		{name: "one host", file: `sandbox.network.allow = "a.example"`, msg: "sandbox.network.allow in", hint: `["a", "b"]`},

		{name: "everything", flags: net("*"), msg: "--sandbox-net", hint: "write each host"},
		{name: "a URL", flags: net("https://a.example/x?key=hunter2"), msg: "--sandbox-net", hint: `write its host, "a.example"`},
		{name: "credentials", flags: net("user:hunter2@a.example"), msg: "--sandbox-net", hint: "without USER:PASSWORD@"},
		{name: "localhost", flags: net("localhost"), msg: "--sandbox-net", hint: "this machine, which is never dialled"},
		{name: "localhost with a dot", flags: net("LOCALHOST."), msg: "--sandbox-net", hint: "this machine"},
		{name: "below localhost", flags: net("a.localhost"), msg: "--sandbox-net", hint: "this machine"},
		{name: "localhost as a number", flags: net("2130706433"), msg: "--sandbox-net", hint: "127.0.0.1"},
		{name: "localhost in hexadecimal", flags: net("0x7f.1"), msg: "--sandbox-net", hint: "127.0.0.1"},
		{name: "localhost in octal", flags: net("0177.0.0.1"), msg: "--sandbox-net", hint: "127.0.0.1"},
		{name: "localhost with a port", flags: net("localhost:80"), msg: "--sandbox-net", hint: "this machine"},
		{name: "localhost in other letters", flags: net("ⓛocalhost"), msg: "--sandbox-net", hint: "this machine"},
		{name: "an empty part", flags: net("a..example"), msg: "--sandbox-net", hint: "an empty part"},
		{name: "a port that is none", flags: net("a.example:0"), msg: "--sandbox-net", hint: "1 to 65535"},
		{name: "a top-level domain", flags: net("*.com"), msg: "--sandbox-net", hint: "top-level domain"},
		{name: "a mistyped preset", flags: net("@pyton"), msg: "--sandbox-net", hint: "did you mean @python?"},
		{name: "a mode in the list", file: `sandbox.network.allow = ["off"]`, msg: "sandbox.network.allow in", hint: "sandbox.network.mode"},
		{name: "off and a host", flags: net("off", "a.example"), msg: "--sandbox-net off excludes all hosts", hint: "or the others"},
		{name: "off and open", flags: net("open", "off"), msg: "--sandbox-net off excludes all hosts", hint: "or the others"},
		{name: "a host without a network", flags: net("a.example"), env: []string{"OHGW_SANDBOX_NETWORK_MODE", "off"}, msg: "--sandbox-net a.example has no effect: OHGW_SANDBOX_NETWORK_MODE is off", hint: "allow-list"},
		{name: "denied URL", file: `sandbox.network.deny = ["http://a.example"]`, msg: "sandbox.network.deny in", hint: "a.example"},
		{name: "local name", file: `sandbox.network.local = ["postgres"]`, msg: "sandbox.network.local in", hint: `such as "5432"`},
		{name: "local port with a sign", file: `sandbox.network.local = ["+5432"]`, msg: "sandbox.network.local in", hint: "1 to 65535"},
		{name: "local number", file: `sandbox.network.local = [5432]`, msg: "sandbox.network.local in", hint: `["a", "b"]`},

		{name: "no path", flags: map[string][]string{"sandbox-write": {""}}, msg: "--sandbox-write", hint: "is not a path"},
		{name: "another home", flags: map[string][]string{"sandbox-read": {"~root/x"}}, msg: "--sandbox-read", hint: "only ~/ is expanded"},
		{name: "mistyped socket", flags: map[string][]string{"sandbox-socket": {"dokcer"}}, msg: "--sandbox-socket", hint: "did you mean docker?"},
		{name: "relative socket", flags: map[string][]string{"sandbox-socket": {"s.sock"}}, msg: "--sandbox-socket", hint: "the full path of a socket"},
		{name: "a variable with its value", file: `sandbox.env.pass = ["TOKEN=hunter2"]`, msg: "sandbox.env.pass in", hint: "the name of the variable alone"},
		{name: "not a variable", file: `sandbox.env.pass = ["1X"]`, msg: "sandbox.env.pass in", hint: "NODE_OPTIONS"},
		{name: "no variable", file: `sandbox.env.pass = [""]`, msg: "sandbox.env.pass in", hint: "NODE_OPTIONS"},
		{name: "a key of ohgw", env: []string{"OHGW_SANDBOX_PASS", "OH_SECRET_KEY"}, msg: "OHGW_SANDBOX_PASS", hint: "can have their keys"},

		{name: "mistyped", file: "[sandbox.netwrok]\nallow = []", msg: "unknown key sandbox.netwrok.allow", hint: "did you mean sandbox.network.allow?"},
		{name: "name of the flag", file: "sandbox_write = []", msg: "unknown key sandbox_write", hint: "did you mean sandbox.files.write?"},
		{name: "mistyped in a workspace", file: "[sandbox.workspace.\"/a\"]\nnetwork.alow = []", msg: `unknown key sandbox.workspace."/a".network.alow in`, hint: "did you mean network.allow?"},
		{name: "another table in a workspace", file: "[sandbox.workspace.\"/a\"]\naddr = \"a:1\"", msg: `unknown key sandbox.workspace."/a".addr in`, hint: "config show"},
		{name: "bad value in a workspace", file: "[sandbox.workspace.\"/a\"]\nnetwork.allow = [\"localhost\"]", msg: `sandbox.workspace."/a".network.allow in`, hint: "this machine"},
		{name: "a mode for a workspace", file: "[sandbox.workspace.\"/a\"]\nmode = \"off\"", msg: `sandbox.workspace."/a".mode in`, hint: "the same for all workspaces: set sandbox.mode"},
		{name: "a level for a workspace", file: "[sandbox.workspace.\"/a\"]\nminimum = \"full\"", msg: `sandbox.workspace."/a".minimum in`, hint: "set sandbox.minimum"},
		{name: "a workspace without a path", file: "[sandbox.workspace]\nnetwork.allow = []", msg: "sandbox.workspace.network in", hint: `[sandbox.workspace."~/src/app"]`},
		{name: "a relative workspace", file: "[sandbox.workspace.\"src/app\"]\nmode = \"on\"", msg: "sandbox.workspace.src/app in", hint: "absolute or with ~/"},
		{name: "a workspace that is no table", file: "sandbox.workspace = \"/a\"", msg: "sandbox.workspace in", hint: `[sandbox.workspace."~/src/app"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Source{Flags: tt.flags, Getenv: env(tt.env...), File: write(t, tt.file)})
			wantFault(t, err, tt.msg, tt.hint)
			if f, ok := errors.AsType[*fault.Error](err); ok && strings.Contains(f.Error()+f.Hint, "hunter2") {
				t.Errorf("the error says the password: %v", err)
			}
		})
	}
}

func TestSettingsOfWorkspaces(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.Source{Getenv: env(), File: write(t, `
[sandbox.workspace."~/b"]
on_block = "ask"
files.write = ["/srv/x", "~/y"]
[sandbox.workspace."/a"]
strict = true
limits = { processes = 7 }
[sandbox.workspace."/empty"]
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]config.Sandbox{
		"~/b": {OnBlock: "ask", Write: []string{"/srv/x", "~/y"}}, "/a": {Strict: true, Processes: 7}, "/empty": {},
	}
	if diff := cmp.Diff(want, got.Workspaces); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var shown []string
	for _, f := range got.WorkspaceFields() {
		shown = append(shown, f.Name()+" "+f.Text(f.In(got)))
	}
	wantShown := []string{
		`sandbox.workspace."/a".strict true`, `sandbox.workspace."/a".limits.processes 7`,
		`sandbox.workspace."~/b".on_block ask`, `sandbox.workspace."~/b".files.write /srv/x,~/y`,
	}
	if diff := cmp.Diff(wantShown, shown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
