//go:build e2e && linux

package sandbox_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// attempt is one way to the outside. The numbers 1 to 95 are those of the threat model's
// list, the others came later.
type attempt struct {
	id    int
	group string
	name  string
	args  []string // of ./attempt
	// reached says whether the attempt has reached the outside. It looks there, where
	// that is possible; else it believes the program inside.
	reached func(r result) bool
}

// The attempts that reach the outside, each with the words of docs/sandbox.md that
// say so.
var exceptions = map[sandbox.Level]map[int]string{
	sandbox.Full: {
		55:  ".git/commondir",
		56:  ".vscode/tasks.json",
		130: "a Unix socket in a readable system directory",
	},
	sandbox.Reduced: {
		42: metadata, 43: metadata, 44: metadata, 45: metadata, 122: metadata,
		48: "shared with your other programs",
		55: ".git/commondir",
		56: ".vscode/tasks.json",
	},
}

// metadata is what docs/sandbox.md says of level reduced.
const metadata = "mode, times and extended attributes changed"

// gitGroup are the attempts with the files of git.
const gitGroup = "turn git against the user"

// table is a list of attempts that is being written.
type table struct {
	*world

	group string
	list  []attempt
	after snapshot // the user's files when the group had been tried
	first snapshot
}

func (t *table) add(id int, name string, reached func(result) bool, args ...string) {
	t.list = append(t.list, attempt{id, t.group, name, args, reached})
}

// leaks reports whether an attempt printed the secret. As the functions below, it sees
// from outside what came of an attempt.
func (t *table) leaks(r result) bool    { return strings.Contains(r.Output, t.secret) }
func (t *table) believed(r result) bool { return r.Code == worked }
func (t *table) hears(r result) bool    { return t.heard.has(token(r.ID)) }

func (t *table) changes(path string) func(result) bool {
	return func(result) bool { return t.first[path] != t.after[path] }
}

func (t *table) exists(path string) func(result) bool {
	return func(result) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
}

func (t *table) ended(v *victim) func(result) bool { return func(result) bool { return v.killed() } }

// gitHas looks for a text in the files by which git runs programs.
func (t *table) gitHas(r result) bool {
	var paths []string
	for _, pattern := range []string{".git/config", ".git/hooks/*", "hooks-53/*", "git-52/hooks/*", "git-133/hooks/*", "git-133/config"} { // also what was moved aside
		found, _ := filepath.Glob(filepath.Join(t.app, pattern))
		paths = append(paths, found...)
	}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(evil(r.ID))) {
			return true
		}
	}
	return false
}

func evil(id int) string { return fmt.Sprintf("evil-%03d", id) }

func (t *table) reads() {
	t.group = "read files"
	for i, file := range []string{
		".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/key.key", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml",
		".local/state/ohgw/tokens.json", ".config/ohgw/config.toml", ".local/share/keyrings/login.keyring", ".openhands/settings.json", ".netrc", ".npmrc",
		".git-credentials", ".bash_history",
	} {
		t.add(1+i, "read ~/"+file, t.leaks, "read", t.at(file))
	}
	key, pid := t.at(".ssh/id_ed25519"), t.victim.String()
	t.add(15, "through a symbolic link in the workspace", t.leaks, "sh", "ln -s "+key+" link-15 && cat link-15")
	t.add(16, "through a hard link in the workspace", t.leaks, "link", key, filepath.Join(t.app, "link-16"))
	t.add(17, "through /proc/self/root", t.leaks, "read", "/proc/self/root"+key)
	t.add(18, "through /proc/PID/root", t.leaks, "read", "/proc/"+pid+"/root"+key)
	t.add(19, "through /proc/PID/cwd", t.leaks, "read", "/proc/"+pid+"/cwd/.ssh/id_ed25519")
	t.add(22, "unmount in a user namespace", t.leaks, "sh", "unshare -Urm sh -c 'umount -l "+t.home+"; cat "+key+"'")
	t.add(23, "bind mount in a user namespace", t.leaks, "sh", "mkdir mnt && unshare -Urm sh -c 'mount --bind "+t.home+" mnt && cat mnt/.ssh/id_ed25519'")
	t.add(24, "chroot", t.leaks, "sh", "unshare -Ur chroot / cat "+key)
	t.add(25, "an inherited descriptor", t.leaks, "through", ".ssh/id_ed25519")
	t.add(108, "a sandbox in the sandbox", t.leaks, "sh", t.program("ohgw")+" sandbox run -- true; cat "+key)
	t.add(117, "the sandbox of another workspace", t.leaks, "sh", "cat "+t.at(".local/state/ohgw/sandbox/*/home/private"))
	t.add(121, "a file handle", t.believed, "handle", filepath.Join(t.beside, "file"))
}

func (t *table) writes() {
	t.group = "change files"
	for i, file := range []string{
		".bashrc", ".profile", ".gitconfig", ".config/autostart/x.desktop", ".config/systemd/user/x.service", ".local/bin/git", "bin/ls",
		"src/sibling/main.go", ".npmrc", ".ssh/authorized_keys", ".cargo/bin/cargo",
	} {
		t.add(28+i, "write ~/"+file, t.changes(t.at(file)), "write", t.at(file), "x")
	}
	t.add(39, "rename over a file", t.changes(t.at("Documents/thesis.txt")), "rename", t.at("Documents/thesis.txt"), "x")
	t.add(40, "remove a file", t.changes(t.at("Documents/notes.txt")), "remove", t.at("Documents/notes.txt"))
	t.add(41, "truncate a file", t.changes(t.at("Documents/old.txt")), "truncate", t.at("Documents/old.txt"))
	t.add(42, "chmod ~/.ssh", t.changes(t.at(".ssh")), "chmod", t.at(".ssh"))
	t.add(43, "chmod a readable directory", t.changes(t.beside), "chmod", t.beside)
	t.add(44, "utimes of a readable file", t.changes(filepath.Join(t.beside, "times")), "utimes", filepath.Join(t.beside, "times"))
	t.add(45, "setxattr on a readable file", t.changes(filepath.Join(t.beside, "file")), "setxattr", filepath.Join(t.beside, "file"))
	base := filepath.Base(t.base)
	for i, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		path := filepath.Join(dir, base+"-attempt")
		t.t.Cleanup(func() { _ = os.Remove(path) })
		t.add(46+i, "write "+dir, t.exists(path), "write", path, "x")
	}
	t.add(49, "write a crontab", t.exists("/var/spool/cron/crontabs/nobody"), "write", "/var/spool/cron/crontabs/nobody", "")
	t.add(107, "change the settings of ohgw", t.changes(t.at(".config/ohgw/config.toml")), "write", t.at(".config/ohgw/config.toml"), "x")
	t.add(115, "poison a cache", t.changes(t.at(".cache/pip/x")), "write", t.at(".cache/pip/x"), "x")
	t.add(122, "chmod a directory of tools", t.changes(t.at(".cargo/bin")), "chmod", t.at(".cargo/bin"))
	t.add(123, "write beside the workspace", t.changes(filepath.Join(t.beside, "new")), "write", filepath.Join(t.beside, "new"), "x")
}

// plants leaves files for programs of the user.
func (t *table) plants() {
	t.group = "files for programs outside"
	watched, left := t.watch(filepath.Join(t.app, ".git"), "commondir", "config.worktree"), t.exists(filepath.Join(t.app, ".git", "commondir"))
	planted := func(r result) bool { return watched(r) || left(r) }
	t.add(55, ".git/commondir, .git/config.worktree", planted, "sh",
		"mkdir -p evil && touch evil/config && echo ../evil >.git/commondir; echo '[core]' >.git/config.worktree")
	t.add(56, "a new .vscode/tasks.json", t.exists(filepath.Join(t.app, ".vscode", "tasks.json")), "write", filepath.Join(t.app, ".vscode", "tasks.json"), "{}")
}

// worktrees adds to the repository what git, outside, would look at by itself.
func (t *table) worktrees() {
	t.group = "add to the repository"
	t.host("git", "worktree", "add", "-q", "there")
	plant := func(id int, name, script string, outside ...string) {
		ran := filepath.Join(t.base, "ran-"+strconv.Itoa(id)) // is not seen inside
		settings := fmt.Sprintf("git init -q --bare e-%[1]d && printf '[core]\\n\\tfsmonitor = \"touch %[2]s; true\"\\n' >set-%[1]d && cat set-%[1]d >>e-%[1]d/config && ", id, ran)
		t.add(id, name, func(result) bool {
			cmd := exec.CommandContext(t.t.Context(), "git", outside...)
			cmd.Dir, cmd.Env = t.app, t.environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.t.Logf("%s: %v: %s", cmd, err, firstLine(string(out)))
			}
			return t.exists(ran)(result{})
		}, "sh", settings+script)
	}
	plant(134, "commondir of a new worktree", "git worktree add -q wt-134 && echo $PWD/e-134 >.git/worktrees/wt-134/commondir", "-C", "wt-134", "status")
	plant(135, "commondir of a worktree that was there", "echo $PWD/e-135 >.git/worktrees/there/commondir", "-C", "there", "status")
	plant(136, "commondir of a worktree that is renamed into place",
		"git worktree add -q wt-136 && cp -r .git/worktrees/wt-136 made && echo $PWD/e-136 >made/commondir && rm -r .git/worktrees/wt-136 && mv made .git/worktrees/wt-136", "-C", "wt-136", "status")
	plant(137, "a repository of the index",
		"git init -q sub-137 && git -C sub-137 -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git add sub-137 && cat set-137 >>sub-137/.git/config", "status")
	plant(138, "a repository of the index whose .git is a file",
		"git init -q sub-138 && git -C sub-138 -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git add sub-138 && mv sub-138/.git dir-138 && cat set-138 >>dir-138/config && echo gitdir: $PWD/dir-138 >sub-138/.git", "status")
}

func (t *table) git() {
	t.group = gitGroup
	for _, name := range []string{"commondir", "config.worktree"} { // Without a sandbox they are still there.
		_ = os.Remove(filepath.Join(t.app, ".git", name))
	}
	// At level reduced the attempts before are put back; on a busy machine after a while,
	// in which the next one would move them aside.
	const settled = `[ -z "$OHGW_SANDBOX" ] || for i in $(seq 100); do grep -rqs evil- .git/config .git/hooks || break; sleep 0.1; done; `
	sh := func(id int, name, script string) {
		t.add(id, name, t.gitHas, "sh", "set -e; evil="+evil(id)+"\n"+settled+script)
	}
	sh(50, "write a hook", "echo $evil >.git/hooks/pre-commit")
	sh(51, "git config core.fsmonitor", "git config core.fsmonitor $evil")
	sh(52, "move .git aside and copy it back", "mv .git git-52; cp -r git-52 .git; echo $evil >.git/hooks/post-merge")
	sh(53, "move the hooks aside", "mv .git/hooks hooks-53; mkdir .git/hooks; echo $evil >.git/hooks/post-checkout")
	sh(54, "config.lock and rename", "cp .git/config .git/config.lock; echo \"[alias] $evil = !x\" >>.git/config.lock; mv .git/config.lock .git/config")
	t.add(133, ".git/commondir in a copy of .git", t.exists(filepath.Join(t.app, ".git", "commondir")), "sh",
		settled+"mv .git git-133 && cp -r git-133 .git && echo ../evil >.git/commondir")
}

// watch says whether a file of one of the names was made in a directory, for however
// short a time.
func (t *table) watch(dir string, names ...string) func(result) bool {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.t.Fatal(err)
	}
	t.t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		t.t.Fatal(err)
	}
	return func(result) bool {
		events := make([]byte, 64<<10)
		n, _ := unix.Read(fd, events)
		return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(events[:max(n, 0)], []byte(name+"\x00")) })
	}
}

func (t *table) processes() {
	t.group = "processes and the kernel"
	t.add(20, "the environment of another process", t.leaks, "environ")
	t.add(21, "the memory of another process", t.leaks, "memory", t.victim.String(), strconv.Itoa(t.victim.address), strconv.Itoa(t.victim.size))
	t.add(26, "the keyring of the kernel", t.leaks, "keyring", t.newKey())
	t.add(27, "io_uring", t.believed, "iouring")
	killed, traced := t.newVictim(), t.newVictim()
	t.add(57, "kill a process", t.ended(killed), "kill", killed.String())
	t.add(58, "ptrace a process", t.ended(traced), "ptrace", traced.String())
	t.schedules()
	if _, err := os.Stat(t.program("setuid")); err == nil {
		t.add(59, "a setuid program", t.believed, "setuid", t.program("setuid"))
	}
	t.add(60, "a new user namespace", t.believed, "namespace")
	t.add(61, "setns", t.leaks, "sh", "nsenter -t "+t.victim.String()+" -m cat "+t.at(".ssh/id_ed25519"))
	t.add(62, "TIOCSTI", t.believed, "tiocsti")
	name := filepath.Base(t.base) + "-left"
	t.add(113, "a process that leaves its session", func(result) bool { return t.endLeft(name) }, "daemon", name)
	if runtime.GOARCH == "amd64" {
		t.add(114, "system calls of 32 bits", t.believed, "int80")
		t.add(124, "system calls of x32", t.believed, "x32")
	}
	t.add(125, "bpf", t.believed, "bpf")
	t.add(126, "perf_event_open", t.believed, "perf")
	t.add(127, "userfaultfd", t.believed, "uffd")
	t.add(128, "fsopen", t.believed, "fsopen")
	t.add(129, "the keys in the environment", t.leaks, "own")
}

// schedules changes when, where and with what a process of the user runs.
func (t *table) schedules() {
	v := t.newVictim()
	for i, a := range []struct {
		name, operation string
		state           func() string
	}{
		{"renice a process", "renice", func() string { n, err := unix.Getpriority(unix.PRIO_PROCESS, v.pid); return fmt.Sprint(n, err) }},
		{"the processors of a process", "affinity", func() string {
			var set unix.CPUSet
			err := unix.SchedGetaffinity(v.pid, &set)
			return fmt.Sprint(set, err)
		}},
		{"the scheduler of a process", "schedule", func() string {
			n, _, err := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(v.pid), 0, 0)
			return fmt.Sprint(n, err)
		}},
		{"the priority of a process on disks", "ioprio", func() string {
			n, _, err := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(v.pid), 0)
			return fmt.Sprint(n, err)
		}},
		{"the limits of a process", "limit", func() string {
			var limit unix.Rlimit
			err := unix.Prlimit(v.pid, unix.RLIMIT_NOFILE, nil, &limit)
			return fmt.Sprint(limit, err)
		}},
	} {
		before := a.state()
		t.add(140+i, a.name, func(result) bool { return a.state() != before }, a.operation, v.String())
	}
}

// newKey puts the secret into the keyring of the user, and returns its name.
func (t *table) newKey() string {
	name := filepath.Base(t.base)
	id, err := unix.AddKey("user", name, []byte(t.secret), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.t.Logf("there is no keyring: %v", err)
		return name
	}
	t.t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	return name
}

// endLeft ends the processes of a name, and says whether there was one.
func (t *table) endLeft(name string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	found := false
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && bytes.HasPrefix(data, []byte(name+"\x00")) {
			found = true
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	return found
}

func (t *table) services() {
	t.group = "local services"
	for i, path := range t.sockets() {
		name := []string{"the message bus", "Docker", "GnuPG's agent", "a socket in the home directory", "an abstract socket", "a socket in /tmp", "the SSH agent"}[i]
		t.add(63+i, name, t.hears, "dial", "unix", path, token(63+i))
	}
	t.add(70, "a port, by 127.0.0.1", t.hears, "dial", "tcp", t.local+":"+t.port, token(70))
	t.add(71, "a port, by 0.0.0.0", t.hears, "dial", "tcp", "0.0.0.0:"+t.port, token(71))
	t.add(72, "a port, by ::ffff:127.0.0.1", t.hears, "dial", "mapped", t.local+":"+t.port, token(72))
	for i, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]"} {
		t.add(73+i, "a port, by the proxy as "+host, t.hears, "proxy", host+":"+t.port, token(73+i))
	}
	t.add(81, "the metadata of a cloud, by the proxy", t.hears, "proxy", metadataAddress+":80", token(81))
	ready, done := filepath.Join(t.app, "ready-139"), filepath.Join(t.app, "done-139")
	ports := []string{"8000", "6449", "11434", "1234", "8080"}
	t.add(139, "the port of a server", t.knocks(139, ports, ready, done), "listen", strings.Join(ports, ","), token(139), ready, done)
	socket := filepath.Join(t.beside, "socket")
	t.add(130, "a socket in a readable directory", t.hears, "dial", "unix", socket, token(130))
}

// knocks says whether the attempt answers at a port of this machine, as one of the user's
// servers would. It looks when the file ready is there, and makes the other one then.
func (t *table) knocks(id int, ports []string, ready, done string) func(result) bool {
	heard := make(chan bool, 1)
	go func() {
		waittest.Poll(waittest.Patience, func() bool { return t.exists(ready)(result{}) || t.t.Context().Err() != nil })
		answered := false
		for _, port := range ports {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				continue
			}
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			said, _ := io.ReadAll(conn)
			answered = answered || strings.Contains(string(said), token(id))
			_ = conn.Close()
		}
		heard <- answered
		_ = os.WriteFile(done, nil, 0o600)
	}()
	return func(result) bool {
		select {
		case answered := <-heard:
			return answered
		default: // the attempt was not made
			return false
		}
	}
}

func (t *table) network() {
	t.group = "network"
	all := t.local + ":" + t.port + "," + t.public + ":" + t.port
	t.add(82, "UDP", t.hears, "dial", "udp", all, token(82))
	t.add(83, "fast open by sendto", t.hears, "fastopen", "sendto", all, token(83))
	t.add(84, "fast open by sendmsg", t.hears, "fastopen", "sendmsg", all, token(84))
	t.add(85, "MPTCP", t.hears, "mptcp", all, token(85))
	for i, s := range []struct{ name, family, kind, protocol string }{
		{"packet socket", "17", "3", "0"},
		{"vsock", "40", "1", "0"},
		{"alg socket", "38", "5", "0"},
		{"key socket", "15", "3", "2"},
		{"bluetooth socket", "31", "3", "1"},
		{"netfilter socket", "16", "3", "12"},
		{"raw ICMP", "2", "3", "1"},
	} {
		t.add(86+i, s.name, t.believed, "socket", s.family, s.kind, s.protocol)
	}
	direct := t.public + ":" + t.port
	if inNamespace() {
		for _, address := range []string{publicAddress, privateAddress, metadataAddress} {
			direct += "," + address + ":80," + address + ":443"
		}
	}
	t.add(93, "an address without the proxy", t.hears, "dial", "tcp", direct, token(93))
	t.add(94, "a name that is not listed", t.hears, "name", token(94)+".example", "80", token(94))
	server := t.public + ":53"
	if !inNamespace() {
		server = t.public + ":" + t.port
	}
	t.add(95, "a question to a foreign name server", t.hears, "question", "udp", server, token(95)+".example")
	t.add(132, "ICMP", t.echoes(), "ping", t.public)
	t.add(97, "a listed name that leads to this machine", t.hears, "name", "listed.example", "80", token(97))
	t.add(99, "a name that carries data", t.hears, "question", "udp", "127.0.0.1:53", strings.Repeat("a", 63)+"."+strings.Repeat("ö", 31)+"."+token(99)+".listed.example")
	t.add(131, "a question by TCP to a foreign name server", t.hears, "question", "tcp", server, token(131)+".example")
}

// echoes says whether this machine has been asked for an echo.
func (t *table) echoes() func(result) bool {
	count := func() string {
		data, err := os.ReadFile("/proc/net/snmp")
		if err != nil {
			t.t.Fatal(err)
		}
		var values []string
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			at := slices.Index(fields, "InEchos")
			if len(values) == 0 && at >= 0 {
				values = []string{strconv.Itoa(at)}
			} else if len(values) == 1 && fields[0] == "Icmp:" {
				n, _ := strconv.Atoi(values[0])
				return fields[n]
			}
		}
		return ""
	}
	before := count()
	return func(result) bool { return inNamespace() && count() != before }
}
