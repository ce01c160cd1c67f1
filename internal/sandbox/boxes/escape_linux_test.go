package boxes_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// refused runs a script that must fail.
func (w *world) refused(name, script string) {
	w.t.Helper()
	if out, code := w.sh(script); code == 0 {
		w.t.Errorf("%s: it worked: %s", name, out)
	}
}

// python runs a Python script, which must print what is wanted.
func (w *world) python(name, script, want string) {
	w.t.Helper()
	if out, _ := w.run("/usr/bin/env", "python3", "-c", script); out != want {
		w.t.Errorf("%s: output = %q, want %q", name, out, want)
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var abstract net.Listener
	w := newWorld(t, func(w *world, _ *boxes.Config) {
		for _, file := range []string{filepath.Join(w.home, "secret"), filepath.Join(w.root, "secret")} {
			if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if abstract, err = net.Listen("unix", "@"+filepath.Base(w.root)+t.Name()); err != nil {
			t.Fatal(err)
		}
	})
	defer abstract.Close()
	sock, err := net.Listen("unix", filepath.Join(w.home, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	for name, script := range map[string]string{
		"read a file of the home directory":   "cat " + w.home + "/secret",
		"read through /proc/self/root":        "cat /proc/self/root" + w.home + "/secret",
		"read through /proc/1/root":           "cat /proc/1/root" + w.home + "/secret",
		"see a process of the outside":        fmt.Sprintf("grep -q ohgw /proc/[0-9]*/comm /proc/%d/comm", os.Getpid()),
		"read the environment of the helper":  "cat /proc/1/environ | grep .",
		"write beside the workspace":          "echo x > /etc/x || echo x > /usr/x || echo x > /opt/x || echo x > /sys/x",
		"change the mode of a system file":    "chmod 777 /etc/passwd",
		"change the times of a system file":   "touch /etc/passwd",
		"connect to a port of this machine":   fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", port),
		"reach another network":               "exec 3<>/dev/tcp/192.0.2.1/80",
		"make a user namespace":               "unshare -U true",
		"undo a mount":                        "umount /tmp || umount -l " + w.home,
		"mount":                               "mount --bind /etc /tmp",
		"change the root directory":           "chroot / true",
		"change the kernel's parameters":      "echo 1 > /proc/sys/kernel/printk || echo x > /proc/sysrq-trigger",
		"raise the limit on processes":        "ulimit -u 1000000",
		"signal the helper":                   "kill -0 1 && kill -KILL 1; kill -TERM 1; kill -STOP 1; sleep 0.1; false",
		"enter the namespaces of the helper":  "nsenter -t 1 -U true || nsenter -t 1 -m true",
		"read the terminal of somebody":       "ls /dev/pts | grep -v ptmx | grep .",
		"reach a disk":                        "ls /dev/sda /dev/vda /dev/nvme0 /dev/mem /dev/kmsg 2>/dev/null | grep .",
		"read the shadow file":                "grep . /etc/shadow",
		"see files of other users":            "ls -A /home /root | grep -v : | grep .",
		"gain a capability from a file of it": "grep -q 'NoNewPrivs:.1' /proc/self/status && grep -q 'CapBnd:.0000000000000000' /proc/self/status && false",
	} {
		w.refused(name, script)
	}
	connect := "import socket\ns=socket.socket(socket.AF_UNIX)\ntry:\n s.connect(%q)\n print('connected')\nexcept OSError: print('refused')"
	w.python("a socket of the home directory", fmt.Sprintf(connect, filepath.Join(w.home, "sock")), "refused")
	w.python("an abstract socket", fmt.Sprintf(strings.Replace(connect, "%q", "'\\0'+%q", 1), filepath.Base(w.root)+t.Name()), "refused")
}

// Each call is made by number: what a library refuses says nothing of the kernel.
func TestSystemCallsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := `import ctypes, errno, platform, socket, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == 'x86_64'
numbers = {'io_uring_setup': 425, 'clone3': 435, 'keyctl': 250 if x86 else 219, 'bpf': 321 if x86 else 280,
 'perf_event_open': 298 if x86 else 241, 'userfaultfd': 323 if x86 else 282, 'setns': 308 if x86 else 268,
 'open_tree': 428, 'fsopen': 430, 'mount_setattr': 442, 'add_key': 248 if x86 else 217, 'reboot': 169 if x86 else 142}
want = {'io_uring_setup': errno.ENOSYS, 'clone3': errno.ENOSYS}
for name, n in numbers.items():
    r = libc.syscall(n, 0, 0, 0, 0, 0)
    if r != -1 or ctypes.get_errno() != want.get(name, errno.EPERM): print(name, r, ctypes.get_errno())
if x86:
    r = libc.syscall(0x40000000 + 39)
    if r != -1 or ctypes.get_errno() != errno.ENOSYS: print('x32', r, ctypes.get_errno())
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):
    r = libc.syscall(272 if x86 else 97, flag)
    if r != -1 or ctypes.get_errno() != errno.EPERM: print('unshare', hex(flag), r, ctypes.get_errno())
for family, kind, proto in ((17, 3, 0), (40, 1, 0), (38, 5, 0), (31, 3, 1), (15, 3, 2), (16, 3, 12), (16, 3, 9), (2, 3, 1)):
    try:
        socket.socket(family, kind, proto); print('socket', family, kind, proto)
    except OSError: pass
socket.socket(16, 3, 0); socket.socket(1); socket.socket(10)
m, s = os.openpty()
for cmd, arg in ((0x5412, b'x'), (0x541c, b'\x02')):
    try:
        fcntl.ioctl(s, cmd, arg); print('ioctl', hex(cmd))
    except OSError: pass
print('done')`
	w.python("system calls", script, "done")
}

// Rights of Landlock are not lost on renames: one set of rules has files and scopes.
func TestRenamesAndLinksAcrossDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if out, code := w.sh("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && mkdir a/d && mv a/d b/d && rmdir b/d && cat a/h"); code != 0 || out != "x" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What a program may do in its own box.
func TestProgramsWorkInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, script := range map[string]string{
		"temporary files":    "f=$(mktemp) && echo x > $f && cat <<< here && cat <(echo there) && rm $f",
		"shared memory":      "echo x > /dev/shm/x && rm /dev/shm/x",
		"own processes":      "sleep 100 & kill -0 $! && ps ax | grep -q 'sleep 100' && kill $! && ! wait $!",
		"the null device":    "echo x > /dev/null && head -c 1 /dev/zero > /dev/null && head -c 1 /dev/urandom > /dev/null",
		"debuggers":          "if command -v strace; then strace -f -o /tmp/trace /bin/true; fi",
		"a limit on threads": "test \"$(nproc)\" -ge 1",
	} {
		if out, code := w.sh(script); code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
	w.python("loopback", "import socket\nl=socket.create_server(('127.0.0.1',0))\nc=socket.create_connection(l.getsockname())\nprint('connected')", "connected")
	w.python("loopback of IPv6", "import socket\nl=socket.create_server(('::1',0),family=socket.AF_INET6)\nc=socket.create_connection(l.getsockname()[:2])\nprint('connected')", "connected")
	w.python("a Unix socket", "import socket\nl=socket.socket(socket.AF_UNIX);l.bind('/tmp/s');l.listen();c=socket.socket(socket.AF_UNIX);c.connect('/tmp/s')\nprint('connected')", "connected")
	w.python("a terminal of its own", "import os\nm,s=os.openpty()\nprint(os.ttyname(s).startswith('/dev/pts/'))", "True")
}

// The programs of a box share its namespaces, and its /tmp.
func TestProgramsShareTheBox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/bash", "-c", "echo shared > /tmp/file; echo ready; exec sleep 1000")
	defer out.Close()
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if got, code := w.sh("cat /tmp/file && pkill -x sleep"); code != 0 || got != "shared" {
		t.Errorf("exit code %d: %s", code, got)
	}
	if code, err := p.Wait(); code != 128+15 || err != nil {
		t.Errorf("exit code = %d, error %v", code, err)
	}
}
