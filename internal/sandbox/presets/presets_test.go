package presets_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a machine with tools that only print.
type machine struct {
	home, bin, root string
	env             map[string]string
	says            map[string]string // "npm config list" to its output

	mu    sync.Mutex
	asked []string
}

func newMachine(t *testing.T, says map[string]string) *machine {
	t.Helper()
	m := &machine{home: t.TempDir(), bin: t.TempDir(), root: t.TempDir(), says: says}
	m.env = map[string]string{"PATH": m.bin}
	return m
}

// install makes programs that are found, and never run.
func (m *machine) install(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		write(t, filepath.Join(m.bin, name), "")
		if err := os.Chmod(filepath.Join(m.bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) run(_ context.Context, _ string, _, args []string) ([]byte, error) {
	line := strings.Join(append([]string{strings.TrimSuffix(filepath.Base(args[0]), ".exe")}, args[1:]...), " ")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, line)
	for prefix, out := range m.says {
		if strings.HasPrefix(line, prefix) {
			if out == "exit 1" {
				return nil, &sandbox.ExitError{Code: 1}
			}
			return []byte(strings.ReplaceAll(out, "HOME", m.home)), nil
		}
	}
	return nil, errors.New("exit status 1")
}

func (m *machine) asker(t *testing.T) *presets.Asker {
	t.Helper()
	a := presets.New(presets.Config{
		Getenv: func(name string) string { return m.env[name] }, Home: m.home, Dir: t.TempDir(), Root: m.root, Run: m.run,
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			if strings.HasSuffix(name, ".corp") {
				return []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("::ffff:10.1.2.4")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
	})
	t.Cleanup(a.Close)
	return a
}

// text is what was found, a line each.
func text(found presets.Found) []string {
	var lines []string
	for _, e := range found.Entries {
		line := e.String() + " from " + e.From
		for _, addr := range e.Only {
			line += " at " + addr.String()
		}
		lines = append(lines, line)
	}
	lines = append(lines, found.Env...)
	for _, err := range found.Problems {
		lines = append(lines, "problem: "+err.Error())
	}
	return lines
}

const settingsXML = `<settings><mirrors><mirror><url>http://me:hunter2@nexus.corp:8081/maven</url><mirrorOf>*,!local</mirrorOf></mirror></mirrors>
<profiles><profile><repositories><repository><url>https://repo.example/m2</url></repository></repositories></profile></profiles></settings>`

const cargoMirror = `[source.crates-io]
replace-with = "mine"
[source.mine]
registry = "sparse+https://mirror.example/index/"
[registries.work]
index = "sparse+https://crates.corp:8443/index/"
[registry]
token = "hunter2"`

func TestToolsAreAskedForTheirHosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, preset string
		tools        []string
		files        map[string]string
		says         map[string]string
		want         []string
	}{
		{
			"go as it is installed", "go",
			[]string{"go"},
			nil,
			map[string]string{"go env -json GOPROXY GOSUMDB": `{"GOPROXY":"https://proxy.example,direct","GOSUMDB":"sum.example"}`},
			[]string{"proxy.example:443 from @go, GOPROXY", "sum.example:443 from @go, GOSUMDB", "GOPROXY=https://proxy.example,direct", "GOSUMDB=sum.example"},
		},
		{
			"go with a mirror on loopback, and a password", "go",
			[]string{"go"},
			nil,
			map[string]string{"go env": `{"GOPROXY":"http://me:hunter2@localhost:3000|off","GOSUMDB":"sum.golang.org+abc https://db.corp/sum"}`},
			[]string{
				"127.0.0.1:3000 from @go, GOPROXY at 127.0.0.1", "db.corp:443 from @go, GOSUMDB at 10.1.2.3 at 10.1.2.4",
				"GOPROXY=http://localhost:3000,off", "GOSUMDB=sum.golang.org+abc https://db.corp/sum",
			},
		},
		{"go without proxies", "go", []string{"go"}, nil, map[string]string{"go env": `{"GOPROXY":"direct","GOSUMDB":"off"}`}, []string{"GOPROXY=direct"}},
		{"go is broken", "go", []string{"go"}, nil, nil, []string{"problem: @go: ask go env -json GOPROXY GOSUMDB: exit status 1"}},
		{"no go", "go", nil, nil, nil, nil},
		{
			"npm with a scope", "node",
			[]string{"npm"},
			nil,
			map[string]string{"npm config list --json --location=global": "npm warn x\n" + `{"registry":"https://npm.example/","@work:registry":"https://npm.corp/","fund":true,"//npm.corp/:_authToken":"(protected)"}`},
			[]string{"npm.corp:443 from @node, npm's @work:registry at 10.1.2.3 at 10.1.2.4", "npm.example:443 from @node, npm's registry", "NPM_CONFIG_REGISTRY=https://npm.example/"},
		},
		{"npm says nothing useful", "node", []string{"npm"}, nil, map[string]string{"npm": "{"}, []string{"problem: @node: ask npm config list: unexpected end of JSON input"}},
		{
			"pip as it is installed", "python",
			[]string{"pip3"},
			map[string]string{"pip/_internal/models/index.py": "PyPI = PackageIndex(\"https://index.example/\", file_storage_domain=\"files.example\")\n" +
				"TestPyPI = PackageIndex(  # type: ignore\n    \"https://test.example/\", file_storage_domain=\"test-files.example\"\n)\n"},
			map[string]string{
				"pip3 config list": "global.cert='/x'\n", "pip3 --version": "pip 23.2.1 from HOME/pip (python 3.11)\n",
			},
			[]string{"index.example:443 from @python, pip's index-url", "files.example:443 from @python, built in", "PIP_INDEX_URL=https://index.example/simple", "UV_DEFAULT_INDEX=https://index.example/simple"},
		},
		{
			"pip with a mirror", "python",
			[]string{"python3"},
			map[string]string{".config/uv/uv.toml": "index-url = \"https://uv.example/simple\"\n[[index]]\nurl = \"https://more.example/\"\n"},
			map[string]string{
				"python3 -c": "pip 23.2.1 from /nowhere/pip (python)\nglobal.index-url='https://me:hunter2@pip.corp/simple'\nglobal.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'\n:env:.find-links='/opt/wheels'\n",
			},
			[]string{
				"pip.corp:443 from @python, pip's index-url at 10.1.2.3 at 10.1.2.4", "a.example:443 from @python, pip's extra-index-url",
				"b.example:443 from @python, pip's extra-index-url", "more.example:443 from @python, uv.toml", "uv.example:443 from @python, uv.toml",
				"PIP_INDEX_URL=https://pip.corp/simple", "UV_DEFAULT_INDEX=https://pip.corp/simple", "PIP_EXTRA_INDEX_URL=https://a.example/simple https://b.example/simple",
			},
		},
		{
			"pip of one section before another", "python",
			[]string{"pip3", "python3"},
			nil,
			map[string]string{"python3 -c": "pip 26.1 from /nowhere/pip (python)\n:env:.timeout='5'\nglobal.index-url='https://global.example/simple'\ninstall.index-url='https://install.example/simple'\n"},
			[]string{
				"install.example:443 from @python, pip's index-url", "global.example:443 from @python, pip's index-url",
				"PIP_INDEX_URL=https://install.example/simple", "UV_DEFAULT_INDEX=https://install.example/simple",
			},
		},
		{"Python without pip", "python", []string{"python3"}, nil, map[string]string{"python3 -c": "exit 1"}, nil},
		{
			"pip whose source is another", "python",
			[]string{"pip3", "python3"},
			nil,
			map[string]string{"python3 -c": "pip 1.5 from /nowhere/pip (python)\n", "pip3 download --help": "--index-url <url> Base URL (default https://old.example/simple)."},
			[]string{"old.example:443 from @python, pip's index-url", "PIP_INDEX_URL=https://old.example/simple", "UV_DEFAULT_INDEX=https://old.example/simple"},
		},
		{"cargo as it is installed", "rust", []string{"cargo"}, nil, nil, []string{"index.crates.io:443 from @rust, built in", "static.crates.io:443 from @rust, built in"}},
		{
			"cargo with a mirror", "rust",
			[]string{"cargo"},
			map[string]string{".cargo/config.toml": cargoMirror},
			nil,
			[]string{"crates.corp:8443 from @rust, cargo's registries.work at 10.1.2.3 at 10.1.2.4", "mirror.example:443 from @rust, cargo's source.mine"},
		},
		{"cargo in a circle", "rust", []string{"cargo"}, map[string]string{".cargo/config.toml": "[source.crates-io]\nreplace-with=\"a\"\n[source.a]\nreplace-with=\"crates-io\"\n"}, nil, nil},
		{"cargo with a broken file", "rust", []string{"cargo"}, map[string]string{".cargo/config.toml": "token = hunter2"}, nil, nil},
		{"maven as it is installed", "java", []string{"mvn"}, nil, nil, []string{"repo.maven.apache.org:443 from @java, built in"}},
		{
			"maven with a mirror", "java",
			[]string{"mvn"},
			map[string]string{".m2/settings.xml": settingsXML},
			nil,
			[]string{"nexus.corp:8081 from @java, Maven's mirror at 10.1.2.3 at 10.1.2.4", "repo.example:443 from @java, Maven's repository"},
		},
		{
			"apt", "system",
			[]string{"apt-get"},
			nil,
			map[string]string{"apt-get indextargets": "http://deb.example/debian\nhttp://deb.example/security\ncdrom:[x]/\n"},
			[]string{"deb.example:80 from @system, apt's sources"},
		},
		{"github", "github", nil, nil, nil, []string{"github.com from @github", "github.com:22 from @github", "*.github.com:443 from @github", "*.githubusercontent.com:443 from @github"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.says)
			m.install(t, tt.tools...)
			for name, content := range tt.files {
				write(t, filepath.Join(m.home, name), content)
			}
			found, err := presets.Workspace{Asker: m.asker(t)}.Ask(t.Context(), tt.preset)
			if err != nil {
				t.Fatal(err)
			}
			got := text(found)
			if strings.Contains(strings.Join(got, " "), "hunter2") {
				t.Errorf("a password is in %q", got)
			}
			if tt.name == "cargo with a broken file" {
				if len(got) < 1 || !strings.HasPrefix(got[len(got)-1], "problem: @rust: read ") {
					t.Errorf("found %q, want a problem", got)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("found differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetadataServicesAreNeverMirrors(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `{"GOPROXY":"http://169.254.169.254/x","GOSUMDB":"off"}`})
	m.install(t, "go")
	found, err := presets.Workspace{Asker: m.asker(t)}.Ask(t.Context(), "go")
	if err != nil || len(found.Entries) > 0 || len(found.Problems) != 1 {
		t.Errorf("found %q, %v; want a problem", text(found), err)
	}
}

func TestAToolIsAskedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `{"GOPROXY":"https://proxy.example","GOSUMDB":"off"}`})
	m.install(t, "go")
	w := presets.Workspace{Asker: m.asker(t)}
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			if found, err := w.Ask(t.Context(), "packages"); err != nil || len(found.Entries) != 1 {
				t.Errorf("found %q, %v", text(found), err)
			}
		})
	}
	wait.Wait()
	if len(m.asked) != 1 {
		t.Errorf("asked %q, want one question", m.asked)
	}
}

func TestStrictLeavesOutWhatCarriesDataOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	m.install(t, "go", "npm", "mvn")
	w := presets.Workspace{Asker: m.asker(t), Strict: true}
	entries, err := w.Expand(t.Context(), "packages")
	if err != nil || len(entries) != 1 || entries[0].Name != "repo.maven.apache.org" || len(m.asked) > 0 {
		t.Errorf("entries %v, %v; asked %q", entries, err, m.asked)
	}
	for _, name := range []string{"go", "node", "github"} {
		if _, err := w.Expand(t.Context(), name); err == nil || !strings.Contains(err.Error(), "sandbox.strict refuses @"+name) || presets.Leak(name) == "" {
			t.Errorf("@%s: %v", name, err)
		}
	}
	if _, err := w.Expand(t.Context(), "pakcages"); err == nil {
		t.Error("an unknown preset is expanded")
	}
}

func TestAutoFollowsTheManifests(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	m.install(t, "mvn", "cargo", "npm")
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "backend", "pom.xml"), "")
	write(t, filepath.Join(workspace, "a", "b", "package.json"), "")
	entries, err := presets.Workspace{Asker: m.asker(t), Dirs: []string{workspace}}.Expand(t.Context(), "auto")
	if err != nil || len(entries) != 1 || entries[0].From != "@java, built in" {
		t.Errorf("entries %v, %v; want those of Maven", entries, err)
	}
}

// TestAWorkspaceCannotWiden has what a repository may contain: tools, their
// settings, and a PATH that leads there.
func TestAWorkspaceCannotWiden(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(workspace, link); err != nil {
		t.Skip(err)
	}
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "venv", "pyvenv.cfg"), "")
	var dirs []string
	for _, dir := range []string{
		filepath.Join(workspace, "bin"), filepath.Join(link, "bin"),
		filepath.Join(elsewhere, "venv", "bin"), filepath.Join(elsewhere, "node_modules", ".bin"),
	} {
		for _, tool := range []string{"go", "npm", "pip3", "python3", "cargo", "mvn", "apt-get"} {
			write(t, filepath.Join(dir, tool), "")
			if err := os.Chmod(filepath.Join(dir, tool), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	m := newMachine(t, nil)
	m.env["PATH"] = strings.Join(append(dirs, ".", "bin", ""), string(filepath.ListSeparator))
	for _, given := range []string{workspace, link} {
		found, err := presets.Workspace{Asker: m.asker(t), Dirs: []string{given}}.Ask(t.Context(), "packages")
		if err != nil || len(text(found)) > 0 {
			t.Errorf("found %q, %v; want nothing", text(found), err)
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("ran %q", m.asked)
	}
}

func TestThePolicyTakesWhatWasFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `{"GOPROXY":"http://127.0.0.1:3000","GOSUMDB":"off"}`})
	m.install(t, "go")
	w := presets.Workspace{Asker: m.asker(t)}
	p, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: []string{"@go", "@github"}, Expand: w.Expand})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.Ports(), 3000) {
		t.Errorf("Ports() = %v, want 3000 too", p.Ports())
	}
	if d := p.Decide(t.Context(), netpolicy.Host{Addr: netip.MustParseAddr("127.0.0.1")}, 3000); !d.Allowed || len(d.Only) != 1 {
		t.Errorf("the mirror: %+v", d)
	}
	for _, name := range netpolicy.Presets() {
		if _, err := w.Expand(t.Context(), name); err != nil {
			t.Errorf("@%s: %v", name, err)
		}
	}
}

func TestWithoutANetworkAMirrorMustBePublic(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": `{"GOPROXY":"https://proxy.corp","GOSUMDB":"off"}`})
	m.install(t, "go")
	a := presets.New(presets.Config{
		Getenv: func(name string) string { return m.env[name] }, Home: m.home, Dir: t.TempDir(), Run: m.run,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "offline"} },
	})
	t.Cleanup(a.Close)
	entries, err := presets.Workspace{Asker: a}.Expand(t.Context(), "go")
	if err != nil || len(entries) != 1 || len(entries[0].Only) > 0 {
		t.Errorf("entries %v, %v", entries, err)
	}
}

// held is a machine whose tools answer when they are let go, and until then wait.
type held struct {
	*machine

	letGo chan error // what the next question comes to
}

func (h held) run(ctx context.Context, dir string, env, args []string) ([]byte, error) {
	select {
	case err := <-h.letGo:
		if err != nil {
			return nil, err
		}
		return h.machine.run(ctx, dir, env, args)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newHeld(t *testing.T) held {
	t.Helper()
	h := held{newMachine(t, map[string]string{"go": `{"GOPROXY":"https://proxy.example","GOSUMDB":"off"}`}), make(chan error)}
	h.install(t, "go")
	return h
}

func (h held) workspace(t *testing.T, failed func(error)) presets.Workspace {
	t.Helper()
	a := presets.New(presets.Config{
		Getenv: func(name string) string { return h.env[name] }, Home: h.home, Dir: t.TempDir(), Root: h.root, Run: h.run, Failed: failed,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "offline"} },
	})
	t.Cleanup(a.Close)
	return presets.Workspace{Asker: a}
}

func TestASlowToolIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		w := h.workspace(t, func(err error) { t.Error(err) })
		w.Begin("packages") // which does not wait
		if got := text(w.Known("packages")); len(got) > 0 {
			t.Errorf("before the answer %q is known", got)
		}
		go func() {
			time.Sleep(time.Hour)
			h.letGo <- nil
		}()
		found, err := w.Ask(t.Context(), "go")
		if want := []string{"proxy.example:443 from @go, GOPROXY", "GOPROXY=https://proxy.example"}; err != nil || !slices.Equal(text(found), want) {
			t.Errorf("found %q, %v; want %q", text(found), err, want)
		}
		if diff := cmp.Diff(text(found), text(w.Known("packages"))); diff != "" {
			t.Errorf("known differs from what was found:\n%s", diff)
		}
		if found.Unknown("go") != nil || len(h.asked) != 1 {
			t.Errorf("Unknown() = %v after the questions %q", found.Unknown("go"), h.asked)
		}
	})
}

func TestWhoAskedCanStopWaiting(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	w := h.workspace(t, func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Ask(ctx, "go"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	h.letGo <- nil // The question goes on.
	if found, err := w.Ask(t.Context(), "go"); err != nil || len(found.Entries) != 1 {
		t.Errorf("found %q, %v", text(found), err)
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	var failures []string
	w := h.workspace(t, func(err error) { failures = append(failures, err.Error()) })
	for _, answer := range []error{fmt.Errorf("%w within 15s", sandbox.ErrNoAnswer), nil} {
		go func() { h.letGo <- answer }()
		found, err := w.Ask(t.Context(), "go")
		if err != nil || len(found.Entries) == 1 != (answer == nil) {
			t.Errorf("after %v: found %q, %v", answer, text(found), err)
		}
		why := found.Unknown("go")
		if want := "a package manager did not list the hosts it uses (@go: ask go env -json GOPROXY GOSUMDB: no answer within 15s): " +
			"try again, or see ohgw sandbox explain @go"; answer != nil && (why == nil || why.Error() != want) || answer == nil && why != nil {
			t.Errorf("after %v: Unknown() = %v", answer, why)
		}
	}
	if found, err := w.Ask(t.Context(), "packages"); err != nil || len(found.Entries) != 1 { // It is not asked any more.
		t.Errorf("found %q, %v", text(found), err)
	}
	if want := []string{"@go: ask go env -json GOPROXY GOSUMDB: no answer within 15s"}; !slices.Equal(failures, want) {
		t.Errorf("told of %q, want %q", failures, want)
	}
}

// Programs in a sandbox need variables only for settings that they do not see there.
func TestConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset string
		file   string
		env    string
		want   []string
	}{
		{"packages", "", "", nil},
		{"packages", ".npmrc", "", []string{"node"}},
		{"python", ".npmrc", "", nil},
		{"packages", ".config/uv/uv.toml", "", []string{"python"}},
		{"packages", ".m2/settings.xml", "", nil}, // Maven has no variable for it.
		{"packages", "", "PIP_CONFIG_FILE=" + filepath.Join(t.TempDir(), "x"), []string{"python"}},
		{"packages", "", "PIP_CONFIG_FILE=" + os.DevNull, nil},
		{"packages", "", "GOPROXY=https://proxy.example", nil}, // They get it.
		{"packages", "", "GOPROXY=https://me:hunter2@proxy.example", []string{"go"}},
	} {
		m := newMachine(t, nil)
		if c.file != "" {
			write(t, filepath.Join(m.home, c.file), "")
		}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			m.env[name] = value
		}
		if got := (presets.Workspace{Asker: m.asker(t)}).Configured(c.preset); !slices.Equal(got, c.want) {
			t.Errorf("%+v: Configured() = %q", c, got)
		}
	}
}

func TestPythonWithoutPipIsNoProblem(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	m.install(t, "python3")
	a := presets.New(presets.Config{
		Getenv: func(name string) string { return m.env[name] }, Home: m.home, Dir: t.TempDir(),
		Run: func(context.Context, string, []string, []string) ([]byte, error) {
			return nil, &sandbox.ExitError{Code: 1}
		},
	})
	defer a.Close()
	if found, err := (presets.Workspace{Asker: a}).Ask(t.Context(), "python"); err != nil || len(text(found)) > 0 {
		t.Errorf("found %q, %v", text(found), err)
	}
}
