package boxes_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is the helper, too
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// TestMain makes the test binary a daemon as well, see doomed.
func TestMain(m *testing.M) {
	if root := os.Getenv(doomedVariable); root != "" {
		doomed(root)
	}
	if attempt := os.Getenv(insideVariable); attempt != "" {
		os.Exit(tryInside(attempt))
	}
	waittest.Parallel()
	os.Exit(m.Run())
}

// world is the outside of a box.
type world struct {
	t                    testing.TB
	root, workspace, own string
	home                 string // the user's
	path                 string // PATH; "" is that of the test
	box                  sandbox.Box
}

// prober knows whether there can be a box here.
var prober probe.Prober

// needBox skips a test where the kernel forbids boxes, and nowhere else.
func needBox(t testing.TB) {
	t.Helper()
	r := prober.Ask(context.Background())
	if r.Level == sandbox.Full {
		return
	}
	if os.Getenv("CI") == "true" || !strings.Contains(r.Reason, "forbid") {
		t.Fatalf("there is no sandbox: %s", r.Reason)
	}
	t.Skip(r.Reason)
}

// newWorld makes a box around an empty workspace. Its policy can be changed.
func newWorld(t testing.TB, changes ...func(*world, *boxes.Config)) *world {
	t.Helper()
	needBox(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, workspace: filepath.Join(root, "src", "app"), own: filepath.Join(root, "own"), home: filepath.Join(root, "user")}
	for _, dir := range []string{w.workspace, w.own, w.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cfg := boxes.Config{Policy: policy.Policy{Workspace: w.workspace, Home: w.own, HomeAt: w.home}}
	for _, change := range changes {
		change(w, &cfg)
	}
	if w.box, err = boxes.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.box.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) env() []string {
	return []string{"PATH=" + cmp.Or(w.path, os.Getenv("PATH")), "HOME=" + w.home, "LANG=C.UTF-8"}
}

// start starts a program with a pipe for its output.
func (w *world) start(args ...string) (sandbox.Process, *os.File) {
	w.t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := w.box.Start(ctx, sandbox.Program{Args: args, Env: w.env(), Dir: w.workspace, Files: []*os.File{nil, in, in}})
	if err != nil {
		w.t.Fatalf("%q: %v", args, err)
	}
	return p, out
}

// run runs a program to its end.
func (w *world) run(args ...string) (output string, code int) {
	w.t.Helper()
	p, out := w.start(args...)
	defer out.Close()
	var all bytes.Buffer
	_, _ = io.Copy(&all, out)
	code, err := p.Wait()
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(all.String()), code
}

func (w *world) sh(script string) (output string, code int) {
	w.t.Helper()
	return w.run("/bin/bash", "-c", script)
}

func TestSystemIsReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, code := w.sh("echo x > file && echo x > ~/file && echo x > /tmp/file && touch /etc/x")
	if code == 0 || !strings.Contains(out, "Read-only file system") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, file := range []string{filepath.Join(w.workspace, "file"), filepath.Join(w.own, "file")} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(w.home); err != nil || len(left) > 0 {
		t.Errorf("the user's home directory has %v, %v", left, err)
	}
}

// BenchmarkTrue is a box with one program, from nothing to its end.
func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		w := newWorld(b)
		if out, code := w.run("/bin/true"); code != 0 {
			b.Fatal(out)
		}
		if err := w.box.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNextTrue is one more program in a box.
func BenchmarkNextTrue(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		if out, code := w.run("/bin/true"); code != 0 {
			b.Fatal(out)
		}
	}
}

// BenchmarkShellReady is a box from its start until its first shell has answered, and
// the same with the rights of the user. What comes before and after is not measured.
func BenchmarkShellReady(b *testing.B) {
	for name, outside := range map[string]bool{"full": false, "off": true} {
		b.Run(name, func(b *testing.B) {
			var ready []time.Duration
			for b.Loop() {
				w := newWorld(b)
				if outside {
					w.box = sandbox.Outside(sandbox.Off, sandbox.Mark{})
				}
				began := time.Now()
				p, out := w.start("/bin/bash", "--norc", "-c", "echo; read -r")
				if _, err := out.Read(make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
				ready = append(ready, time.Since(began))
				if _, err := p.Wait(); err != nil {
					b.Fatal(err)
				}
				out.Close()
				if err := w.box.Close(); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(ready)
			b.ReportMetric(ready[len(ready)/2].Seconds()*1000, "ready-p50-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// Only an error of the box itself is an UnavailableError, and a later start tries again.
func TestABoxThatCannotBeBuiltSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away := filepath.Join(w.root, "away")
	if err := os.Rename(w.workspace, away); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Program{Args: []string{"true"}, Env: w.env(), Dir: w.workspace}
	_, err := w.box.Start(t.Context(), p)
	if _, ok := errors.AsType[*sandbox.UnavailableError](err); !ok {
		t.Errorf("without its workspace: %v", err)
	}
	if err := os.Rename(away, w.workspace); err != nil {
		t.Fatal(err)
	}
	p.Args[0] = "no-such-program"
	_, err = w.box.Start(t.Context(), p)
	if _, ok := errors.AsType[*sandbox.UnavailableError](err); ok || err == nil {
		t.Errorf("a program that does not exist: %v", err)
	}
}
