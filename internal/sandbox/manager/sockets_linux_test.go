package manager_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// A socket that is allowed and not there, such as that of an agent which does not
// run, is left out, and the box works.
func TestAllowedSockets(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	at = filepath.Join(at, "agent")
	ln, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // after the parts of this test
	for name, tt := range map[string]struct{ variable, want string }{
		"no agent runs": {"", "no socket"},
		"an agent runs": {at, "socket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, real, func(w *world) {
				w.cfg.Settings.Sockets = []string{"ssh-agent"}
				w.cfg.Getenv = func(name string) string {
					if name == "SSH_AUTH_SOCK" {
						return tt.variable
					}
					return ""
				}
			})
			box, err := w.manager().Box(t.Context(), w.env)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			if got := w.run(box, "[ -S '"+at+"' ] && echo socket || echo no socket"); got != tt.want {
				t.Errorf("inside there is %q, want %q", got, tt.want)
			}
			if got := w.run(box, `echo "$SSH_AUTH_SOCK"`); got != tt.variable {
				t.Errorf("programs look for the agent at %q, want %q", got, tt.variable)
			}
		})
	}
}

// A real SSH agent can be allowed while the conversation is open, and taken back: new
// programs then sign with its key, which they cannot read.
func TestAllowedSSHAgent(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) { t.Parallel(); allowSSHAgent(t, level) })
	}
}

func allowSSHAgent(t *testing.T, level sandbox.Level) {
	for _, program := range []string{"ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at, key := filepath.Join(dir, "agent"), filepath.Join(dir, "key")
	w := newWorld(t, real, func(w *world) {
		if level == sandbox.Reduced {
			w.cfg.Settings.Minimum = level
			w.cfg.Ask = func(context.Context) probe.Result { return probe.Result{Level: level, Landlock: 1} }
		}
		w.cfg.Grants = grants.Open(grants.Config{State: w.state, Home: w.home})
		w.cfg.Getenv = func(name string) string { return map[string]string{"SSH_AUTH_SOCK": at}[name] }
	})
	outside := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+at)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	outside("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "canary", "-f", key)
	agent := exec.CommandContext(t.Context(), "ssh-agent", "-D", "-a", at)
	said, err := agent.StdoutPipe()
	if err == nil {
		err = agent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	if _, err := said.Read(make([]byte, 1)); err != nil { // It says where it listens.
		t.Fatal(err)
	}
	outside("ssh-add", "-q", key)
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.env.Workspace, "key.pub"), string(public))

	m := w.manager()
	box := w.box(m)
	const list = "ssh-add -l 2>&1 | grep -c canary"
	if got := w.run(box, list); got != "0" {
		t.Errorf("nothing is allowed, and there are %s keys", got)
	}
	allowed := manager.Answer{Access: sandbox.Socket, Target: "ssh-agent", Scope: manager.Conversation}
	if err := m.Answer(t.Context(), w.env, allowed); err != nil {
		t.Fatal(err)
	}
	if !box.(interface{ Stale() bool }).Stale() {
		t.Error("the shell of the conversation is not told")
	}
	if got := w.run(box, list); got != "1" {
		t.Errorf("the agent is allowed, and there are %s keys", got)
	}
	if got := w.run(box, "echo text | ssh-keygen -q -Y sign -f key.pub -n file 2>&1 | head -n 1"); got != "-----BEGIN SSH SIGNATURE-----" {
		t.Error(got)
	}
	if got := w.run(box, "cat '"+key+"' 2>&1"); strings.Contains(got, "PRIVATE") {
		t.Error(got)
	}
	if _, err := w.cfg.Grants.Remove(t.Context(), func(grants.Grant) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := w.run(box, list); got != "0" {
		t.Errorf("the agent is not allowed any more, and there are %s keys", got)
	}
}
