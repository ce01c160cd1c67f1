package inside

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/signal"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// helper is the first process of a box.
type helper struct {
	sending   sync.Mutex
	starts    chan start // to the thread without rights
	terminals int        // the directory of the outer terminals; O_PATH
	console   bool       // /dev/console is a terminal
	reduced   *reduced   // nil in namespaces
	landlock  int

	mu       sync.Mutex
	programs map[int]uint64 // by PID; those that run
	groups   map[uint64]int // of programs that ended, while the group has processes
}

// start is a program for the thread without rights.
type start struct {
	id    uint64
	attr  *syscall.ProcAttr
	path  string
	args  []string
	pidfd *int
	done  chan error
}

// maxFiles is how many descriptors one message can have.
const maxFiles = 253

// serve does what the daemon asks for until it is gone.
func (h *helper) serve() {
	go h.reap()
	data, oob := make([]byte, MaxMessage), make([]byte, unix.CmsgSpace(4*maxFiles))
	for {
		n, oobn, err := receive(data, oob)
		if err != nil || n == 0 {
			return
		}
		fds, err := descriptors(oob[:oobn])
		if err != nil {
			return
		}
		var m Message
		if err := json.Unmarshal(data[:n], &m); err != nil {
			return
		}
		switch m.Kind {
		case KindStart:
			h.start(m.ID, fds)
		case KindKill:
			h.kill(m.ID)
		case KindCount:
			h.count()
		}
		closeAll(fds)
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// descriptors reads the descriptors of a message.
func descriptors(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	parts, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range parts {
		more, err := syscall.ParseUnixRights(&parts[i])
		if err != nil {
			return nil, err
		}
		fds = append(fds, more...)
	}
	return fds, nil
}

// start starts a program and says so.
func (h *helper) start(id uint64, fds []int) {
	pidfd := -1
	err := h.prepare(id, fds, &pidfd)
	if err != nil {
		_ = h.send(failure(KindRefused, id, err)) // Without the daemon, serve ends.
	}
}

func (h *helper) prepare(id uint64, fds []int, pidfd *int) error {
	if len(fds) == 0 {
		return errors.New("a program without its description")
	}
	s, err := readStart(fds[0])
	if err != nil {
		return err
	}
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	files, err := pick(s.Files, fds[1:], null.Fd())
	if err != nil {
		return err
	}
	program, err := look(s.Args, s.Env, s.Dir)
	if err != nil {
		return err
	}
	sys := &syscall.SysProcAttr{PidFD: pidfd, Setpgid: !s.Terminal, Setsid: s.Terminal, Setctty: s.Terminal}
	if h.reduced != nil {
		sys.Pdeathsig = unix.SIGKILL // where no namespace ends with the helper
	}
	asked := start{
		id: id, path: program, args: s.Args, pidfd: pidfd, done: make(chan error),
		attr: &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files, Sys: sys},
	}
	err = h.startIn(asked, s.Terminal)
	runtime.KeepAlive(null)
	return err
}

// startIn has a thread without rights start a program.
func (h *helper) startIn(s start, terminal bool) error {
	if terminal && h.reduced != nil {
		return h.startAtTerminal(s)
	}
	if terminal {
		if err := h.showTerminal(int(s.attr.Files[0])); err != nil {
			return err
		}
	}
	h.starts <- s
	return <-s.done
}

// fork runs in the thread without rights.
func (h *helper) fork(s start) error {
	// The program may end before it is in the map: it is not reaped until then.
	h.mu.Lock()
	defer h.mu.Unlock()
	pid, err := syscall.ForkExec(s.path, s.args, s.attr) //nolint:forbidigo // this is the inside of a box
	if err != nil {
		return step("start "+s.args[0], err)
	}
	h.programs[pid] = s.id
	maps.DeleteFunc(h.groups, func(_ uint64, group int) bool { return group == pid })
	err = h.send(Message{Kind: KindStarted, ID: s.id}, *s.pidfd)
	_ = unix.Close(*s.pidfd)
	return err
}

func readStart(fd int) (*Start, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(dup), "start")
	defer func() { _ = file.Close() }()
	return parseStart(io.NewSectionReader(file, 0, maxStart))
}

// maxStart is more than the kernel takes as arguments and environment, in bytes.
const maxStart = 64 << 20

func parseStart(r io.Reader) (*Start, error) {
	s := &Start{}
	if err := json.NewDecoder(r).Decode(s); err != nil {
		return nil, err
	}
	if len(s.Args) == 0 || s.Args[0] == "" {
		return nil, errors.New("a program without a name")
	}
	if s.Terminal && (len(s.Files) == 0 || !s.Files[0]) {
		return nil, errors.New("a program without the terminal that it is to have")
	}
	return s, nil
}

// pick gives each file of a program its descriptor.
func pick(wanted []bool, fds []int, null uintptr) ([]uintptr, error) {
	files := make([]uintptr, max(3, len(wanted)))
	for i := range files {
		files[i] = null
		if i < len(wanted) && wanted[i] {
			if len(fds) == 0 {
				return nil, errors.New("a program with fewer files than it says")
			}
			files[i], fds = uintptr(fds[0]), fds[1:]
		}
	}
	return files, nil
}

// look finds a program as execvp does.
func look(args, env []string, dir string) (string, error) {
	name := args[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	list := "/usr/local/bin:/usr/bin:/bin"
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			list = value
		}
	}
	missing := syscall.ENOENT
	for _, in := range strings.Split(list, ":") {
		if !path.IsAbs(in) {
			in = path.Join(dir, in)
		}
		at := path.Join(in, name)
		info, err := os.Stat(at)
		if err != nil || info.IsDir() {
			continue
		}
		if unix.Access(at, unix.X_OK) == nil {
			return at, nil
		}
		missing = syscall.EACCES
	}
	return "", step("start "+name, missing)
}

// kill kills the group of a program. Its number is that of the program, which is
// not given to another process as long as the group has one.
func (h *helper) kill(id uint64) {
	h.mu.Lock()
	if group, ok := h.groups[id]; ok {
		_ = unix.Kill(-group, unix.SIGKILL)
		delete(h.groups, id)
	}
	for pid, running := range h.programs {
		if running == id {
			_ = unix.Kill(-pid, unix.SIGKILL)
			_ = unix.Kill(pid, unix.SIGKILL) // One that left its group.
		}
	}
	h.mu.Unlock()
	_ = h.send(Message{Kind: KindKilled, ID: id})
}

// count counts the processes of the box. If it cannot, it says that there are some.
func (h *helper) count() {
	others := 0
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != 1 {
			others++
		}
	}
	if err != nil {
		others = max(others, 1)
	}
	_ = h.send(Message{Kind: KindCounted, Count: others}) // Without the daemon, serve ends.
}

// reap waits for what ends. It is the parent of every process that lost its own.
func (h *helper) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	for {
		for h.reapOne() {
		}
		<-ended
	}
}

// reapOne reaps one process, and tells whether there may be another one.
//
// A process can make its parent its debugger, and its parent may be this process.
// Its threads then end only when they are waited for, so __WALL is given. One that
// stops for its debugger would do so for ever: it is killed.
func (h *helper) reapOne() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case err != nil || pid == 0:
		return false
	case status.Stopped():
		_ = unix.Kill(pid, unix.SIGKILL)
		return true
	}
	id, ok := h.programs[pid]
	if !ok {
		return true
	}
	delete(h.programs, pid)
	h.leaveTerminal(id)
	if unix.Kill(-pid, 0) == nil {
		h.groups[id] = pid
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	_ = h.send(Message{Kind: KindExited, ID: id, Code: code}) // Without the daemon, serve ends.
	return true
}
