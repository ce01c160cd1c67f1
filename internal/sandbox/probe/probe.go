// Package probe finds out which sandbox this machine can have, by making one.
//
// It changes nothing on the machine. Invariants: level full or reduced is reported only
// after a program has run in a box of that level; level reduced without a reason that
// names it has connections, servers and terminals.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape/attempt"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// Result is what this machine can have.
type Result struct {
	Level    sandbox.Level // Full, Reduced, or Off if there is none
	Landlock int           // the ABI that the kernel has; 0 for none
	Reason   string        // why the level is not better; "" for the best one
	Fix      string        // what to do about it
}

// Prober asks once and remembers the answer. The zero value is ready.
type Prober struct {
	once   sync.Once
	result Result
}

// Ask makes a box and runs a program in it.
func (p *Prober) Ask(ctx context.Context) Result {
	p.once.Do(func() {
		if runtime.GOOS == "linux" {
			p.result = ask(ctx, os.ReadFile, try)
		} else {
			p.result = elsewhere(ctx, runtime.GOOS, try)
		}
	})
	return p.result
}

// ask takes the world as functions: a test has another one.
func ask(ctx context.Context, read func(string) ([]byte, error), try func(context.Context, sandbox.Level) error) Result {
	r := Result{Level: sandbox.Full, Landlock: landlockABI()}
	err := try(ctx, sandbox.Full)
	if err == nil {
		if r.Landlock < 2 {
			r.Reason = "this kernel has no Landlock of ABI 2 or later: the sandbox has one layer less"
			r.Fix = "use a kernel of 5.19 or later with Landlock"
		}
		return r
	}
	r.Reason, r.Fix = explain(err, read)
	if errors.Is(err, boxes.ErrUnsupported) || ctx.Err() != nil {
		r.Level = sandbox.Off
		return r
	}
	r.Level = sandbox.Reduced
	switch err := try(ctx, sandbox.Reduced); {
	case err == nil:
	case errors.Is(err, errNoCalls):
		r.Reason += "; and " + noCalls
		if r.Fix == insideFix {
			r.Fix = "rely on the outer one: --sandbox external"
		}
		r.Fix += "; or " + allowCalls
	default:
		r.Level = sandbox.Off
		r.Reason += "; and " + explainReduced(err, r.Landlock)
		if r.Fix == insideFix {
			r.Fix = onlyOutsideFix
		}
	}
	return r
}

// minLandlock is the ABI that level reduced needs.
const minLandlock = 3

// explainReduced says why there is no box without namespaces either.
func explainReduced(err error, landlock int) string {
	switch {
	case landlock == 0:
		return "this kernel has no Landlock, or it is forbidden here"
	case landlock < minLandlock:
		return fmt.Sprintf("this kernel has Landlock of ABI %d, where 3 is needed (kernel 6.2)", landlock)
	case errors.Is(err, syscall.EBUSY):
		return "a filter of system calls around ohgw takes the place of its own"
	}
	return "level reduced does not work either: " + err.Error()
}

// errNoCalls says that a box of level reduced holds, and that ohgw cannot make the calls
// of the programs in it: connections, servers, terminals.
var errNoCalls = errors.New("the calls of programs cannot be made in their place")

// What is missing then, and what to do. Docker and what has its list of system calls
// forbid pidfd_getfd to a container without CAP_SYS_PTRACE.
const (
	noCalls    = "pidfd_getfd or process_vm_readv is forbidden here, too: commands have no network, no servers and no new terminals"
	allowCalls = "allow these system calls, in Docker by: docker run --cap-add SYS_PTRACE"
)

// try makes a box of a level in directories of its own.
func try(ctx context.Context, level sandbox.Level) (err error) {
	dir, err := os.MkdirTemp("", "ohgw-sandbox-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	p := policy.Policy{Workspace: filepath.Join(dir, "workspace"), Home: filepath.Join(dir, "home"), HomeAt: "/run/home", Network: true}
	for _, made := range []string{p.Workspace, p.Home} {
		if err := os.Mkdir(made, 0o700); err != nil {
			return err
		}
	}
	box, err := boxes.New(boxes.Config{Level: level, Policy: p})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	code, err := run(ctx, box, dir, nil, "true")
	if err == nil && code != 0 {
		err = fmt.Errorf("a program in the sandbox ended with exit code %d", code)
	}
	if err == nil && level == sandbox.Reduced && runtime.GOOS == "linux" {
		err = tryCalls(ctx, box, dir)
	}
	return err
}

// tryCalls has a program of level reduced start a server and connect to it, which ohgw
// does in its place.
func tryCalls(ctx context.Context, box sandbox.Box, dir string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = self.Close() }()
	code, err := run(ctx, box, dir, []*os.File{nil, nil, nil, self}, "/proc/self/fd/3", attempt.Name, "serve")
	switch {
	case err != nil:
		return err
	case code == attempt.Refused:
		return errNoCalls
	case code != attempt.Succeeded:
		return fmt.Errorf("a server in the sandbox ended with exit code %d", code)
	}
	return nil
}

func run(ctx context.Context, box sandbox.Box, dir string, files []*os.File, args ...string) (code int, err error) {
	running, err := box.Start(ctx, sandbox.Program{Args: args, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, Files: files})
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	defer stop()
	return running.Wait()
}

// Where the kernel says what it allows.
const (
	appArmor   = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	debian     = "/proc/sys/kernel/unprivileged_userns_clone"
	namespaces = "/proc/sys/user/max_user_namespaces"
	status     = "/proc/self/status"
	cgroup     = "/proc/self/cgroup"
)

// explain says why there is no box, and what to do.
func explain(err error, read func(string) ([]byte, error)) (reason, fix string) {
	value := func(file string) string {
		data, err := read(file)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	denied := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC)
	switch {
	case errors.Is(err, boxes.ErrUnsupported):
		return "ohgw has no sandbox for this system", "use Linux, on Windows in WSL2, or run ohgw in a container"
	case errors.Is(err, syscall.ENOSYS):
		return "this kernel is older than 5.12", "use a newer kernel"
	case denied && value(appArmor) == "1":
		return "AppArmor forbids user namespaces to this program", "install ohgw from its deb or rpm package, which has an AppArmor profile; for other installations see docs/sandbox.md"
	case denied && switchedOff(value) != "":
		return "this system forbids user namespaces (" + switchedOff(value) + " is 0)", "ask the administrator to allow them"
	case denied && strings.Contains(err.Error(), "make /proc:"):
		return "a part of /proc is covered, by a container or an option of the service: the kernel then permits no new /proc",
			"start ohgw outside of it, or without that option (docs/sandbox.md)"
	case denied && strings.Contains(value(status), "\nSeccomp:\t2"):
		return filtered(unit(value(cgroup)))
	case denied:
		return "this system forbids user namespaces: " + err.Error(), "ask the administrator to allow them"
	}
	return err.Error(), "report this as an issue, with the output of: ohgw sandbox status --json"
}

// What to do inside of another sandbox or a container, with a sandbox of ohgw's at
// level reduced, or with none.
const (
	insideFix      = "rely on the outer one, or start ohgw outside of it"
	onlyOutsideFix = "rely on the outer one: --sandbox external; or start ohgw outside of it"
)

// filtered says that a filter of system calls is around ohgw: that of a unit, if its
// control group is known, or of a sandbox or a container.
func filtered(unit string) (reason, fix string) {
	if unit == "" {
		return "ohgw already runs inside a sandbox or a container, which forbids another one", insideFix
	}
	return "a filter of system calls forbids namespaces to the unit " + path.Base(unit), unitFix(unit)
}

// unit is the control group of the systemd service that this process is a part of; ""
// if it is a part of none. Containers and sessions end in other words.
func unit(groups string) string {
	for line := range strings.Lines(groups) {
		// The control group is the third field, of systemd's own hierarchy or of the only one.
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && (fields[1] == "" || fields[1] == "name=systemd") && strings.HasSuffix(fields[2], ".service") {
			return fields[2]
		}
	}
	return ""
}

// unitFix is the command for a service of the system, or for one of a user.
func unitFix(group string) string {
	edit := "systemctl edit --full "
	if strings.Contains(group, "/user@") {
		edit = "systemctl --user edit --full "
	}
	return "take RestrictNamespaces= and SystemCallFilter= out of it: " + edit + path.Base(group)
}

// switchedOff is the file by which this system forbids user namespaces; "" if none
// does.
func switchedOff(value func(string) string) string {
	for _, file := range []string{debian, namespaces} {
		if value(file) == "0" {
			return file
		}
	}
	return ""
}
