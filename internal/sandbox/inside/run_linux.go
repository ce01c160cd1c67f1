package inside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

func run(args []string) int {
	if len(args) != 1 || !isSocket(controlFD) {
		fmt.Fprintln(os.Stderr, Name+" is a part of ohgw and is not run by hand") //nolint:forbidigo // there is no other stream yet
		return refusedCode
	}
	// Nothing that this process has open reaches a program.
	if err := unix.CloseRange(policyFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return refusedCode
	}
	h := &helper{programs: map[int]uint64{}, groups: map[uint64]int{}, starts: make(chan start)}
	ready, files, err := h.build()
	if err != nil {
		_ = h.send(failure(KindFailed, 0, err))
		return 1
	}
	if err := h.send(ready, files...); err != nil {
		return 1
	}
	for _, fd := range files {
		_ = unix.Close(fd)
	}
	h.serve()
	if h.reduced != nil {
		h.endAll()
	}
	return 0
}

// isSocket reports whether a descriptor is one.
func isSocket(fd int) bool {
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFSOCK
}

func readPolicy() (*policy.Policy, error) {
	file := os.NewFile(policyFD, "policy")
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, policy.MaxSize+1))
	if err != nil {
		return nil, step("read the policy", err)
	}
	return policy.Parse(data)
}

// build makes the box, up to the point where programs can be started.
func (h *helper) build() (Message, []int, error) {
	none := Message{}
	p, err := readPolicy()
	if err != nil {
		return none, nil, err
	}
	if p.Reduced {
		return h.buildReduced(p)
	}
	if os.Getpid() != 1 {
		return none, nil, errors.New("the helper is in no namespace of its own")
	}
	if err := mapUser(p.UID, p.GID); err != nil {
		return none, nil, step("be the same user inside as outside", err)
	}
	// No other process may look into this one: it keeps rights over its namespaces.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return none, nil, step("protect the helper", err)
	}
	if err := refuseSignals(); err != nil {
		return none, nil, step("refuse signals", err)
	}
	if err := loopbackUp(); err != nil {
		return none, nil, err
	}
	ready := Message{Kind: KindReady}
	var files []int
	if p.Network {
		if ready.Sockets, files, err = gateSockets(p.Ports); err != nil {
			return none, nil, err
		}
	}
	tree, err := buildMounts(p)
	if err != nil {
		return none, nil, err
	}
	h.terminals = tree.terminals
	if p.Processes > 0 {
		limit := unix.Rlimit{Cur: uint64(p.Processes), Max: uint64(p.Processes)}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
			return none, nil, step("limit the number of processes", err)
		}
	}
	restricted := make(chan error)
	go h.startPrograms(tree.writable, restricted)
	if err := <-restricted; err != nil {
		return none, nil, err
	}
	ready.Landlock = h.landlock
	return ready, files, nil
}

// mapUser makes the user inside the one outside. There is no other user and no other
// group inside.
func mapUser(uid, gid int) error {
	for _, m := range [][2]string{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1\n", uid, uid)},
		{"gid_map", fmt.Sprintf("%d %d 1\n", gid, gid)},
	} {
		if err := os.WriteFile("/proc/self/"+m[0], []byte(m[1]), 0); err != nil {
			return err
		}
	}
	return nil
}

// startPrograms gives up all rights in its thread, and starts programs from it:
// they have what this thread has. Threads of this process that are made later do
// not come from this one, as long as it is locked.
func (h *helper) startPrograms(writable []string, restricted chan<- error) {
	runtime.LockOSThread()
	abi, err := restrict(ruleset{{[]string{"/"}, accessRead}, {writable, ^uint64(0)}})
	h.landlock = abi
	restricted <- err
	if err != nil {
		return
	}
	for s := range h.starts {
		s.done <- h.fork(s)
	}
}
