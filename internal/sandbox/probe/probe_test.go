package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is a part of sandboxes, too
)

func TestReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err   error
		files map[string]string
		want  string
	}{
		{boxes.ErrUnsupported, nil, "no sandbox for this system"},
		{syscall.ENOSYS, nil, "older than 5.12"},
		{syscall.EACCES, map[string]string{appArmor: "1\n"}, "AppArmor"},
		{syscall.EPERM, map[string]string{debian: "0\n"}, "unprivileged_userns_clone is 0"},
		{syscall.ENOSPC, map[string]string{namespaces: "0\n"}, "max_user_namespaces is 0"},
		{syscall.EPERM, map[string]string{status: "Name:\tx\nSeccomp:\t2\n"}, "already runs inside"},
		{syscall.EPERM, map[string]string{status: "Name:\tx\nSeccomp:\t2\n", cgroup: "0::/user.slice/user-1000.slice/session-1.scope\n"}, "already runs inside"},
		{syscall.EPERM, map[string]string{status: "Name:\tx\nSeccomp:\t2\n", cgroup: "0::/system.slice/docker-1.scope\n"}, "already runs inside"},
		{syscall.EPERM, map[string]string{status: "Name:\tx\nSeccomp:\t2\n", cgroup: "3:cpu:/a.service\n0::/system.slice/my-ohgw.service\n"}, "to the unit my-ohgw.service"},
		{syscall.EPERM, map[string]string{appArmor: "0\n"}, "forbids user namespaces: start the sandbox: operation not permitted"},
		{fmt.Errorf("make /proc: %w", syscall.EPERM), nil, "a part of /proc is covered"},
		{errors.New("no space"), nil, "no space"},
	}
	for _, test := range tests {
		read := func(file string) ([]byte, error) {
			if text, ok := test.files[file]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		r := ask(t.Context(), read, func(context.Context, sandbox.Level) error {
			if test.err == nil {
				return nil
			}
			return fmt.Errorf("start the sandbox: %w", test.err)
		})
		if r.Level != sandbox.Off || !strings.Contains(r.Reason, test.want) || r.Fix == "" {
			t.Errorf("the error %v: %+v, want %q", test.err, r, test.want)
		}
	}
}

// Level reduced without connections, servers and terminals says so, and what to do.
func TestLevelReducedWithoutItsCallsIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		fix  string
	}{
		{"a container", syscall.EPERM, "rely on the outer one: --sandbox external; or allow these system calls, in Docker by: docker run --cap-add SYS_PTRACE"},
		{"one with CAP_SYS_ADMIN", fmt.Errorf("make /proc: %w", syscall.EPERM), "start ohgw outside of it, or without that option (docs/sandbox.md); or allow these system calls, in Docker by: docker run --cap-add SYS_PTRACE"},
	} {
		read := func(string) ([]byte, error) { return []byte("Name:\tx\nSeccomp:\t2\n"), nil }
		r := ask(t.Context(), read, func(_ context.Context, level sandbox.Level) error {
			if level == sandbox.Full {
				return c.err
			}
			return errNoCalls
		})
		if r.Level != sandbox.Reduced || !strings.Contains(r.Reason, "; and pidfd_getfd or process_vm_readv is forbidden here, too: ") || r.Fix != c.fix {
			t.Errorf("%s: report = %+v, want the fix %q", c.name, r, c.fix)
		}
	}
}

func TestTheFixOfAUnitEditsIt(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]string{
		"/system.slice/ohgw.service": "systemctl edit --full ohgw.service",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/ohgw.service":    "systemctl --user edit --full ohgw.service",
		"/user.slice/user-0.slice/user@0.service/app.slice/app-a@b\\x2dc.service": "systemctl --user edit --full app-a@b\\x2dc.service",
	} {
		for _, line := range []string{"0::" + group, "1:name=systemd:" + group, "12:pids:/x\n1:name=systemd:" + group + "\n0::/\n"} {
			if got := unitFix(unit(line)); got != "take RestrictNamespaces= and SystemCallFilter= out of it: "+want {
				t.Errorf("%q: repair = %q", line, got)
			}
		}
	}
}
