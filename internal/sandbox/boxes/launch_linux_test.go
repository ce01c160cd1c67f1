package boxes_test

import (
	"bufio"
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal to the helper does nothing, and what it starts has the usual handling.
func TestHelperRefusesSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/sh", "-c", "echo ready; exec sleep 1000")
	defer out.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	helper := parent(t, p.PID())
	for number := syscall.Signal(1); number <= 64; number++ {
		if number == syscall.SIGKILL || number == syscall.SIGSTOP {
			continue
		}
		if err := syscall.Kill(helper, number); err != nil {
			t.Errorf("signal %d: %v", number, err)
		}
	}
	if out, code := w.sh("grep -E 'Sig(Blk|Ign):' /proc/self/status | grep -v '\t0000000000000000$'"); code != 1 {
		t.Errorf("exit code %d: a program has %s", code, out)
	}
	if now := parent(t, p.PID()); now != helper {
		t.Errorf("process %d is the helper instead of %d", now, helper)
	}
}

// The start of a box does not copy the memory of ohgw: a page that is written
// afterwards needs no fault. It is not parallel: another test may copy it.
func TestStartSharesTheMemory(t *testing.T) {
	w := newWorld(t)
	const size = 16 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	err = unix.Madvise(memory, unix.MADV_NOHUGEPAGE)
	if err != nil && !errors.Is(err, unix.EINVAL) { // a kernel without huge pages
		t.Fatal(err)
	}
	runtime.LockOSThread() // whose faults are counted
	defer runtime.UnlockOSThread()
	touch := func() int64 {
		before, after := unix.Rusage{}, unix.Rusage{}
		err := unix.Getrusage(unix.RUSAGE_THREAD, &before)
		for i := 0; i < size; i += os.Getpagesize() {
			memory[i]++
		}
		if err := errors.Join(err, unix.Getrusage(unix.RUSAGE_THREAD, &after)); err != nil {
			t.Fatal(err)
		}
		return after.Minflt - before.Minflt
	}
	pages := int64(size / os.Getpagesize())
	if first := touch(); first < pages/2 {
		t.Fatalf("%d faults for %d new pages", first, pages)
	}
	if out, code := w.run("/bin/true"); code != 0 {
		t.Fatal(out)
	}
	if again := touch(); again > pages/10 {
		t.Errorf("%d faults for %d pages that were there", again, pages)
	}
}
