//go:build e2e && linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/forbidtest"
)

// world is a user with secrets, work and running programs: what an attempt wants.
type world struct {
	t      testing.TB
	level  sandbox.Level
	root   string // the programs of the tests
	base   string // everything else
	home   string // of the user
	beside string // of the user, too, and not below the home directory
	app    string // the workspace
	inApp  string // ./attempt in the workspace: it can be run there at each level
	run    string // where sockets are: in /run, where that is possible
	secret string // in all secret files, in memory, in the environment of another program

	heard  *heard // by all listeners
	port   string // of the listeners for TCP and UDP
	local  string // 127.0.0.1
	public string // another address of this machine, if it has one

	agent     string      // the socket of an SSH agent
	listeners [][2]string // network and address of each
	flushed   int

	victim  *victim // to be read
	victims []*victim
}

// files are the user's, by their path in the home directory. All have the secret.
var files = []string{
	".ssh/id_ed25519", ".ssh/authorized_keys", ".aws/credentials", ".gnupg/private-keys-v1.d/key.key", ".kube/config", ".docker/config.json",
	".config/gh/hosts.yml", ".config/ohgw/config.toml", ".local/state/ohgw/tokens.json", ".local/share/keyrings/login.keyring",
	".openhands/settings.json", ".netrc", ".npmrc", ".git-credentials", ".bash_history", ".bashrc", ".profile", ".gitconfig",
	"Documents/thesis.txt", "Documents/notes.txt", "Documents/old.txt", "Documents/times.txt", "bin/ls", ".cargo/bin/cargo", ".local/bin/git", "src/sibling/main.go",
}

// worlds counts those of this process.
var worlds atomic.Int32

func newWorld(t *testing.T, level sandbox.Level) *world {
	t.Helper()
	w := &world{t: t, level: level, root: os.Getenv(rootVar), secret: "canary-" + rand.Text(), heard: newHeard(), local: "127.0.0.1"}
	stage := "t"
	if inNamespace() {
		stage = "n"
	}
	w.base = filepath.Join(w.root, "w", stage+strconv.Itoa(int(worlds.Add(1)))) // short, for the paths of sockets
	if err := os.Mkdir(w.base, 0o700); err != nil {
		t.Fatal(err)
	}
	w.home, w.beside = filepath.Join(w.base, "home"), filepath.Join(w.base, "beside")
	w.app = filepath.Join(w.home, "src", "app")
	for _, file := range files {
		text := "# " + w.secret + "\n"
		if file == ".gitconfig" {
			text += "[user]\n\tname = Ada\n\temail = ada@example.org\n"
		}
		if file == ".config/ohgw/config.toml" {
			text = "# " + w.secret + "\n"
		}
		w.file(filepath.Join(w.home, file), text)
	}
	w.file(filepath.Join(w.beside, "file"), w.secret+"\n")
	w.file(filepath.Join(w.beside, "times"), w.secret+"\n")
	w.repository()
	program, err := os.ReadFile(w.program("attempt"))
	if err != nil {
		t.Fatal(err)
	}
	w.inApp = filepath.Join(w.app, "attempt")
	if err := os.WriteFile(w.inApp, program, 0o700); err != nil {
		t.Fatal(err)
	}
	w.findRun()
	w.listen()
	w.victim = w.newVictim()
	return w
}

func (w *world) file(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// repository makes the workspace one, with a commit.
func (w *world) repository() {
	w.t.Helper()
	w.file(filepath.Join(w.app, "README.md"), "app\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		w.host("git", args...)
	}
}

// host runs a program outside, in the workspace.
func (w *world) host(name string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	cmd.Dir, cmd.Env = w.app, w.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// findRun finds a directory for sockets: that of the user in /run, or one in /tmp.
func (w *world) findRun() {
	w.t.Helper()
	base := fmt.Sprintf("/run/user/%d", os.Getuid())
	if unix.Access(base, unix.W_OK) != nil {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "sandbox-e2e-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.run = dir
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
}

// environ is the environment of the user, with keys in it.
func (w *world) environ() []string {
	return append(os.Environ(), "HOME="+w.home,
		"OPENAI_API_KEY="+w.secret, "AWS_SECRET_ACCESS_KEY="+w.secret, "DATABASE_URL=postgres://me:"+w.secret+"@db/x",
		"SSH_AUTH_SOCK="+w.run+"/ssh-agent", "DBUS_SESSION_BUS_ADDRESS=unix:path="+w.run+"/bus", "DOCKER_HOST=unix://"+w.run+"/docker.sock",
		"XDG_RUNTIME_DIR="+w.run)
}

// boxed is a command in the sandbox.
func (w *world) boxed(ctx context.Context, network []string, args ...string) *exec.Cmd {
	all := []string{"sandbox", "run"}
	for _, host := range network {
		all = append(all, "--network", host)
	}
	all = append(append(all, "--"), args...)
	return w.ohgw(ctx, all...)
}

// ohgw is the program, on a kernel that has no more than the level.
func (w *world) ohgw(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.program("ohgw"), args...)
	if w.level == sandbox.Reduced { // a kernel without user namespaces
		cmd = exec.CommandContext(ctx, w.program("tests"))
		cmd.Args = append([]string{forbidtest.Name, forbidtest.Namespaces, w.program("ohgw")}, args...)
	}
	cmd.Dir, cmd.Env = w.app, w.environ()
	return cmd
}

func (w *world) program(name string) string { return filepath.Join(w.root, "bin", name) }

// result is what came of an attempt, as the program inside tells it (./attempt).
type result struct {
	ID     int
	Code   int
	Output string
}

const (
	worked  = 40
	refused = 41
)

// try makes the attempts, in the sandbox or outside.
func (w *world) try(list []attempt) map[int]result {
	w.t.Helper()
	type line struct {
		ID   int      `json:"id"`
		Args []string `json:"args"`
	}
	var lines []line
	for _, a := range list {
		lines = append(lines, line{a.id, a.args})
	}
	data, err := json.Marshal(lines)
	if err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.app, "attempts.json")
	w.file(file, string(data))
	cmd := w.boxed(w.t.Context(), []string{"listed.example"}, w.inApp, "run", file)
	if w.level == sandbox.Off {
		cmd = exec.CommandContext(w.t.Context(), w.program("attempt"), "run", file)
		cmd.Dir, cmd.Env = w.app, w.environ()
	}
	home, err := os.Open(w.home) // a descriptor that a program forgot to close
	if err != nil {
		w.t.Fatal(err)
	}
	defer home.Close()
	cmd.ExtraFiles = []*os.File{home}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s\n%s", cmd, err, out.String(), problems.String())
	}
	w.t.Logf("%s", problems.String()) // what the sandbox says of the network
	results := map[int]result{}
	lineByLine := bufio.NewScanner(&out)
	lineByLine.Buffer(nil, 1<<20)
	for lineByLine.Scan() {
		var r result
		if err := json.Unmarshal(lineByLine.Bytes(), &r); err != nil {
			w.t.Fatalf("%q: %v", lineByLine.Text(), err)
		}
		results[r.ID] = r
	}
	return results
}

// victim is a program of the user that attempts are made on.
type victim struct {
	pid           int
	address, size int // of the secret in its memory
	end           chan error
}

func (w *world) newVictim() *victim {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.program("attempt"), "victim")
	cmd.Dir, cmd.Env = w.home, append(w.environ(), "OHGW_CANARY="+w.secret)
	input, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	v := &victim{pid: cmd.Process.Pid, end: make(chan error, 1)}
	if _, err := fmt.Fscan(output, &v.address, &v.size); err != nil {
		w.t.Fatal(err)
	}
	go func() { v.end <- cmd.Wait() }()
	w.t.Cleanup(func() {
		_ = input.Close()
		<-v.end //nolint:errcheck // The error says how it ended.
	})
	w.victims = append(w.victims, v)
	return v
}

// killed reports whether another process has ended the victim.
func (v *victim) killed() bool {
	select {
	case err := <-v.end:
		v.end <- err
		return true
	case <-time.After(200 * time.Millisecond): // a signal that was sent is delivered at once
		return false
	}
}

func (v *victim) String() string { return strconv.Itoa(v.pid) }

// at is a path in the home directory.
func (w *world) at(name string) string { return filepath.Join(w.home, name) }

// findPublic finds the address of this machine that attempts are made on.
func (w *world) findPublic() {
	if inNamespace() {
		w.public = publicAddress
		return
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range list {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && !ip.IsLoopback() && ip.To4() != nil {
			w.public = ip.String()
			return
		}
	}
	w.public = w.local
}

// token is what an attempt sends, so that who hears it knows whose it is.
func token(id int) string { return fmt.Sprintf("token-%03dx", id) }
