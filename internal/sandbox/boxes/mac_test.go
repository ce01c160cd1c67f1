//go:build unix

package boxes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// stand is a program in the place of sandbox-exec: it has the same arguments, keeps
// the profile and takes no rights away.
const stand = `#!/bin/sh
[ "$1" = -p ] && [ "$3" = -- ] || exit 99
printf %s "$2" >"$TMPDIR/profile"
shift 3
exec "$@"
`

type macWorld struct {
	t             *testing.T
	dir, ws, home string
	box           *macBox
}

// newMacWorld makes a box, whose user has a tool.
func newMacWorld(t *testing.T, change func(*macWorld, *Config)) *macWorld {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &macWorld{t: t, dir: dir, ws: dir + "/user/app", home: dir + "/own"}
	for _, made := range []string{w.ws, w.home, dir + "/user/.cargo/bin", dir + "/tmp"} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := dir + "/sandbox-exec"
	if err := os.WriteFile(program, []byte(stand), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Policy: policy.Policy{
		Workspace: w.ws, Home: w.home, HomeAt: dir + "/user", Tmp: dir + "/tmp", Read: []string{dir + "/user/.cargo/bin"}, GitConfig: "[user]\n",
	}}
	if change != nil {
		change(w, &cfg)
	}
	if w.box, err = newMacBox(program, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.box.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// run runs a program with what the box gives it.
func (w *macWorld) run(args ...string) string {
	w.t.Helper()
	r, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	p, err := w.box.Start(w.t.Context(), sandbox.Program{
		Args: args, Env: w.box.Environ([]string{"PATH=/usr/bin:/bin", "HOME=/users", "AWS_KEY=x"}), Dir: w.ws, Files: []*os.File{nil, in, in},
	})
	in.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if code, err := p.Wait(); err != nil || code != 0 {
		w.t.Errorf("%q: exit code %d, %v: %s", args, code, err, out)
	}
	return string(bytes.TrimSpace(out))
}

func TestProgramsHaveAProfileAndAHomeOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newMacWorld(t, nil)
	got := w.run("sh", "-c", `echo "$HOME $TMPDIR $OHGW_SANDBOX $AWS_KEY"; cat ~/.gitconfig; readlink ~/.cargo/bin`)
	want := w.home + " " + w.dir + "/tmp reduced \n[user]\n" + w.dir + "/user/.cargo/bin"
	if got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	profile, err := os.ReadFile(w.dir + "/tmp/profile")
	if err != nil || !strings.Contains(string(profile), `(allow file-read* file-write* (subpath "`+w.ws+`"))`) {
		t.Errorf("the profile: %v: %s", err, profile)
	}
	if level := w.box.Level(); level != sandbox.Reduced {
		t.Errorf("the level is %s", level)
	}
}

// What the agent has left in its home directory leads nowhere.
func TestTheHomeDirectoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	w := newMacWorld(t, func(w *macWorld, _ *Config) {
		for link, to := range map[string]string{w.home + "/.gitconfig": w.dir + "/canary", w.home + "/.cargo": w.dir + "/user"} {
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, err := os.Lstat(w.dir + "/canary"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}
	if _, err := os.Lstat(w.dir + "/user/bin"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}
	if got := w.run("cat", w.home+"/.gitconfig"); got != "[user]" {
		t.Errorf(".gitconfig is %q", got)
	}
}

func TestTheProxyWantsItsToken(t *testing.T) {
	t.Parallel()
	names, err := netpolicy.New(t.Context(), netpolicy.Config{Allow: []string{"example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	var gate *netgate.Gate
	w := newMacWorld(t, func(_ *macWorld, cfg *Config) {
		cfg.Policy.Network = true
		cfg.Serve = func(s Sockets) (func() error, error) {
			gate = netgate.Serve(context.Background(), netgate.Sockets(s), netgate.Config{Policy: names})
			return gate.Close, nil
		}
	})
	proxy, err := url.Parse(w.run("sh", "-c", `echo "$HTTPS_PROXY"`))
	if err != nil || proxy.User == nil {
		t.Fatal(proxy, err)
	}
	own, other := *proxy, *proxy
	own.User, other.User = nil, url.UserPassword("ohgw", "guess")
	ask := func(proxy *url.URL) (int, error) {
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}, Timeout: time.Minute}
		resp, err := client.Get("http://canary.example/")
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	for _, tt := range []struct {
		proxy *url.URL
		want  int
	}{{proxy, http.StatusForbidden}, {&own, http.StatusProxyAuthRequired}, {&other, http.StatusProxyAuthRequired}} {
		got, err := ask(tt.proxy)
		if err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("%s: status = %d, want %d", tt.proxy.User, got, tt.want)
		}
	}
	profile, err := os.ReadFile(w.dir + "/tmp/profile")
	password, _ := proxy.User.Password()
	if err != nil || strings.Contains(string(profile), password) || !strings.Contains(string(profile), `(deny network-bind (local ip "localhost:`+proxy.Port()+`"))`) {
		t.Errorf("the profile: %v: the profile has the token, or not the port", err)
	}
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	// Another program can have the port by now, but it does not know the token.
	if got, err := ask(proxy); err == nil && got == http.StatusForbidden {
		t.Error("the proxy outlives its box")
	}
	if blocks := gate.Blocks(); len(blocks) != 1 {
		t.Errorf("the blocks are %v: only the one with the token is the sandbox's", blocks)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	w := newMacWorld(t, func(_ *macWorld, cfg *Config) { cfg.Policy.Tmp = "" })
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = w.box.Start(t.Context(), sandbox.Program{Args: []string{"sh", "-c", "echo $TMPDIR; sleep 1000 & wait"}, Env: w.box.Environ(nil), Dir: w.ws, Files: []*os.File{nil, in, in}})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1000)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil { // It ends when no process has the pipe.
		t.Error(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(line[:n]))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory for temporary files is left: %v", err)
	}
}

func TestGitDirectoriesAreGuarded(t *testing.T) {
	t.Parallel()
	w := newMacWorld(t, func(w *macWorld, _ *Config) {
		for _, dir := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(w.ws, ".git", dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{"HEAD", "config"} {
			if err := os.WriteFile(filepath.Join(w.ws, ".git", file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	text, err := w.box.profile.Text()
	want := []string{w.ws + "/.git"}
	if err != nil || !slices.Equal(w.box.profile.Git, want) || !strings.Contains(text, `(deny file-write* (literal "`+w.ws+`/.git/hooks")`) {
		t.Errorf("the text of the profile: %v: git directories %q, want %q:\n%s", err, w.box.profile.Git, want, text)
	}
}

func TestPathsAreThoseOfTheDisk(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/Real/Inner", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("Real", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{"/link/Inner": "/Real/Inner", "/Real/Inner": "/Real/Inner", "/link/new": "/Real/new", "/link/new/newer": "/Real/new/newer"}
	if goruntime.GOOS == "darwin" { // whose disks do not tell upper from lower case
		tests["/real/inner"] = "/Real/Inner"
	}
	for at, want := range tests {
		if got, err := spell(dir + at); err != nil || got != dir+want {
			t.Errorf("%s is %s, %v, want %s", at, got, err, dir+want)
		}
	}
}
