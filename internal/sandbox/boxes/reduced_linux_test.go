package boxes_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// reduced makes a box one of level reduced.
func reduced(_ *world, c *boxes.Config) { c.Level = sandbox.Reduced }

func TestReducedKeepsFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	if w.box.Level() != sandbox.Reduced {
		t.Errorf("level %s", w.box.Level())
	}
	secret := filepath.Join(w.home, ".ssh-key")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := w.sh("set -e; echo x > file; echo y > ~/file; echo z > $TMPDIR/file; mkdir a b; touch a/x; mv a/x b/y; cat <<< here; ls /etc >/dev/null; cat file ~/file")
	if code != 0 || out != "here\nx\ny" {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, script := range []string{
		"cat " + secret, "echo evil > " + secret, "ls " + w.home, "rm " + secret, "touch " + w.root + "/beside", "touch /tmp/beside-box",
		"mv " + secret + " .", "ln " + secret + " link", "cat /proc/1/environ", "cat /proc/$PPID/environ", "echo > /proc/sys/kernel/core_pattern",
	} {
		if out, code := w.sh(script); code == 0 {
			t.Errorf("%s: output = %s", script, out)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "canary" {
		t.Errorf("file = %q, error %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.own, "file")); err != nil || strings.TrimSpace(string(data)) != "y" {
		t.Errorf("file = %q, error %v", data, err)
	}
}

func TestReducedEndsItsPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	_, out := w.start("/bin/bash", "-c", "(setsid sh -c 'sleep 1000 & exec sleep 1000' &); (trap '' TERM HUP; sleep 1000) & echo ready; wait")
	defer out.Close()
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := w.box.Close(); err != nil {
		t.Error(err)
	}
	if left, err := io.ReadAll(out); err != nil || len(left) > 0 { // It ends when no program has the pipe.
		t.Errorf("rest = %q, error %v", left, err)
	}
	if _, err := w.box.Start(t.Context(), sandbox.Program{Args: []string{"true"}, Dir: w.workspace}); !errors.Is(err, sandbox.ErrClosed) {
		t.Error(err)
	}
}

// A program has its own terminal, and no other one of the user.
func TestReducedTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	other, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	defer other.Close()
	p, master := w.terminal()
	defer master.Close()
	stuck := time.AfterFunc(2*time.Minute, func() { _ = p.Kill() })
	defer stuck.Stop()
	script := "stty -echo\necho a''gain > /dev/stderr; exec 3<>" + theirs.Name() + " || echo ref''used; sleep 1000 &\nkill %1; wait %1 2>/dev/null; echo jobs $?; test $(tty) && echo na''med; exit\n"
	if _, err := io.WriteString(master, script); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(master) // The last program closes it, which is an error.
	for _, want := range []string{"again", "refused", "jobs 143", "named"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %s: %q", want, said)
		}
	}
}

// Programs can make terminals of their own.
func TestReducedNewTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	if out, code := w.inside("pty"); code != 0 {
		t.Error(out)
	}
}

// A directory of PATH that the box does not show hides no program in the next one,
// and those of the home directory are the box's.
func TestReducedPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	tool := func(dir, says string) string {
		dir = filepath.Join(dir, "bin")
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "a-tool"), []byte("#!/bin/sh\necho "+says+"\n"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	hidden, shown, ofHome := tool(filepath.Join(w.root, "elsewhere"), "hidden"), tool(w.workspace, "shown"), tool(w.home, "home")
	if out, code := w.sh(`mkdir ~/bin; printf '#!/bin/sh\necho own\n' > ~/bin/a-tool; chmod +x ~/bin/a-tool`); code != 0 {
		t.Fatal(out)
	}
	for list, want := range map[string]string{
		hidden + ":" + shown + ":/usr/bin:/bin":                "shown",
		hidden + ":" + ofHome + ":" + shown + ":/usr/bin:/bin": "own",
		hidden: "command not found",
	} {
		w.path = list
		if out, _ := w.sh("a-tool"); !strings.HasSuffix(out, want) {
			t.Errorf("PATH=%s: %s, want %s", list, out, want)
		}
	}
}

// What git runs is put back, whatever was done to it.
func TestReducedPutsGitBack(t *testing.T) {
	t.Parallel()
	for _, attempt := range []string{
		"echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
		"git config core.fsmonitor evil",
		"rm -rf .git/hooks; ln -s ../evil .git/hooks",
		"mv .git/hooks x; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
		"mv .git x; cp -r x .git; echo '[core] fsmonitor = evil' >> .git/config",
		"ln .git/config link; echo '[core] fsmonitor = evil' >> link",
		"rm .git/config; mkdir .git/config",
		"rm -rf .git/hooks; echo x > .git/hooks",
		"mkdir evil; echo ../evil > .git/commondir",
		"chmod 777 .git/hooks .git/config",
	} {
		t.Run(attempt, func(t *testing.T) {
			t.Parallel()
			told := make(chan string, 1000)
			w := newWorld(t, repository, reduced, func(_ *world, c *boxes.Config) { c.Removed = func(path string) { told <- path } })
			config := filepath.Join(w.workspace, ".git", "config")
			before, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			hooks := listing(t, filepath.Join(w.workspace, ".git", "hooks"))
			_, _ = w.sh(attempt) // It may find its first change put back.
			if err := w.box.Close(); err != nil {
				t.Error(err)
			}
			if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
				t.Errorf("file = %s, error %v", after, err)
			}
			if after := listing(t, filepath.Join(w.workspace, ".git", "hooks")); after != hooks {
				t.Errorf("hooks were %s, are %s", hooks, after)
			}
			if _, err := os.Lstat(filepath.Join(w.workspace, ".git", "commondir")); err == nil {
				t.Error("commondir is there")
			}
			select {
			case <-told:
			default:
				t.Error("nobody was told")
			}
		})
	}
}

// listing is what is in a directory, with modes.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{info.Mode().String()}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Mode().String()+" "+e.Name())
	}
	return strings.Join(all, "\n")
}

// Changes that run nothing stay, and a planted setting goes while its program runs.
func TestReducedKeepsHarmlessSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository, reduced)
	out, code := w.sh(identity + `echo 1 > a; git add a; git commit -qm a; git remote add origin https://example.com/a.git; git config user.name Eve
git checkout -qb b; git branch -q --set-upstream-to=main; git config core.fsmonitor evil; while git config core.fsmonitor; do :; done`)
	if code != 0 {
		t.Fatal(out)
	}
	if err := w.box.Close(); err != nil {
		t.Error(err)
	}
	config := git(t, w.workspace, "config", "--list", "--local")
	for _, want := range []string{"remote.origin.url=https://example.com/a.git", "branch.b.merge=refs/heads/main", "user.name=Eve"} {
		if !strings.Contains(config, want) {
			t.Errorf("no %s: %s", want, config)
		}
	}
	if strings.Contains(config, "evil") {
		t.Error(config)
	}
}

// Programs change when and where they run themselves, and not other programs of the user.
func TestReducedSchedulesNoOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	args := []string{"sh", "-c", "echo up; exec sleep 1000"}
	if os.Geteuid() == 0 { // The kernel protects a process with more capabilities.
		args = append([]string{"setpriv", "--inh-caps=-all", "--bounding-set=-all"}, args...)
	}
	other := exec.Command(args[0], args[1:]...)
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	up, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := up.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	pid := strconv.Itoa(other.Process.Pid)
	for _, script := range []string{
		"renice -n 19 -p " + pid, "renice -n 19 -g " + pid, "ionice -c 3 -p " + pid,
		"taskset -p 1 " + pid, "chrt --idle -p 0 " + pid,
	} {
		if out, code := w.sh(script); code == 0 {
			t.Errorf("%s: output = %s", script, out)
		}
	}
	for _, script := range []string{
		"nice -n 5 true", `[ $(nice -n 5 nice) = $(($(nice) + 5)) ]`, "ionice -c 3 true", "taskset 1 true", "chrt --idle 0 true", "taskset -p $$",
	} {
		if out, code := w.sh(script); code != 0 {
			t.Errorf("%s: output = %s", script, out)
		}
	}
}
