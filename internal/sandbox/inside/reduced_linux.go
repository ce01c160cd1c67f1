package inside

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/seccomp"
	"github.com/ohgw/ohgw/internal/subpath"
)

// SocketBroker is, in a message, the source of the notifications of level reduced.
const SocketBroker = "broker"

// minLandlock is the ABI that level reduced needs: without it, files that can only
// be read could be emptied.
const minLandlock = 3

// reduced is what the helper of a box without namespaces has. Landlock and the
// filter take the rights of one thread and of what it starts; the helper itself
// keeps the user's rights, so no other process may look into it.
type reduced struct {
	abi   int
	rules ruleset
	// terminals are the threads of programs with a terminal, by program: a domain of
	// Landlock can use the terminals only that were there when it was made. They are
	// under the helper's lock.
	terminals map[uint64]chan start
}

// buildReduced makes a box without namespaces.
func (h *helper) buildReduced(p *policy.Policy) (ready Message, files []int, err error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return ready, nil, step("protect the helper", err)
	}
	discard()
	// What loses its parent stays below the helper, which ends it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return ready, nil, step("be the parent of orphans", err)
	}
	r := &reduced{terminals: map[uint64]chan start{}}
	if r.abi, err = landlockABI(); err != nil {
		return ready, nil, err
	}
	if r.abi < minLandlock {
		return ready, nil, step("use Landlock of ABI 3", unix.EOPNOTSUPP)
	}
	if r.rules, err = reducedRules(p); err != nil {
		return ready, nil, err
	}
	h.reduced, h.landlock = r, r.abi
	listener, err := h.startReduced(h.starts, nil)
	if err != nil {
		return ready, nil, err
	}
	return Message{Kind: KindReady, Landlock: r.abi, Sockets: []string{SocketBroker}}, []int{listener}, nil
}

// startReduced makes a thread without rights that starts programs, until the channel
// is closed. The descriptor has its notifications.
func (h *helper) startReduced(starts chan start, terminals []int) (listener int, err error) {
	restricted := make(chan error)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine.
		var err error
		listener, err = h.reduced.restrict(terminals)
		restricted <- err
		if err != nil {
			return
		}
		for s := range starts {
			s.done <- h.fork(s)
		}
	}()
	err = <-restricted
	return listener, err
}

// startAtTerminal starts a program in a thread of its own, which can use the
// program's terminal.
func (h *helper) startAtTerminal(s start) error {
	var terminals []int
	for _, fd := range s.attr.Files {
		if _, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err == nil {
			terminals = append(terminals, int(fd))
		}
	}
	starts := make(chan start)
	listener, err := h.startReduced(starts, terminals)
	if err != nil {
		return err
	}
	err = h.send(Message{Kind: KindBroker}, listener)
	_ = unix.Close(listener)
	if err != nil {
		close(starts)
		return err
	}
	h.mu.Lock()
	h.reduced.terminals[s.id] = starts
	h.mu.Unlock()
	starts <- s
	if err = <-s.done; err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.leaveTerminal(s.id)
	}
	return err
}

// leaveTerminal ends the thread of a program with a terminal. The lock is held.
func (h *helper) leaveTerminal(id uint64) {
	if h.reduced == nil {
		return
	}
	if starts, ok := h.reduced.terminals[id]; ok {
		close(starts)
		delete(h.reduced.terminals, id)
	}
}

// endAll ends everything that runs in the box.
func (h *helper) endAll() { sandbox.EndBelow() }

// restrict takes the rights of the calling thread, and of what it starts.
func (r *reduced) restrict(terminals []int) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, step("set no_new_privs", err)
	}
	if err := dropOwnCapabilities(); err != nil {
		return 0, step("drop the capabilities", err)
	}
	// The daemon connects for the programs: they themselves cannot, with or without
	// the filter.
	attr := unix.LandlockRulesetAttr{}
	if r.abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if err := landlock(r.abi, attr, r.rules, terminals...); err != nil {
		return 0, err
	}
	return seccomp.InstallReduced()
}

// dropOwnCapabilities drops what the user has: root has them all, others have none.
func dropOwnCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		return err
	}
	if has[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		return dropCapabilities()
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// systemTrees are what programs of the system need to read, as far as they exist.
var systemTrees = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store", "/snap",
	"/run/current-system", "/run/systemd/resolve", "/sys/devices", "/sys/fs/cgroup",
	"/sys/kernel/mm", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/apt", "/var/cache/apt", "/var/cache/fontconfig", "/var/lib/alternatives",
}

// sharedDevices are those that can be used. The terminals of the user are not among
// them.
var sharedDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx"}

// sharedMemory is where programs share memory by name, with all of the user's.
const sharedMemory = "/dev/shm"

// reducedRules makes the rules for the files of a policy.
func reducedRules(p *policy.Policy) (ruleset, error) {
	// /proc shows of other processes what it shows to other users. Nothing in it can be
	// left out: most of it does not exist yet.
	readable := append([]string{"/proc"}, p.Read...)
	// ohgw itself is one of the programs of a box.
	if self := real("/proc/self/exe"); self != "" {
		readable = append(readable, self)
	}
	var listable []string
	hidden := slices.DeleteFunc(slices.Clone(p.Hide), func(at string) bool { return unix.Access(at, unix.R_OK) != nil })
	for _, at := range systemTrees {
		found, opened, err := readableIn(real(at), hidden)
		if err != nil {
			return nil, err
		}
		readable, listable = append(readable, found...), append(listable, opened...)
	}
	slices.Sort(readable)
	devices := make([]string, 0, len(sharedDevices))
	for _, at := range sharedDevices {
		devices = append(devices, real(at))
	}
	writable := p.Trees()
	if at := real(sharedMemory); at != "" {
		writable = append(writable, at)
	}
	return ruleset{
		{slices.Compact(readable), accessRead},
		{listable, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		{slices.DeleteFunc(devices, func(at string) bool { return at == "" }), accessDevice},
		{writable, ^uint64(0)},
	}, nil
}

// ReducedReads reports whether programs of level reduced can read what is at a path,
// which has no symbolic links.
func ReducedReads(p *policy.Policy, at string) bool {
	covers := func(tree string) bool { return tree != "" && subpath.Within(tree, at) }
	if slices.ContainsFunc(slices.Concat(p.Read, p.Write, []string{p.Workspace, p.Home, p.Tmp}), covers) {
		return true
	}
	ofSystem := slices.ContainsFunc(systemTrees, func(tree string) bool { return covers(real(tree)) })
	return ofSystem && !slices.ContainsFunc(p.Hide, covers)
}

// real is a path without symbolic links; "" if there is nothing.
func real(at string) string {
	found, err := filepath.EvalSymlinks(at)
	if err != nil {
		return ""
	}
	return found
}

// readableIn finds the paths that make a tree readable without what is hidden in it.
// A rule cannot take away what another one gives, so the way to what is hidden has
// rules for what is beside it. Of the directories on that way the names can be
// listed, and those below them.
func readableIn(tree string, hidden []string) (readable, listable []string, err error) {
	if tree == "" || slices.ContainsFunc(hidden, func(at string) bool { return subpath.Within(at, tree) }) {
		return nil, nil, nil
	}
	if !slices.ContainsFunc(hidden, func(at string) bool { return subpath.Within(tree, at) }) {
		return []string{tree}, nil, nil
	}
	entries, err := os.ReadDir(tree)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, nil // It is as unreadable inside.
	}
	if err != nil {
		return nil, nil, step("read "+tree, err)
	}
	listable = []string{tree}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue // What a link leads to has its own place.
		}
		more, opened, err := readableIn(path.Join(tree, entry.Name()), hidden)
		if err != nil {
			return nil, nil, err
		}
		readable, listable = append(readable, more...), append(listable, opened...)
	}
	return readable, listable, nil
}
