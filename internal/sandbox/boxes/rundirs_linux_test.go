package boxes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// Programs that PATH names below /run can be used, directly and by links, as NixOS, Guix
// and version managers have them. Nothing else of /run is shown.
func TestProgramsBelowRun(t *testing.T) {
	t.Parallel()
	needBox(t)
	run, err := os.MkdirTemp("/run", "ohgw-test-")
	if err != nil {
		t.Skip("only root may make a directory in /run: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := func(at, says string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("#!/bin/sh\necho "+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, at string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	script(run+"/wrappers/wrappers.x/direct", "direct")
	link("wrappers.x", run+"/wrappers/bin")
	script(home+"/.local/share/fnm/v1/bin/versioned", "versioned")
	link(home+"/.local/share/fnm/v1", run+"/shells/1")
	link("shells/1", run+"/current")
	link("/usr", run+"/system")
	script(run+"/plain/bin/plain", "plain")
	script(run+"/secret/socket", "secret")
	path := strings.Join([]string{run + "/wrappers/bin", run + "/current/bin", "/var" + run + "/plain/bin", run + "/system/bin", run + "/nothing", "/run"}, ":")
	workspace := filepath.Join(home, "app")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		p, err := boxes.Plan(boxes.User{Home: home, State: filepath.Join(home, "state"), Environ: []string{"PATH=" + path}}, workspace)
		if err != nil {
			t.Fatal(err)
		}
		p.Read = append(p.Read, run+"/gone/since")
		box, err := boxes.New(boxes.Config{Level: level, Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, workspace: workspace, home: home, path: path, box: box}
		out, code := w.sh("direct; versioned; /run/" + filepath.Base(run) + "/plain/bin/plain; env true && echo true; cat " + run + "/secret/socket 2>/dev/null || echo hidden")
		if want := "direct\nversioned\nplain\ntrue\nhidden"; code != 0 || out != want {
			t.Errorf("%s: exit code %d: %s, want %s", level, code, out, want)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}
