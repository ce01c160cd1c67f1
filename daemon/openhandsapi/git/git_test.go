package git_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/git"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// boxes runs git as the user.
type boxes struct{}

func (boxes) Files(_ context.Context, path string) (sandbox.Streams, string, func(), error) {
	s, err := sandbox.StreamsOf(sandbox.Outside(sandbox.Off, sandbox.Mark{}), path, false)
	return s, path, func() { _ = s.Close() }, err
}

func (boxes) Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &sandbox.ExitError{Code: exit.ExitCode()}
	}
	return out, err
}

func (boxes) Shell(ctx context.Context, dir string, out io.Writer, script string, args ...string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Stdout = dir, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &sandbox.ExitError{Code: exit.ExitCode()}
	}
	return err
}

type world struct {
	t   *testing.T
	dir string
	api http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, dir, openhandsapi.New(openhandsapi.Config{Routes: git.Routes(git.Config{Boxes: boxes{}})})}
}

// run runs git in the directory.
func (w *world) run(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(name, text string) {
	w.t.Helper()
	at := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// get asks for something about a path below the directory.
func (w *world) get(route, name, query string) string {
	w.t.Helper()
	res := httptest.NewRecorder()
	target := "/api/git/" + route + "?path=" + url.QueryEscape(filepath.Join(w.dir, name)) + query
	w.api.ServeHTTP(res, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, target, nil))
	return res.Body.String()
}

func TestARepositoryAndItsBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("with space é.txt", "one\n")
	w.write("gone.txt", "x\n")
	w.write("moved.txt", "m\n")
	w.run("init", "-q", "-b", "main")
	if got := w.get("changes", "", ""); strings.Count(got, `"ADDED"`) != 3 {
		t.Errorf("without a commit: %s", got)
	}
	w.run("add", "-A")
	w.run("commit", "-qm", "first")
	w.run("checkout", "-qb", "work")
	w.write("with space é.txt", "one\r\ntwo\n")
	w.run("mv", "moved.txt", "new.txt")
	w.run("rm", "-q", "gone.txt")
	w.run("commit", "-qam", "second")
	w.write("unknown.txt", "")
	w.write("sub/inner.txt", "")
	w.write("subway.txt", "")
	inner := *w
	inner.dir = filepath.Join(w.dir, "sub")
	inner.run("init", "-q")
	second := w.run("rev-parse", "HEAD")

	const branch = `{"status":"DELETED","path":"gone.txt"},{"status":"DELETED","path":"moved.txt"},{"status":"ADDED","path":"new.txt"},`
	const unknown = `{"status":"ADDED","path":"sub/inner.txt"},{"status":"ADDED","path":"subway.txt"},{"status":"ADDED","path":"unknown.txt"}`
	for name, want := range map[string]string{
		"changes//":                              `[` + branch + unknown + `,{"status":"UPDATED","path":"with space é.txt"}]`,
		"changes//&ref=HEAD":                     `[` + unknown + `]`,
		"changes//&ref=--output=x":               `{"detail":"Git command failed: git --no-pager rev-parse --verify --end-of-options --output=x^{commit}"}`,
		"changes/sub/":                           `[{"status":"ADDED","path":"inner.txt"}]`,
		"changes/none/":                          `[]`,
		"diff/with space é.txt/":                 `{"modified":"one\ntwo","original":"one"}`,
		"diff/with space é.txt/&ref=" + second:   `{"modified":"one\ntwo","original":"one\r\ntwo"}`,
		"diff/gone.txt/&commit=" + second:        `{"modified":"","original":"x"}`,
		"diff/gone.txt/":                         `{"detail":"File does not exist: ` + filepath.Join(w.dir, "gone.txt") + `"}`,
		"diff/unknown.txt/&ref=HEAD&commit=aaaa": `{"detail":"'ref' and 'commit' are mutually exclusive"}`,
		"commits/" + second[:8] + "/changes//":   `[{"status":"DELETED","path":"gone.txt"},{"status":"DELETED","path":"moved.txt"},{"status":"ADDED","path":"new.txt"},{"status":"UPDATED","path":"with space é.txt"}]`,
		"commits/0000000/changes//":              `{"detail":"Git command failed: git --no-pager rev-parse --verify --end-of-options 0000000^{commit}"}`,
	} {
		i := strings.LastIndex(name, "/")
		j := strings.LastIndex(name[:i], "/")
		got := w.get(name[:j], name[j+1:i], name[i+1:])
		if strings.HasPrefix(name, "commits/"+second[:8]) { // its order is git's
			got = strings.ReplaceAll(got, `{"status":"ADDED","path":"new.txt"},`, "")
			want = strings.ReplaceAll(want, `{"status":"ADDED","path":"new.txt"},`, "")
		}
		if got != want {
			t.Errorf("%s: answer = %s\nwant %s", name, got, want)
		}
	}
	if got := w.get("commits", "", "&limit=1"); !strings.Contains(got, `"subject":"second","author":"n"`) || !strings.HasSuffix(got, `"has_more":true}`) {
		t.Errorf("commits: %s", got)
	}
	for _, wrong := range []string{"commits/zz/changes", "commits/--all/changes"} {
		if got := w.get(wrong, "", ""); !strings.Contains(got, `"string_pattern_mismatch"`) {
			t.Errorf("%s: answer = %s", wrong, got)
		}
	}
}

// What was pushed is compared with the branch that it came from.
func TestABranchThatWasPushed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("file", "one\n")
	w.run("init", "-q", "-b", "main", ".")
	w.run("add", "-A")
	w.run("commit", "-qm", "first")
	w.run("update-ref", "refs/remotes/origin/main", "HEAD")
	w.run("checkout", "-qb", "work")
	w.write("file", "two\n")
	w.run("commit", "-qam", "second")
	w.run("update-ref", "refs/remotes/origin/work", "HEAD")
	if got := w.get("changes", "", ""); got != `[{"status":"UPDATED","path":"file"}]` {
		t.Errorf("a clean tree: %s", got)
	}
	w.write("file", "three\n")
	if got := w.get("diff", "file", ""); got != `{"modified":"three","original":"two"}` {
		t.Errorf("a changed tree: %s", got)
	}
}

func TestWhatIsInNoRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("file", "x")
	for route, want := range map[string]string{
		"changes": `[]`, "commits": `{"commits":[],"has_more":false}`, "commits/abcd/changes": `[]`,
	} {
		for _, name := range []string{"", "file", "gone"} { // a file, and a workspace that was removed
			if got := w.get(route, name, ""); got != want {
				t.Errorf("%s of %q: %s", route, name, got)
			}
		}
	}
	if got := w.get("diff", "file", ""); got != `{"modified":null,"original":null}` {
		t.Errorf("diff: %s", got)
	}
}
