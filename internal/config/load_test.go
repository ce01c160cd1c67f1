package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

// write makes a config file.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = pair[1]
	}
	return func(k string) string { return m[k] }
}

func TestDefaultsNeedNoFile(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.Source{Getenv: env(), File: filepath.Join(t.TempDir(), "none.toml")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got.Config); diff != "" {
		t.Errorf("-default +got:\n%s", diff)
	}
	if got.Found {
		t.Error("a missing file was found")
	}
	for _, f := range config.Fields() {
		if o := got.Origin(f.Key); o.Kind != config.FromDefault || o.String() != "default" {
			t.Errorf("origin of %s = %v", f.Key, o)
		}
	}
}

func TestAgentServersAreOneOrSeveral(t *testing.T) {
	t.Parallel()
	one, two := "http://a0:8000", "dns+http://agents.example:8000"
	for name, tt := range map[string]struct {
		file, variable string
		flags          []string
		want           []string
		value          any
	}{
		"none":            {value: ""},
		"one in the file": {file: `agent_server.url = "http://a0:8000/"`, want: []string{one}, value: one},
		"a list":          {file: `agent_server.url = ["http://a0:8000", "dns+http://agents.example:8000"]`, want: []string{one, two}, value: []string{one, two}},
		"the variable":    {variable: one + "," + two, want: []string{one, two}, value: []string{one, two}},
		"flags":           {variable: two, flags: []string{one, one + "/", two}, want: []string{one, two}, value: []string{one, two}},
		"an empty flag":   {variable: two, flags: []string{""}, value: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			src := config.Source{File: file, Getenv: func(v string) string {
				if v == "OHGW_AGENT_SERVER_URL" {
					return tt.variable
				}
				return ""
			}}
			if tt.flags != nil {
				src.Flags = map[string][]string{"agent-server": tt.flags}
			}
			s, err := config.Load(src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.AgentServer.URLs); diff != "" {
				t.Error(diff)
			}
			for _, f := range config.Fields() {
				if f.Key == "agent_server.url" {
					if diff := cmp.Diff(tt.value, f.Value(s.Config)); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
}

func TestEverySettingCanBeWrittenInTheFile(t *testing.T) {
	t.Parallel()
	path := write(t, `
version = 1
addr = "localhost:0"
backend = "agent-server"
demo = true
confirm = "risky"
key_store = "file"
workspace = "work"
workspace_per = "chat"
no_auth = true
metrics_open = true
native = true
allow_origin = ["https://A.example", "http://b.example:8080"]
state = "postgres://ohgw@db.example/ohgw"
state_file = "state.url"
state_session = "postgres://gateway@direct.example/gateways"
allow_host = ["Gateway.example.org", "[::1]"]
log_format = "json"
max_runs = 3
max_queue = 0
one_shot_ttl = 0
responses_ttl = 0
run_timeout = "1h30m"
stream_text = "answer"
progress = "off"
history = "ignore"
housekeeping = "rule"
titles = "llm"
browser = "chromium/chrome"
browser_tools = true
browser_headed = true
prompt_size = "small"
repetition = "allow"
image_urls = true
drain = "1m"

[chats]
headers = ["X-Room-Id"]
fields = ["metadata.room"]

[agent_server]
slots = 4
url = "https://agents.example:8000/base/"
key_file = "/etc/key"

[cloud]
server = "work"
url = "https://openhands.example.com/"

[agent_server.llm]
profile = "claude"
model = "anthropic/claude-sonnet-4-5"
base_url = "http://localhost:4000/"
key_file = "llm.key"

[limits]
body = "1MiB"
messages = 5
message = 4096
images = 1

[idle]
time = "5m"
conversations = 7
memory = "64MiB"

[sandbox]
mode = "external"
minimum = "full"
on_block = "ask"
git = "open"
strict = true
limits.processes = 9

[sandbox.files]
write = ["out", "~/data"]
read = ["~"]
hide = ["/srv/a"]
protect = ["/srv/b"]

[sandbox.network]
mode = "off"
allow = ["Example.COM.", "*.example.org", "db.example:5432", "@GO"]
deny = ["B\u00fccher.example"]
local = ["5432"]

[sandbox.sockets]
allow = ["docker", "~/s"]

[sandbox.env]
pass = ["NODE_OPTIONS"]

[sandbox.workspace."~/src/app"]
network.allow = ["@github"]

[client]
url = "http://localhost:1234"

[chat]
theme = "light"
notify = false
vim = true
mouse = true
`)
	got, err := config.Load(config.Source{Getenv: env(), File: path, Named: true})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Addr: "localhost:0", Backend: "agent-server", Demo: true, Confirm: "risky",
		AgentServer: config.AgentServer{URLs: []string{"https://agents.example:8000/base"}, Slots: 4, KeyFile: "/etc/key", LLM: config.LLM{
			Profile: "claude", Model: "anthropic/claude-sonnet-4-5", BaseURL: "http://localhost:4000",
			KeyFile: filepath.Join(filepath.Dir(path), "llm.key"), // relative to the file it stands in
		}},
		Cloud:    config.Cloud{Server: "work", URL: "https://openhands.example.com"},
		State:    config.State{URL: "postgres://ohgw@db.example/ohgw", File: filepath.Join(filepath.Dir(path), "state.url"), Session: "postgres://gateway@direct.example/gateways"},
		KeyStore: "file", Workspace: filepath.Join(filepath.Dir(path), "work"), WorkspacePer: "chat",
		NoAuth: true, MetricsOpen: true, Native: true,
		AllowOrigins: []string{"https://a.example", "http://b.example:8080"},
		AllowHosts:   []string{"gateway.example.org", "::1"},
		LogFormat:    "json", MaxRuns: 3, MaxQueue: 0, OneShotTTL: 0, RunTimeout: 90 * time.Minute, Drain: time.Minute,
		StreamText: "answer", Progress: "off", History: "ignore", Housekeeping: "rule", Titles: "llm", Browser: filepath.Join(filepath.Dir(path), "chromium", "chrome"), BrowserTools: true, BrowserHeaded: true, PromptSize: "small", Repetition: "allow", ImageURLs: true,
		ChatHeaders: []string{"X-Room-Id"}, ChatFields: []string{"metadata.room"},
		Limits: config.Limits{Body: 1 << 20, Messages: 5, Message: 4096, Images: 1},
		Idle:   config.Idle{Time: 5 * time.Minute, Max: 7, Memory: 64 << 20},
		Client: config.Client{URL: "http://localhost:1234"},
		Chat:   config.Chat{Theme: "light", Mouse: true, Vim: true},
		Sandbox: config.Sandbox{
			Mode: "external", Minimum: "full", OnBlock: "ask", Git: "open", Strict: true,
			Write: []string{filepath.Join(filepath.Dir(path), "out"), "~/data"}, Read: []string{"~"}, Hide: []string{"/srv/a"}, Protect: []string{"/srv/b"},
			Network: "off", Allow: []string{"example.com", "*.example.org", "db.example:5432", "@go"}, Deny: []string{"xn--bcher-kva.example"},
			Local: []string{"5432"}, Sockets: []string{"docker", "~/s"}, Pass: []string{"NODE_OPTIONS"}, Processes: 9,
		},
		Workspaces: map[string]config.Sandbox{"~/src/app": {Allow: []string{"@github"}}},
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, f := range config.Fields() {
		if o := got.Origin(f.Key); o != (config.Origin{Kind: config.FromFile, Name: path}) {
			t.Errorf("origin of %s = %v: the file of this test does not set it", f.Key, o)
		}
	}
}

func TestTheStrongestSourceWins(t *testing.T) {
	t.Parallel()
	path := write(t, "")
	rapid.Check(t, func(t *rapid.T) {
		flag, variable, file := rapid.Bool().Draw(t, "flag"), rapid.Bool().Draw(t, "env"), rapid.Bool().Draw(t, "file")
		want, origin := "default", config.Origin{Kind: config.FromDefault}
		src := config.Source{File: path, Flags: map[string][]string{}, Getenv: env()}
		text := ""
		if file {
			text, want, origin = `addr = "file:1"`, "file:1", config.Origin{Kind: config.FromFile, Name: path}
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if variable {
			src.Getenv, want, origin = env("OHGW_ADDR", "env:1"), "env:1", config.Origin{Kind: config.FromEnv, Name: "OHGW_ADDR"}
		}
		if flag {
			src.Flags["addr"], want, origin = []string{"flag:1"}, "flag:1", config.Origin{Kind: config.FromFlag, Name: "--addr"}
		}
		if want == "default" {
			want = config.Default().Addr
		}
		got, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		if got.Addr != want || got.Origin("addr") != origin {
			t.Errorf("addr = %q from %v, want %q from %v", got.Addr, got.Origin("addr"), want, origin)
		}
	})
}

func TestAListIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.Source{
		File:   write(t, `allow_host = ["a", "b"]`),
		Getenv: env("OHGW_ALLOW_HOST", " c, ,d "),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "d"}, got.AllowHosts); diff != "" {
		t.Errorf("variable over file, -want +got:\n%s", diff)
	}
	got, err = config.Load(config.Source{
		Flags:  map[string][]string{"allow-host": {"e", "f"}},
		Getenv: env("OHGW_ALLOW_HOST", "c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e", "f"}, got.AllowHosts); diff != "" {
		t.Errorf("flags over variable, -want +got:\n%s", diff)
	}
}

func TestBadValuesAreNamedWithTheirSource(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		flags     map[string][]string
		env       []string
		file      string
		msg, hint string
	}{
		{name: "flag", flags: map[string][]string{"max-runs": {"many"}}, msg: `--max-runs is "many"`, hint: "a whole number of 1 or more"},
		{name: "too small", flags: map[string][]string{"max-runs": {"0"}}, msg: `--max-runs is "0"`, hint: "1 or more"},
		{name: "variable", env: []string{"OHGW_DRAIN", "soon"}, msg: `OHGW_DRAIN is "soon"`, hint: "15m"},
		{name: "negative time", env: []string{"OHGW_DRAIN", "-1s"}, msg: `OHGW_DRAIN is "-1s"`, hint: "15m"},
		{name: "file", file: `stream_text = "all"`, msg: `stream_text in `, hint: "live or answer"},
		{name: "file, weaker than a good flag", flags: map[string][]string{"stream-text": {"live"}}, file: `stream_text = "all"`, msg: `stream_text in `, hint: "live or answer"},
		{name: "type: number", file: `max_runs = "3"`, msg: `max_runs in `, hint: "without quotes"},
		{name: "type: switch", file: `no_auth = "true"`, msg: `no_auth in `, hint: "without quotes"},
		{name: "type: text", file: `addr = 6449`, msg: `addr in `, hint: "in quotes"},
		{name: "type: list", file: `allow_host = "a"`, msg: `allow_host in `, hint: `["a", "b"]`},
		{name: "type: list of something else", file: `allow_host = ["a", 1]`, msg: `allow_host in `, hint: `["a", "b"]`},
		{name: "type: table", file: "[addr]\nx = 1", msg: `unknown key addr.x`, hint: "config show"},
		{name: "switch", env: []string{"OHGW_NO_AUTH", "maybe"}, msg: `OHGW_NO_AUTH is "maybe"`, hint: "true or false"},
		{name: "size", env: []string{"OHGW_MAX_BODY", "32MB"}, msg: `OHGW_MAX_BODY is "32MB"`, hint: "32MiB"},
		{name: "huge size", env: []string{"OHGW_MAX_BODY", "9223372036854775807GiB"}, msg: `OHGW_MAX_BODY is`, hint: "32MiB"},
		{name: "no size at all", env: []string{"OHGW_MAX_BODY", "0"}, msg: `OHGW_MAX_BODY is "0"`, hint: "32MiB"},
		{name: "port alone", flags: map[string][]string{"addr": {"6449"}}, msg: `--addr is "6449"`, hint: "HOST:PORT"},
		{name: "port too high", flags: map[string][]string{"addr": {"localhost:65536"}}, msg: `--addr is`, hint: "HOST:PORT"},
		{name: "a URL as address", flags: map[string][]string{"addr": {"http://localhost:1"}}, msg: `--addr is`, hint: "HOST:PORT"},
		{name: "unknown backend", flags: map[string][]string{"backend": {"x"}}, msg: `--backend is "x"`, hint: "use auto, agent-server, embedded or cloud"},
		{name: "URL without scheme", flags: map[string][]string{"agent-server": {"127.0.0.1:8000"}}, msg: `--agent-server is`, hint: "http://127.0.0.1:8000"},
		{name: "URL of a file", flags: map[string][]string{"agent-server": {"file:///x"}}, msg: `--agent-server is`, hint: "http://127.0.0.1:8000"},
		{name: "URL with query", flags: map[string][]string{"agent-server": {"http://h/?key=1"}}, msg: `--agent-server is`, hint: "without ? and #"},
		{name: "origin with path", flags: map[string][]string{"allow-origin": {"https://a/b"}}, msg: `--allow-origin is`, hint: "one origin"},
		{name: "origin of a file", flags: map[string][]string{"allow-origin": {"file://host"}}, msg: `--allow-origin is`, hint: "one origin"},
		{name: "origin null", flags: map[string][]string{"allow-origin": {"null"}}, msg: `--allow-origin is`, hint: "one origin"},
		{name: "app with a path", flags: map[string][]string{"allow-origin": {"app://a/b"}}, msg: `--allow-origin is`, hint: "app://obsidian.md"},
		{name: "origin as pattern", flags: map[string][]string{"allow-origin": {"*"}}, msg: `--allow-origin is "*"`, hint: "patterns are not supported"},
		{name: "origin with pattern", flags: map[string][]string{"allow-origin": {"https://*.a"}}, msg: `--allow-origin is`, hint: "patterns are not supported"},
		{name: "host with port", flags: map[string][]string{"allow-host": {"a:1"}}, msg: `--allow-host is "a:1"`, hint: "without a port"},
		{name: "password in the state", flags: map[string][]string{"state": {"postgres://u:hunter2@h/db"}}, msg: "--state holds a password", hint: "PGPASSFILE"},
		{name: "password as a parameter of the state", flags: map[string][]string{"state": {"postgres://h/db?password=hunter2"}}, msg: "--state holds a password", hint: "PGPASSFILE"},
		{name: "password in a state that is not a URL", flags: map[string][]string{"state": {"host=h password=hunter2"}}, msg: "--state holds a password", hint: "postgres://user@host/name"},
		{name: "password of the state in the file", file: `state = "postgres://u:hunter2@h/db"`, msg: "holds a password", hint: "state_file"},
		{name: "password of the session in the file", file: `state_session = "postgres://u:hunter2@h/db"`, msg: "holds a password", hint: "OHGW_STATE_SESSION"},
		{name: "home", flags: map[string][]string{"workspace": {"~/work"}}, msg: `--workspace is "~/work"`, hint: "full path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.file)
			_, err := config.Load(config.Source{Flags: tt.flags, Getenv: env(tt.env...), File: path})
			wantFault(t, err, tt.msg, tt.hint)
			if tt.file != "" && !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name the file", err)
			}
		})
	}
}

func wantFault(t *testing.T, err error, msg, hint string) {
	t.Helper()
	f, ok := err.(*fault.Error) //nolint:errorlint // The outermost error is what is printed.
	if !ok {
		t.Fatalf("error = %v, want a fault", err)
	}
	if !strings.Contains(f.Msg, msg) || !strings.Contains(f.Hint, hint) || f.Code != fault.Usage {
		t.Errorf("got %q, hint %q, code %d; want %q, hint %q, code 2", f.Msg, f.Hint, f.Code, msg, hint)
	}
}

func TestPasswordsInURLsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"http://user:hunter2@h", "http://hunter2@h", "user:hunter2@h", "http://user:hunter2@ h/"} {
		_, err := config.Load(config.Source{Getenv: env("OHGW_AGENT_SERVER_URL", u)})
		wantFault(t, err, "OHGW_AGENT_SERVER_URL holds a password", "remove the user name")
		if f, _ := err.(*fault.Error); strings.Contains(f.Error()+f.Hint, "hunter2") { //nolint:errorlint // As above.
			t.Errorf("%q: the error says the password: %v", u, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, msg, hint string }{
		{"half written", "addr = \"127.0.0.1:6449\"\nmax_runs =", "not valid at line 2", "correct it"},
		{"cut in a string", "addr = \"127.0", "not valid at line 1", "correct it"},
		{"zeros of a crashed machine", "\x00\x00\x00\x00", "not valid at line 1", "correct it"},
		{"a key twice", "addr = \"a:1\"\naddr = \"b:1\"", "not valid at line 2", "correct it"},
		{"newer", "version = 2\nfuture = true", "written for a newer ohgw (its version is 2, this one knows 1)", "upgrade"},
		{"no version", "version = \"x\"", "version x, which is not valid", "version = 1"},
		{"mistyped key", "adr = \"a:1\"", "unknown key adr in", "did you mean addr?"},
		{"mistyped key in a table", "[agent_server]\nurls = \"http://h\"", "unknown key agent_server.urls", "did you mean agent_server.url?"},
		{"mistyped table", "[agent-server]\nurl = \"http://h\"", "unknown key agent-server.url", "did you mean agent_server.url?"},
		{"name of the flag", "max_body = 1", "unknown key max_body", "did you mean limits.body?"},
		{"two", "zz = 1\naddrr = \"a:1\"", "unknown keys addrr, zz in", "did you mean addr? ohgw config show"},
		{"a key in the clear", "[agent_server]\nkey = \"sk-1234567890abcdef\"", "unknown key agent_server.key", "did you mean agent_server.key_file?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.file)
			_, err := config.Load(config.Source{Getenv: env(), File: path})
			wantFault(t, err, tt.msg, tt.hint)
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name the file", err)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := config.Load(config.Source{Getenv: env(), File: dir})
	wantFault(t, err, "cannot read the config file "+dir, "make the file readable")
	missing := filepath.Join(dir, "none")
	_, err = config.Load(config.Source{Getenv: env(), File: missing, Named: true})
	wantFault(t, err, "cannot read the config file "+missing, "create the file")
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("addr = \"127.0.0.1:1\"\n[limits]\nbody = \"1MiB\""))
	f.Add([]byte("allow_host = [\"a\"]\nmax_runs = 1e3"))
	f.Add([]byte("version = 2"))
	f.Add([]byte("[sandbox.workspace.\"~/a\"]\nnetwork.allow = [\"@go\"]\nfiles = {write = [\"~\"]}"))
	f.Add([]byte("\xef\xbb\xbfaddr = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Source{Getenv: env(), File: path})
		if err != nil {
			wantFault(t, err, "", "")
			return
		}
		// What was taken can be given back as flags.
		flags := map[string][]string{}
		for _, field := range config.Fields() {
			if v := field.Text(s.Config); field.Flag != "" && v != "" && field.Section != config.SandboxSection {
				flags[field.Flag] = []string{v}
				if field.Repeats() {
					flags[field.Flag] = strings.Split(v, ",")
				}
			}
		}
		again, err := config.Load(config.Source{Getenv: env(), Flags: flags})
		if err != nil {
			t.Fatalf("the flags %v of an accepted file are refused: %v", flags, err)
		}
		again.AgentServer.KeyFile, again.AgentServer.LLM = s.AgentServer.KeyFile, s.AgentServer.LLM // have no flags
		again.Sandbox, again.Workspaces = s.Sandbox, s.Workspaces                                   // flags add to these
		if diff := cmp.Diff(s.Config, again.Config, cmp.FilterValues(bothEmpty, cmp.Ignore())); diff != "" {
			t.Errorf("-file +flags:\n%s", diff)
		}
	})
}

func bothEmpty(a, b []string) bool { return len(a) == 0 && len(b) == 0 }

func TestFieldsNameEachSettingOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, f := range config.Fields() {
		for _, name := range []string{f.Flag, f.Env, f.Key} {
			if name != "" {
				seen["--"+name]++
			}
		}
		if f.Key == "" || f.Help == "" || f.Section == "" || strings.HasSuffix(f.Help, ".") {
			t.Errorf("field %+v is not whole", f)
		}
		if (f.Placeholder() == "") != f.Switch() {
			t.Errorf("help of %s: placeholder %q", f.Key, f.Placeholder())
		}
		if !strings.HasPrefix(f.Env, "OHGW_") {
			t.Errorf("the variable of %s is %q", f.Key, f.Env)
		}
	}
	// A flag may have the name of its key: addr and addr.
	maps.DeleteFunc(seen, func(_ string, n int) bool { return n <= 2 })
	if len(seen) > 0 {
		t.Errorf("names of several settings: %v", seen)
	}
}

func TestTextAndValue(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.AllowHosts = []string{"a", "b"}
	tests := []struct {
		key, text string
		value     any
	}{
		{"addr", "127.0.0.1:6449", "127.0.0.1:6449"},
		{"no_auth", "false", false},
		{"max_runs", "8", 8},
		{"one_shot_ttl", "15m", "15m"},
		{"run_timeout", "0", "0"},
		{"limits.body", "32MiB", "32MiB"},
		{"allow_host", "a,b", []string{"a", "b"}},
		{"allow_origin", "", []string{}},
	}
	for _, tt := range tests {
		for _, f := range config.Fields() {
			if f.Key != tt.key {
				continue
			}
			if got := f.Text(c); got != tt.text {
				t.Errorf("Text of %s = %q, want %q", tt.key, got, tt.text)
			}
			if diff := cmp.Diff(tt.value, f.Value(c)); diff != "" {
				t.Errorf("Value of %s, -want +got:\n%s", tt.key, diff)
			}
		}
	}
}

func TestSizeText(t *testing.T) {
	t.Parallel()
	for size, want := range map[config.Size]string{
		0: "0", 1: "1B", 1023: "1023B", 1024: "1KiB", 1536: "1536B", 1 << 20: "1MiB", 3 << 30: "3GiB", 1<<20 + 1: "1048577B",
	} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) = %q, want %q", size, got, want)
		}
	}
}
