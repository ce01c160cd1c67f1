package boxes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/sandbox/broker"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// runtime is the helper with its namespaces.
type runtime struct {
	cmd    *exec.Cmd
	conn   *net.UnixConn
	stderr *bounded.Tail  // what the helper says when it crashes
	broker *broker.Broker // connects for the programs of level reduced; nil at level full
	proxy  net.Listener   // of level reduced with a network
	stop   func() error   // ends what answers for the network
	ready  chan struct{}  // closed when the helper said how its start went
	gone   chan struct{}  // closed when it is dead, and everything in the box
	wg     sync.WaitGroup

	sending sync.Mutex

	mu        sync.Mutex
	err       error // why the box could not be built
	built     inside.Message
	files     []*os.File // the sockets of a ready message
	last      uint64
	processes map[uint64]*process

	counts chan int // how many processes there are in the box
}

// startLimit is for a machine that is very busy: 15 ms are usual.
const startLimit = time.Minute

// startRuntime makes the namespaces, and waits until the box is built.
func startRuntime(ctx context.Context, p *policy.Policy, cfg *Config) (*runtime, error) {
	r := &runtime{stderr: &bounded.Tail{Max: 4 << 10}, ready: make(chan struct{}), gone: make(chan struct{}), processes: map[uint64]*process{}, counts: make(chan int, 1)}
	if err := makeHome(p); err != nil { // It may have been removed since.
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	release, err := holdHome(p.Home, false)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	serve := r.serveNetwork
	if p.Reduced {
		if err := r.openBroker(p, cfg); err != nil {
			release()
			return nil, fmt.Errorf("start the sandbox: %w", err)
		}
		serve = r.serveProxy
	}
	if err := r.launch(p, cfg.Policy.HomeAt, release); err != nil {
		release()
		if r.proxy != nil {
			_ = r.proxy.Close()
		}
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case <-r.ready:
	case <-r.gone:
	case <-late.C:
		r.close()
		return nil, fmt.Errorf("start the sandbox: it was not ready after %v", startLimit)
	case <-ctx.Done():
		r.close()
		return nil, fmt.Errorf("start the sandbox: %w", ctx.Err())
	}
	if err := r.startError(); err != nil {
		r.close()
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	if err := serve(cfg.Serve); err != nil {
		r.close()
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	return r, nil
}

func (r *runtime) startError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return r.err
	case r.built.Kind == inside.KindReady:
		return nil
	case r.stderr.String() != "":
		return fmt.Errorf("the helper ended: %s", r.stderr)
	}
	return errors.New("the helper ended without a word")
}

// launch starts the helper in new namespaces, and gives it the policy when it has
// begun: the look at what is hidden on this machine takes as long. Home is the user's
// home directory. Release is called when everything in the box is dead.
func (r *runtime) launch(p *policy.Policy, home string, release func()) error {
	if inside.Unknown() {
		return errors.New("this program cannot be the helper of a sandbox; it has to import internal/sandbox/helperinit")
	}
	policyFile, send, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = policyFile.Close() }()
	ours, theirs, err := socketpair()
	if err != nil {
		_ = send.Close()
		return err
	}
	defer func() { _ = theirs.Close() }()
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = send.Close()
		return err
	}
	r.conn = conn.(*net.UnixConn) // a pair of Unix sockets
	// The helper ends with its socket, not with a context.
	r.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{inside.Name}, Env: inside.Environ(), Dir: "/",
		ExtraFiles: []*os.File{policyFile, theirs}, Stderr: r.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if !p.Reduced {
		r.cmd.SysProcAttr = namespaces()
	}
	r.wg.Go(func() {
		// A helper that does not get all of it says so.
		_ = json.NewEncoder(send).Encode(withHidden(*p, home))
		_ = send.Close()
	})
	if err := r.cmd.Start(); err != nil {
		_ = policyFile.Close() // ends the goroutine
		_ = conn.Close()
		return err
	}
	r.wg.Go(r.receive)
	r.wg.Go(func() {
		_ = r.cmd.Wait() // Its messages say why.
		_ = r.conn.Close()
	})
	go func() {
		r.wg.Wait()
		r.died()
		release()
		close(r.gone)
	}()
	return nil
}

// namespaces are those of a box. The helper has all rights over them until it gives
// them up. It says itself which user there is inside: this process does not let
// others look into it, and then may not say so of its child either.
//
// The child shares the memory until it is the helper. Go does not ask for that beside
// a user namespace, and the kernel would then copy the tables of all pages of this
// process: 2 ms for 50 MB.
func namespaces() *syscall.SysProcAttr {
	all := make([]uintptr, 0, 64)
	for capability := range uintptr(lastCapability() + 1) {
		all = append(all, capability)
	}
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET |
			unix.CLONE_VM | unix.CLONE_VFORK,
		AmbientCaps: all,
		Setsid:      true,
	}
}

// lastCapability is the highest that the kernel has.
func lastCapability() int {
	last := 0
	for capability := range 64 {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(capability), 0, 0, 0); err != nil {
			break
		}
		last = capability
	}
	return last
}

// memory is a file that is nowhere on the disk.
func memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.WriteAt(data, 0); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// receive takes the messages of the helper until it is gone.
func (r *runtime) receive() {
	data, oob := make([]byte, inside.MaxMessage), make([]byte, unix.CmsgSpace(4*16))
	for {
		n, oobn, _, _, err := r.conn.ReadMsgUnix(data, oob)
		if err != nil {
			return
		}
		files := received(oob[:oobn])
		var m inside.Message
		if json.Unmarshal(data[:n], &m) == nil {
			files = r.take(m, files)
		}
		closeFiles(files)
	}
}

func received(oob []byte) []*os.File {
	parts, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range parts {
		fds, err := syscall.ParseUnixRights(&parts[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// take does what a message says, and returns the files that it has not taken.
func (r *runtime) take(m inside.Message, files []*os.File) []*os.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch m.Kind {
	case inside.KindBroker:
		return r.listen(files)
	case inside.KindReady, inside.KindFailed:
		if r.built.Kind != "" {
			return files
		}
		r.built, r.err, r.files = m, m.Err(), files
		close(r.ready)
		return nil
	case inside.KindCounted:
		select {
		case r.counts <- m.Count:
		default: // No caller has asked.
		}
		return files
	}
	p, ok := r.processes[m.ID]
	if !ok {
		return files
	}
	switch m.Kind {
	case inside.KindStarted:
		pid := 0
		if len(files) > 0 {
			pid = pidOf(files[0])
		}
		p.hasStarted(pid, nil)
	case inside.KindRefused:
		delete(r.processes, m.ID)
		p.hasStarted(0, m.Err())
	case inside.KindExited:
		delete(r.processes, m.ID)
		p.hasStarted(0, nil) // It has, in any case.
		p.hasEnded(m.Code, nil)
	case inside.KindKilled:
	}
	return files
}

// died ends what waits for the helper.
func (r *runtime) died() {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.New("the sandbox ended")
	if said := r.stderr.String(); said != "" {
		err = fmt.Errorf("the sandbox ended: %s", said)
	}
	for id, p := range r.processes {
		delete(r.processes, id)
		p.hasStarted(0, err)
		p.hasEnded(128+int(unix.SIGKILL), nil)
	}
	closeFiles(r.files)
	r.files = nil
}

func (r *runtime) alive() bool {
	select {
	case <-r.gone:
		return false
	default:
		return true
	}
}

// endLimit is how long a helper of level reduced may take to end the programs.
const endLimit = 30 * time.Second

// busy says that something runs in the box, or that it cannot be asked. It is asked by
// one at a time.
func (r *runtime) busy() bool {
	r.mu.Lock()
	known := len(r.processes)
	r.mu.Unlock()
	if known > 0 {
		return true
	}
	select {
	case <-r.counts: // An answer that came too late.
	default:
	}
	if err := r.send(inside.Message{Kind: inside.KindCount}); err != nil {
		return r.alive()
	}
	late := time.NewTimer(countLimit)
	defer late.Stop()
	select {
	case n := <-r.counts:
		return n > 0
	case <-r.gone:
		return false
	case <-late.C:
		return true
	}
}

// countLimit is how long the helper may take to count: whoever wants to start a
// program waits meanwhile.
const countLimit = 5 * time.Second

// close ends the box, and waits until everything in it is dead: the first process of
// a PID namespace is gone only when all others are. At level reduced the helper ends
// them, when it has lost its socket.
func (r *runtime) close() {
	if r.broker == nil {
		_ = r.cmd.Process.Kill() // It may be dead.
	}
	_ = r.conn.Close()
	stuck := time.AfterFunc(endLimit, func() { _ = r.cmd.Process.Kill() })
	<-r.gone
	stuck.Stop()
	if r.broker != nil {
		_ = r.broker.Close()
	}
	if r.proxy != nil {
		_ = r.proxy.Close()
	}
	if r.stop != nil {
		_ = r.stop()
	}
}

// send sends a request with descriptors.
func (r *runtime) send(m inside.Message, files ...*os.File) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var fds []int
	for _, f := range files {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		// The file is the caller's, who keeps it open.
		if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			return err
		}
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	r.sending.Lock()
	defer r.sending.Unlock()
	_, _, err = r.conn.WriteMsgUnix(data, rights, nil)
	return err
}
