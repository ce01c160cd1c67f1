package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/instance"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is a part of sandboxes as well
	"github.com/ohgw/ohgw/internal/testkit/forbidtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// patience bounds how long a script waits for something to happen.
const patience = time.Minute

// TestMain makes the test binary the program ohgw as well.
func TestMain(m *testing.M) {
	testscript.Main(leakTest{m}, map[string]func(){
		"systemctl":     fakeSystemctl,
		forbidtest.Name: func() { os.Exit(forbidtest.Main(os.Args[1:])) },
		"ohgw":          func() { os.Exit(cli.MainWith(withFakes, os.Args[1:])) },
	})
}

// leakTest fails when goroutines outlive the tests.
type leakTest struct{ m *testing.M }

func (l leakTest) Run() int {
	flag.Parse()
	if err := atOnce(8); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := otherProgram(os.Getenv("OHGW_TEST_PROGRAM")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := l.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		return 1
	}
	return code
}

// otherProgram lets the scripts start the program in the named file, a build of this
// package's tests (go test -c), in place of a copy of this one: .ci/run gives it one without
// the race detector, with which the same scripts take three times the processor time.
func otherProgram(file string) error {
	if file == "" {
		return nil
	}
	program, err := exec.LookPath("ohgw") // testscript has put it there
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("OHGW_TEST_PROGRAM: %w", err)
	}
	return errors.Join(os.Remove(program), os.WriteFile(program, content, 0o700))
}

// atOnce makes at least n tests run in parallel, unless -parallel says how many. The
// scripts wait for programs, retries and keyrings more than they compute, and each has
// a home directory and ports of its own.
func atOnce(n int) error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given || runtime.GOMAXPROCS(0) >= n {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}

// TestScripts runs the specification: one file in testdata/script a topic.
func TestScripts(t *testing.T) {
	t.Parallel()
	databases := new(postgres)
	t.Cleanup(databases.stop)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			test, ok := env.T().(testing.TB)
			if !ok {
				return errors.New("a script that is no test")
			}
			env.Values[stateKey{}] = &state{test: test}
			newer, err := filepath.Abs("../internal/profile/testdata/openhands-1.58.2")
			if err != nil {
				return err
			}
			config, state := "/home/.config/ohgw", "/home/.local/state/ohgw"
			if runtime.GOOS == "darwin" {
				config = "/home/Library/Application Support/ohgw"
				state = config
			}
			for name, value := range map[string]string{
				"HOME":            env.WorkDir + "/home",
				"XDG_RUNTIME_DIR": env.WorkDir + "/run",
				"STATE":           env.WorkDir + state,
				"CONFIGDIR":       env.WorkDir + config,
				"CONFIG":          env.WorkDir + config + "/config.toml",
				"TERM":            "xterm",
				"OPENHANDS158":    newer, // the files of an agent-server 1.58.2
				fakeKeyringDir:    env.WorkDir + "/keyring",
				"TZ":              "UTC",
				// The race detector would wait a second at each exit.
				"GORACE": "atexit_sleep_ms=0",
			} {
				env.Setenv(name, value)
			}
			env.Defer(func() { endDetached(filepath.Join(env.Getenv("XDG_RUNTIME_DIR"), "ohgw")) })
			return errors.Join(os.MkdirAll(env.Getenv("HOME"), 0o700), os.MkdirAll(env.Getenv("XDG_RUNTIME_DIR"), 0o700))
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "mounts": // this user can mount something, in a namespace of its own
				return exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run() == nil, nil
			case "root":
				return os.Getuid() == 0, nil
			case "postgres":
				return databases.isThere(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agentserver":  cmdAgentServer,
			"appserver":    cmdAppServer,
			"code":         cmdCode,
			"database":     databases.database,
			"sql":          databases.sql,
			"draining":     cmdDraining,
			"ended":        cmdEnded,
			"events":       cmdEvents,
			"hostport":     cmdHostPort,
			"heard":        cmdHeard,
			"hold":         cmdHold,
			"http":         cmdHTTP,
			"listener":     cmdListener,
			"llm":          cmdLLM,
			"mode":         cmdMode,
			"refusing":     cmdRefusing,
			"replace":      cmdReplace,
			"serving":      cmdServing,
			"workprofile":  cmdWorkProfile,
			"setenv":       cmdSetenv,
			"signal":       cmdSignal,
			"tty":          cmdTTY,
			"until":        cmdUntil,
			"carryout":     cmdCarryOut,
			"turn":         cmdTurn,
			"idle":         cmdIdle,
			"freeport":     cmdFreePort,
			"notified":     cmdNotified,
			"notifysocket": cmdNotifySocket,
			"listening":    cmdListening,
		},
	})
}

// endDetached ends the daemon that a script has left in the background, where it
// failed.
func endDetached(dir string) {
	p, err := instance.Open(dir)
	if err != nil {
		return
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if p.Kill() == nil {
		p.Wait(ctx)
	}
}

// agentserver [version=V] [key=K] [profile=NAME]...
//
// Starts a fake agent-server and sets AGENT_SERVER to its URL. The first
// profile is the active one. Its model answers "You said: …", or with the end
// of its key where the message says "which key", and waits for ever where it
// has the word hang.
func cmdAgentServer(ts *testscript.TestScript, _ bool, args []string) {
	opts := fakeserver.Options{Model: parrot}
	var profiles []string
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "version":
			opts.Version = value
		case "key":
			opts.Key = value
		case "profile":
			profiles = append(profiles, value)
		default:
			ts.Fatalf("agentserver: what is %q?", arg)
		}
	}
	s := fakeserver.New(scriptState(ts).test, opts)
	for i, name := range profiles {
		s.SaveProfile(name, fakeserver.Profile{Model: "anthropic/" + name})
		if i == 0 {
			s.Activate(name)
		}
	}
	ts.Setenv("AGENT_SERVER", s.URL)
}

// code N PROGRAM ARGS...
//
// Runs a program that must end with the exit code N.
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	if got := exitCode(ts, err); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCode(ts *testscript.TestScript, err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	ts.Check(err)
	return 0
}

// http METHOD URL [HEADER:VALUE]... [BODY]
//
// Sends a request; the status and the body of the answer are its output.
func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	method, target, rest := args[0], args[1], args[2:]
	var body io.Reader = http.NoBody
	if len(rest) > 0 && strings.HasPrefix(rest[len(rest)-1], "{") {
		body = strings.NewReader(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
	}
	req, err := http.NewRequest(method, target, body)
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range rest {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Set(name, value)
		if name == "Host" { // which net/http takes from another field
			req.Host = value
		}
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", resp.StatusCode, text)
}

// listener
//
// Starts a server that answers nothing useful and counts its requests, and sets
// LISTENER to its URL.
func cmdListener(ts *testscript.TestScript, _ bool, _ []string) {
	state := scriptState(ts)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state.heard.Add(1)
		http.Error(w, "heard: "+r.URL.Path, http.StatusTeapot)
	}))
	ts.Defer(server.Close)
	ts.Setenv("LISTENER", server.URL)
}

// [!] heard
//
// Fails if no request has come to the listener, or with ! if one has.
func cmdHeard(ts *testscript.TestScript, neg bool, _ []string) {
	if n := scriptState(ts).heard.Load(); (n > 0) == neg {
		ts.Fatalf("the listener has heard %d requests", n)
	}
}

// llm [KEY]
//
// Starts a scripted LLM, to which a model openai/NAME goes from now on. What
// it answers stands in the message: see internal/testkit/llmtest. With a key, it
// takes no other, and the variables are those of no program: LLM is its base
// URL, and LLMHOST its address.
func cmdLLM(ts *testscript.TestScript, _ bool, args []string) {
	server := llmtest.New(scriptState(ts).test)
	if len(args) > 0 {
		server.RequireKey(args[0])
		ts.Setenv("LLM", server.URL)
		ts.Setenv("LLMHOST", strings.TrimSuffix(strings.TrimPrefix(server.URL, "http://"), "/v1"))
		return
	}
	ts.Setenv("OPENAI_BASE_URL", server.URL)
	ts.Setenv("OPENAI_API_KEY", "sk-test-0123456789")
}

// workprofile
//
// Starts the scripted LLM and makes the LLM profile "work", active, that asks
// it; a message of the user says what it answers (see llmtest).
func cmdWorkProfile(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := llmtest.Start("127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { server.Close() })
	ts.Setenv("OH_PERSISTENCE_DIR", ts.MkAbs("oh"))
	ts.Setenv("OPENAI_API_KEY", "sk-of-this-script")
	profile := fmt.Sprintf(`{"model": "openai/scripted", "base_url": %q}`, server.URL)
	ts.Check(os.MkdirAll(ts.MkAbs("oh/profiles"), 0o700))
	ts.Check(os.WriteFile(ts.MkAbs("oh/profiles/work.json"), []byte(profile), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("oh/settings.json"), []byte(`{"active_profile": "work"}`), 0o600))
}

// mode MODE FILE...
//
// Checks the mode bits of files.
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
			ts.Fatalf("mode of %s is %s, want %s", name, got, args[0])
		}
	}
}

// replace FILE REGEXP WITH
//
// Replaces what changes from run to run, so that the file can be compared.
func cmdReplace(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	text = regexp.MustCompile(args[1]).ReplaceAllString(text, args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// [!] serving
//
// Waits for the daemon of this script and sets DAEMON to its URL. With ! the last
// program in the background must end, and no daemon of this script be found before.
func cmdServing(ts *testscript.TestScript, neg bool, _ []string) {
	info, _, err := awaitDaemon(ts, ts.BackgroundCmds())
	switch {
	case neg && err == nil:
		ts.Fatalf("process %d is a daemon at %s", info.PID, info.URL)
	case !neg && err != nil:
		ts.Fatalf("no daemon: %v", err)
	case !neg:
		ts.Setenv("DAEMON", info.URL)
	}
}

// awaitDaemon finds the daemon among the programs that this script has started. The wait
// ends with the last of them. Without any, the daemon is that of serve --detach, which
// has waited for it.
func awaitDaemon(ts *testscript.TestScript, started []*exec.Cmd) (instance.Info, *exec.Cmd, error) {
	dir := filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "ohgw")
	if len(started) == 0 {
		info, err := instance.Find(dir)
		return info, nil, err
	}
	last := started[len(started)-1].Process
	var info instance.Info
	var found *exec.Cmd
	var err error
	waittest.Poll(patience, func() bool {
		ended := errors.Is(last.Signal(syscall.Signal(0)), os.ErrProcessDone)
		info, err = instance.Find(dir)
		if at := slices.IndexFunc(started, func(cmd *exec.Cmd) bool { return err == nil && cmd.Process.Pid == info.PID }); at >= 0 {
			found = started[at]
			return true
		}
		if err == nil {
			err = fmt.Errorf("the daemon is process %d, which this script has not started", info.PID)
		}
		err = fmt.Errorf("%w; process %d has ended: %t", err, last.Pid, ended)
		return ended
	})
	return info, found, err
}

// setenv NAME FILE
//
// Sets a variable to the only line of a file, which may be stdout.
func cmdSetenv(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// signal NAME
//
// Sends a signal to the daemon of this script.
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	_, cmd, err := awaitDaemon(ts, ts.BackgroundCmds())
	ts.Check(err)
	if cmd == nil {
		ts.Fatalf("the daemon does not run in the background of this script")
	}
	scriptState(ts).signalled = cmd
	ts.Check(cmd.Process.Signal(signals[args[0]]))
}

// ended N
//
// Checks the exit code of the daemon that got the last signal; it must have
// been waited for.
func cmdEnded(ts *testscript.TestScript, _ bool, args []string) {
	cmd := scriptState(ts).signalled
	if cmd == nil || cmd.ProcessState == nil {
		ts.Fatalf("no daemon has ended")
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// hold FILE
//
// Holds the lock on a file until the script ends.
func cmdHold(ts *testscript.TestScript, _ bool, args []string) {
	lock, err := filelock.Acquire(context.Background(), ts.MkAbs(args[0]), filelock.Options{})
	ts.Check(err)
	ts.Defer(func() { _ = lock.Release() })
}

// hostport URL
//
// Sets HOSTPORT to the address in a URL.
func cmdHostPort(ts *testscript.TestScript, _ bool, args []string) {
	u, err := url.Parse(args[0])
	ts.Check(err)
	ts.Setenv("HOSTPORT", u.Host)
}

// draining
//
// Waits until the daemon of this script says that it is about to end.
func cmdDraining(ts *testscript.TestScript, _ bool, _ []string) {
	awaitHealth(ts, "the daemon does not drain", func(h daemon.Health) bool { return h.Status == "draining" })
}

// turn TEXT
//
// Asks the model openhands and waits until its agent runs, not until it
// answers.
func cmdTurn(ts *testscript.TestScript, _ bool, args []string) {
	body := fmt.Sprintf(`{"model":"openhands","messages":[{"role":"user","content":%q}]}`, args[0])
	ctx, cancel := context.WithCancel(context.Background())
	var asked sync.WaitGroup
	asked.Go(func() { // ends with the daemon, or with the script
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.Getenv("DAEMON")+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+ts.Getenv("OHGW_API_KEYS"))
		req.Header.Set("Content-Type", "application/json")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	})
	ts.Defer(func() { cancel(); asked.Wait() })
	awaitHealth(ts, "no turn runs", func(h daemon.Health) bool { return h.Runs != nil && h.Runs.Running == 1 })
}

// idle
//
// Waits until the daemon at $DAEMON runs no turn.
func cmdIdle(ts *testscript.TestScript, _ bool, _ []string) {
	awaitHealth(ts, "a turn runs", func(h daemon.Health) bool { return h.Runs != nil && h.Runs.Running == 0 })
}

// awaitHealth waits until the daemon's own account of itself is as wanted.
func awaitHealth(ts *testscript.TestScript, what string, wanted func(daemon.Health) bool) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	waittest.Until(ts, patience, what, func() (any, bool) {
		req, err := http.NewRequest(http.MethodGet, ts.Getenv("DAEMON")+"/healthz", http.NoBody)
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+ts.Getenv("OHGW_API_KEYS"))
		var h daemon.Health
		resp, err := client.Do(req)
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&h)
			_ = resp.Body.Close()
		}
		return fmt.Sprintf("%+v, error %v", h, err), err == nil && wanted(h)
	})
}

// parrot is the model of the fake agent-server.
func parrot(ctx context.Context, p fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
	last := p.Messages[len(p.Messages)-1]
	text := "You said: " + last.Content[len(last.Content)-1].Text
	if strings.Contains(text, "which key") {
		text = "You gave me …" + p.Key[max(0, len(p.Key)-4):]
	}
	say(text)
	if strings.Contains(text, "hang") {
		<-ctx.Done()
		return fakeserver.Reply{}, ctx.Err()
	}
	return fakeserver.Reply{Text: text}, nil
}

// state is what the commands of one script share.
type state struct {
	test      testing.TB
	signalled *exec.Cmd     // the daemon that got the last signal
	notify    *net.UnixConn // where services tell how they are
	told      []string      // what they have told
	heard     atomic.Int64  // requests at the listener
}

type stateKey struct{}

func scriptState(ts *testscript.TestScript) *state {
	s, ok := ts.Value(stateKey{}).(*state)
	if !ok {
		ts.Fatalf("the script has no state")
	}
	return s
}
