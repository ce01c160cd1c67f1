//go:build e2e && linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	beforeMigration = `{"model": "litellm_proxy/kimi-k3", "base_url": "https://llm-proxy.app.all-hands.dev/", "api_key": "` + fixtureKey + `", "x": 1e2}`
	afterMigration  = `{"model": "openhands/kimi-k3", "api_key": "` + fixtureKey + `", "x": 1e2}`
)

// oldStore is n profiles in the old form.
func oldStore(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("p%02d", i)] = beforeMigration
	}
	return files
}

// migrated counts the profiles that are migrated. There is no third state.
func (p *program) migrated(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, ".openhands", "profiles", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d profiles, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch string(text) {
		case afterMigration:
			n++
		case beforeMigration:
		default:
			t.Errorf("%s is torn: %q", path, text)
		}
	}
	return n
}

// restoreAll brings back what all backups have, the newest first.
func (p *program) restoreAll(t *testing.T) {
	t.Helper()
	backups, err := filepath.Glob(filepath.Join(p.state(), "backups", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(backups)
	for _, dir := range slices.Backward(backups) {
		out, err := p.command(t, "profiles", "migrate", "--restore", dir).CombinedOutput()
		if err != nil {
			t.Errorf("restore %s: %v\n%s", dir, err, out)
		}
	}
	if n := p.migrated(t); n != 0 {
		t.Errorf("%d profiles were not brought back", n)
	}
}

func (p *program) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Env = p.env
	return cmd
}

// copies is how many files a running migration has put into its backup.
func (p *program) copies() int {
	names, _ := filepath.Glob(filepath.Join(p.state(), "backups", "*", "*-p*.json"))
	return len(names)
}

// A migration that is killed anywhere leaves each file as it was or as it should
// be; the next one does the rest, and the backups of both bring all of it back.
func TestAKilledMigrationLosesNothing(t *testing.T) {
	const files = 12
	between, first := 0, built(t, nil)
	for kill := range files {
		p := first.another(t, oldStore(files))
		cmd := p.command(t, "profiles", "migrate")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(patience); p.copies() <= kill && cmd.Process.Signal(syscall.Signal(0)) == nil && time.Now().Before(deadline); {
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // It was killed.
		if n := p.migrated(t); n > 0 && n < files {
			between++
		}
		p.run(t, 0, "", "profiles", "migrate")
		if n := p.migrated(t); n != files {
			t.Errorf("killed after %d copies: %d of %d files are migrated by the next run", kill, n, files)
		}
		p.restoreAll(t)
	}
	if between == 0 {
		t.Error("no run was killed on its way")
	}
}

// Several migrations at the same time, and another process that keeps writing.
func TestMigrationsAtTheSameTimeAgree(t *testing.T) {
	p := built(t, oldStore(40))
	cmds := make([]*exec.Cmd, 4)
	for i := range cmds {
		cmds[i] = p.command(t, "profiles", "migrate")
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n := p.migrated(t); n != 40 {
		t.Errorf("%d of 40 files are migrated", n)
	}
	p.restoreAll(t)
}

// A disk that is full half way: what is not in the backup is not changed, and no
// file is torn.
func TestAFullDiskStopsAMigrationCleanly(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "unshare", "-Urm", "true").Run(); err != nil {
		t.Skipf("no file system of one's own: %v", err)
	}
	first := built(t, nil)
	for _, where := range []string{".local/state", ".openhands"} {
		for _, kilobytes := range []int{16, 64, 96} {
			t.Run(fmt.Sprintf("%s with %d KiB", where, kilobytes), func(t *testing.T) {
				p := first.another(t, oldStore(12))
				dir := filepath.Join(p.home, where)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				// All of it in one file system, which is gone afterwards: the
				// outcome is copied out of it.
				script := `set -e
mv "$1" "$1.in"; mkdir "$1"; mount -t tmpfs -o size=` + fmt.Sprint(kilobytes) + `k tmpfs "$1"
cp -r "$1.in/." "$1/" 2>/dev/null || exit 77
set +e; "$2" profiles migrate; code=$?
cp -r "$1" "$1.out"; exit $code`
				cmd := exec.CommandContext(t.Context(), "unshare", "-Urm", "sh", "-c", script, "sh", dir, p.path)
				cmd.Env = p.env
				out, _ := cmd.CombinedOutput() // The exit code says it.
				code := cmd.ProcessState.ExitCode()
				if code == 77 {
					t.Skip("the profiles alone do not fit")
				}
				if err := os.Remove(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(dir+".out", dir); err != nil {
					t.Fatal(err)
				}
				n := p.migrated(t)
				if full := strings.Contains(string(out), "no space left"); full != (code == 3) || full != (n < 12) {
					t.Errorf("it ends with %d, %d files are migrated:\n%s", code, n, out)
				}
				if left, _ := filepath.Glob(filepath.Join(p.home, ".openhands", "profiles", ".ohgw*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				p.restoreAll(t)
			})
		}
	}
}

// Files of another user, and read-only files: an error for each, one exit code for all,
// and nothing changed.
func TestAStoreThatCannotBeWrittenStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	for name, seal := range map[string]func(dir string) error{
		"a directory for reading only": func(dir string) error { return os.Chmod(dir, 0o555) },
		"one that cannot be entered":   func(dir string) error { return os.Chmod(dir, 0o000) },
		"files of somebody else": func(dir string) error {
			return os.Chmod(filepath.Join(dir, "p00.json"), 0o000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const nobody = 65534
			p := built(t, oldStore(3))
			for path := filepath.Dir(p.home); len(path) > len(os.TempDir()); path = filepath.Dir(path) {
				if err := os.Chmod(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := exec.CommandContext(t.Context(), "chown", "-R", fmt.Sprint(nobody), p.home).Run(); err != nil {
				t.Fatal(err)
			}
			for path := filepath.Dir(p.path); len(path) > len(os.TempDir()); path = filepath.Dir(path) {
				if err := os.Chmod(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(p.home, ".openhands", "profiles")
			if err := seal(dir); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"profiles", "migrate"}, {"profiles", "list"}, {"profiles", "check"}, {"profiles", "use", "p00"}, {"profiles", "remove", "p00", "--yes"}} {
				cmd := p.command(t, args...)
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				out, err := cmd.CombinedOutput()
				code := cmd.ProcessState.ExitCode()
				if strings.Contains(string(out), "panic") || code != 0 && code != 1 && code != 3 || err != nil && !strings.Contains(string(out), "hint:") {
					t.Errorf("ohgw %v ends with %d:\n%s", args, code, out)
				}
			}
		})
	}
}
