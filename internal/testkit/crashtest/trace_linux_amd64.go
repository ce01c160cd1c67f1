package crashtest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// Available reports whether programs can be traced here.
const Available = true

// Trace runs a program to its end. started is called with its process ID before it has
// done anything, changed after each call that changed a file, with the call's name. The
// program stands still in changed as far as files go.
//
// The error is nil also for a program that was killed.
func Trace(args, env []string, started func(pid int), changed func(call string)) error {
	runtime.LockOSThread() // the system knows the tracer by its thread
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Env: env, Files: []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), os.Stderr.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	t := &tracer{pid: pid, changed: changed, inside: make(map[int]bool)}
	if _, err := syscall.Wait4(pid, new(syscall.WaitStatus), syscall.WALL, nil); err != nil {
		return fmt.Errorf("wait for %s: %w", args[0], err)
	}
	const killedWithUs = 0x100000 // PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|killedWithUs); err != nil {
		return fmt.Errorf("trace %s: %w", args[0], err)
	}
	started(pid)
	t.resume(pid, 0)
	return t.loop()
}

// tracer is a program that is traced.
type tracer struct {
	pid     int
	changed func(call string)
	inside  map[int]bool // threads that are in a call
	writer  int          // the thread that changes a file now; 0: none
	call    string       // in which call
	waiting []waiting    // threads before such a call
}

type waiting struct {
	thread int
	call   string
}

// loop resumes each thread that stops, until the program has ended.
func (t *tracer) loop() error {
	const ofThisThread = 0x20000000 // __WNOTHREAD: programs of other tests are theirs
	for {
		var s syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &s, syscall.WALL|ofThisThread, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("wait for the program: %w", err)
		case s.Exited() || s.Signaled():
			if thread == t.pid {
				return nil
			}
			t.ended(thread)
		case s.StopSignal() == syscall.SIGTRAP|0x80: // before or after a call
			t.atCall(thread)
		case s.StopSignal() == syscall.SIGTRAP || s.StopSignal() == syscall.SIGSTOP: // a new thread
			t.resume(thread, 0)
		default:
			t.resume(thread, int(s.StopSignal()))
		}
	}
}

// resume lets a thread continue. It ignores one that was killed meanwhile.
func (t *tracer) resume(thread, signal int) { _ = syscall.PtraceSyscall(thread, signal) }

func (t *tracer) atCall(thread int) {
	if t.inside[thread] = !t.inside[thread]; !t.inside[thread] {
		if thread == t.writer {
			t.changed(t.call)
			t.next()
		}
		t.resume(thread, 0)
		return
	}
	call := changes(thread)
	switch {
	case call == "":
	case t.writer != 0:
		t.waiting = append(t.waiting, waiting{thread, call})
		return
	default:
		t.writer, t.call = thread, call
	}
	t.resume(thread, 0)
}

// next lets the next thread change a file.
func (t *tracer) next() {
	t.writer = 0
	if len(t.waiting) > 0 {
		t.writer, t.call = t.waiting[0].thread, t.waiting[0].call
		t.waiting = t.waiting[1:]
		t.resume(t.writer, 0)
	}
}

func (t *tracer) ended(thread int) {
	delete(t.inside, thread)
	if thread == t.writer {
		t.next()
	}
}

// onPaths are calls that change what is at a path.
var onPaths = map[uint64]string{
	syscall.SYS_RENAME: "rename", syscall.SYS_RENAMEAT: "rename", 316: "rename",
	syscall.SYS_UNLINK: "unlink", syscall.SYS_UNLINKAT: "unlink", syscall.SYS_RMDIR: "rmdir",
	syscall.SYS_MKDIR: "mkdir", syscall.SYS_MKDIRAT: "mkdir", syscall.SYS_TRUNCATE: "truncate",
	syscall.SYS_LINK: "link", syscall.SYS_LINKAT: "link", syscall.SYS_SYMLINK: "symlink", syscall.SYS_SYMLINKAT: "symlink",
}

// onFiles are calls that change an open file.
var onFiles = map[uint64]string{
	syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "write", syscall.SYS_WRITEV: "write",
	syscall.SYS_FTRUNCATE: "truncate", 326: "copy",
}

// changes names the call that a thread is about to make, if it changes a file.
func changes(thread int) string {
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(thread, &r); err != nil {
		return "" // was killed
	}
	if name := onPaths[r.Orig_rax]; name != "" {
		return name
	}
	const makes = syscall.O_CREAT | syscall.O_TRUNC
	if r.Orig_rax == syscall.SYS_OPENAT && r.Rdx&makes != 0 || r.Orig_rax == syscall.SYS_OPEN && r.Rsi&makes != 0 {
		return "open"
	}
	name, file := onFiles[r.Orig_rax], r.Rdi
	if r.Orig_rax == 326 { // copy_file_range
		file = r.Rdx
	}
	if name == "" {
		return ""
	}
	var s syscall.Stat_t
	err := syscall.Stat("/proc/"+strconv.Itoa(thread)+"/fd/"+strconv.FormatUint(file, 10), &s)
	if err != nil || s.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return "" // a pipe, a socket
	}
	return name
}
