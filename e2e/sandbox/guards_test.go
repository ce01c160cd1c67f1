//go:build e2e && linux

package sandbox_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// TestAttemptsPastAGuard lets an agent make a file that a hook of the user's home
// directory is to refuse. A hook that cannot start refuses, too.
func TestAttemptsPastAGuard(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			w := newWorld(t, level)
			llm := llmtest.New(t)
			address := processtest.FreeAddress(t)
			w.serveAgent(llm.URL, address)
			guards := w.at(".openhands/hooks")
			for name, guard := range map[string]struct {
				command, file, script string
				mode                  os.FileMode
				runs                  bool
				told                  string
			}{
				"a guard that refuses":      {guards + "/no.sh", "no.sh", "#!/bin/sh\necho not today >&2; exit 2\n", 0o700, false, "not today"},
				"a guard that allows":       {"~/.openhands/hooks/yes.sh", "yes.sh", "#!/bin/sh\nexit 0\n", 0o700, true, ""},
				"a guard beside":            {"sh $HOME/.openhands/beside.sh", "../beside.sh", "echo by the file beside >&2; exit 2\n", 0o600, false, "by the file beside"},
				"no program":                {guards + "/none.sh", "", "", 0, false, "could not be started"},
				"not executable":            {guards + "/plain.sh", "plain.sh", "#!/bin/sh\nexit 0\n", 0o600, false, "could not be started"},
				"no interpreter":            {guards + "/odd.py", "odd.py", "#!/no/such/python\n", 0o700, false, "could not be started"},
				"a directory":               {guards, "", "", 0, false, "could not be started"},
				"what it needs is not seen": {guards + "/other.sh", "other.sh", "#!/bin/sh\nexec '" + w.at("bin/ls") + "'\n", 0o700, false, "could not be started"},
			} {
				if at := filepath.Join(guards, guard.file); guard.file != "" {
					w.file(at, guard.script)
					if err := os.Chmod(at, guard.mode); err != nil {
						t.Fatal(err)
					}
				}
				w.hook(guard.command)
				made := filepath.Join(w.app, "made")
				llm.Reply(shell("touch made"), llmtest.Finish("done"))
				w.ask(address, false)
				_, err := os.Lstat(made)
				if ran := err == nil; ran != guard.runs {
					t.Errorf("%s: the command ran: %v", name, ran)
				}
				if seen := strings.Join(observations(llm), "\n"); !strings.Contains(seen, guard.told) {
					t.Errorf("%s: the model has seen %q", name, seen)
				}
				_ = os.Remove(made)
			}
		})
	}
}

// hook makes a command the hook before each call of the terminal.
func (w *world) hook(command string) {
	w.t.Helper()
	data, err := json.Marshal(map[string]any{"pre_tool_use": []any{map[string]any{
		"matcher": "terminal", "hooks": []any{map[string]any{"command": command}},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.file(w.at(".openhands/hooks.json"), string(data))
}

// TestAttemptsAfterAFinding finds level full, and then starts ohgw where it may not make
// namespaces: each command says the level that there is, and an agent has it.
func TestAttemptsAfterAFinding(t *testing.T) {
	w := newWorld(t, sandbox.Full)
	if err := os.Remove(w.at(".local/state/ohgw/tokens.json")); err != nil { // a decoy, not a token store
		t.Fatal(err)
	}
	llm := llmtest.New(t)
	outside, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced, sandbox.Full} {
		w.level = level
		t.Run(string(level), func(t *testing.T) {
			inner := *w
			inner.t = t
			address := processtest.FreeAddress(t)
			inner.serveAgent(llm.URL, address)
			llm.Reply(shell("readlink /proc/self/ns/user"), llmtest.Finish("done"))
			header, _ := inner.ask(address, false)
			if got := header.Get("X-OpenHands-Sandbox"); got != string(level) {
				t.Errorf("the answer is of level %q", got)
			}
			if seen := strings.Join(observations(llm), ""); strings.Contains(seen, outside) != (level == sandbox.Reduced) {
				t.Errorf("outside it is %s, and the model has seen %q", outside, seen)
			}
			if health := get(t, "http://"+address+"/healthz"); !strings.Contains(health, `"`+string(level)+`"`) {
				t.Errorf("/healthz says %s", health)
			}
			inner.says("sandbox\t"+string(level)+" ", "status")
			inner.says("level\t"+string(level), "sandbox", "status")
			weaker := "the sandbox is weaker than it could be"
			if said := inner.said("doctor"); strings.Contains(said, weaker) != (level == sandbox.Reduced) {
				t.Errorf("ohgw doctor says %s", said)
			}
			if _, err := os.Lstat(w.at(".local/state/ohgw/sandbox/known.json")); level == sandbox.Full && err != nil {
				t.Errorf("the level is not kept: %v", err)
			}
		})
	}
	w.level = sandbox.Reduced
	w.says("level reduced only", "serve", "--addr", processtest.FreeAddress(t), "--backend", "embedded", "--sandbox-require", "full")
}

// said is what ohgw prints.
func (w *world) said(args ...string) string {
	w.t.Helper()
	cmd := w.ohgw(w.t.Context(), args...)
	cmd.Env = append(cmd.Env, "OHGW_API_KEY="+agentKey)
	out, err := cmd.CombinedOutput()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		w.t.Fatal(err)
	}
	return string(out)
}

func (w *world) says(want string, args ...string) {
	w.t.Helper()
	if said := w.said(args...); !strings.Contains(said, want) {
		w.t.Errorf("ohgw %s says %s, not %q", args, said, want)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+agentKey)
	resp, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
