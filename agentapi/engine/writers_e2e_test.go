//go:build e2e

package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonWriter has the SDK write one conversation. It imports the SDK once, and each
// writer is a fork, which can be killed. Its answers begin with "W ".
const pythonWriter = `
import json, os, signal, sys, traceback, uuid
from pydantic import SecretStr
from openhands.sdk import LLM
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.event import MessageEvent
from openhands.sdk.llm import Message, TextContent
from openhands.tools.preset.default import register_default_tools
register_default_tools(enable_browser=False)
name, url = sys.argv[1:]

def told(what, value=None):
    os.write(1, ("W " + json.dumps([what, value]) + "\n").encode())

def opened():
    workspace = os.path.abspath("ws")
    os.makedirs(workspace, exist_ok=True)
    return LocalConversation(agent=None, workspace=workspace, persistence_dir=os.getcwd(),
        conversation_id=uuid.UUID(name), visualizer=None, delete_on_close=False)

def turn(c, text):
    llm = LLM(model="openai/test", base_url=url, api_key=SecretStr("sk-test"), usage_id="python", num_retries=0)
    c.state.agent = c.state.agent.model_copy(update={"llm": llm, "condenser": None})
    c.agent = c.state.agent
    c.send_message(text)
    c.run()
    return c.state.execution_status.value

def text_of(e):
    return e.llm_message.content[0].text if isinstance(e, MessageEvent) and e.llm_message.content else ""

def serve(commands):
    c = opened()
    told("open")
    for line in commands:
        do, value, n = json.loads(line)
        if do == "append":
            for i in range(n):
                text = "%s.%d." % (value, i)
                with c.state:
                    c.state.append_event(MessageEvent(source="user", llm_message=Message(role="user", content=[TextContent(text=text)])))
                told("wrote", text)
            told("done")
        elif do == "turn":
            told("done", turn(c, value))
        elif do == "list":
            told("done", [[type(e).__name__, str(e.id)] for e in c.state.events])
        elif do == "close":
            c.close()
            return told("done")

pid, pipe = 0, None
told("ready")
while line := sys.stdin.readline():
    do = json.loads(line)[0]
    if do == "spawn":
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(w)
            try:
                serve(os.fdopen(r))
            except BaseException:
                told("error", traceback.format_exc()[-3000:])
            os._exit(0)
        os.close(r)
        pipe = os.fdopen(w, "w")
    elif do == "kill":
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        told("killed")
    else:
        pipe.write(line)
        pipe.flush()
`

// writer is a process that writes the log of a conversation.
type writer struct {
	t     *testing.T
	name  string
	in    io.WriteCloser
	lines *bufio.Scanner
	open  bool
	start func()
	kill  func()
	words bytes.Buffer // for people
}

// answer is what a writer says of a command.
type answer struct {
	what  string
	value json.RawMessage
}

// next is the next answer of a writer.
func (w *writer) next() answer {
	w.t.Helper()
	for w.lines.Scan() {
		line, ok := strings.CutPrefix(w.lines.Text(), "W ")
		if !ok {
			continue
		}
		var got [2]json.RawMessage
		var a answer
		if err := json.Unmarshal([]byte(line), &got); err != nil || json.Unmarshal(got[0], &a.what) != nil {
			w.t.Fatalf("%s says %q: %v", w.name, line, err)
		}
		a.value = got[1]
		if a.what == "error" {
			var text string
			_ = json.Unmarshal(a.value, &text)
			w.t.Fatalf("%s reports the error %q", w.name, text)
		}
		return a
	}
	w.t.Fatalf("%s has ended: %v", w.name, w.lines.Err())
	return answer{}
}

// until is the answer that is expected, behind others.
func (w *writer) until(what string) json.RawMessage {
	w.t.Helper()
	for {
		if a := w.next(); a.what == what {
			return a.value
		}
	}
}

// ask gives a command to the process that writes, which is started if it must be.
func (w *writer) ask(do, text string, n int) {
	w.t.Helper()
	if !w.open {
		w.start()
		w.until("open")
		w.open = true
	}
	w.send(do, text, n)
}

func (w *writer) send(do, text string, n int) {
	w.t.Helper()
	data, err := json.Marshal([]any{do, text, n})
	if err == nil {
		_, err = w.in.Write(append(data, '\n'))
	}
	if err != nil {
		w.t.Fatalf("%s: %v", w.name, err)
	}
}

// wrote reads the texts of the events that are written up to the end of a command.
func (w *writer) wrote() (texts []string) {
	w.t.Helper()
	for {
		a := w.next()
		switch a.what {
		case "done":
			return texts
		case "wrote":
			texts = append(texts, w.text(a))
		}
	}
}

func (w *writer) text(a answer) (text string) {
	w.t.Helper()
	if err := json.Unmarshal(a.value, &text); err != nil {
		w.t.Fatal(err)
	}
	return text
}

// killedAfter kills the process when it has written n events more, and gives those
// that it has told of.
func (w *writer) killedAfter(n int) (texts []string) {
	w.t.Helper()
	for len(texts) < n {
		if a := w.next(); a.what == "wrote" {
			texts = append(texts, w.text(a))
		}
	}
	w.open = false
	w.kill()
	for {
		a := w.next()
		switch a.what {
		case "killed":
			return texts
		case "wrote":
			texts = append(texts, w.text(a))
		}
	}
}

// run starts a process whose output is read.
func (w *writer) run(cmd *exec.Cmd) {
	w.t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		w.in, err = cmd.StdinPipe()
	}
	if err == nil {
		cmd.Stderr = &w.words
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	w.lines.Buffer(nil, 64<<20)
}

// python is a writer with the SDK of a version, of the conversation in a directory.
func python(t *testing.T, version, dir, url string) *writer {
	t.Helper()
	w := &writer{t: t, name: "Python " + version}
	cmd := sdktest.CommandOf(t, version, filepath.Dir(dir), pythonWriter, filepath.Base(dir), url)
	cmd.Env = append(os.Environ(), "OPENHANDS_SUPPRESS_BANNER=1", "LITELLM_LOCAL_MODEL_COST_MAP=True")
	w.run(cmd)
	t.Cleanup(func() { // the end of the test has ended it, and the pipe its fork
		_ = w.in.Close()
		for w.lines.Scan() {
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the last words of %s:\n%s", w.name, &w.words)
		}
	})
	w.until("ready")
	w.start = func() { w.send("spawn", "", 0) }
	w.kill = func() { w.send("kill", "", 0) }
	return w
}

// writerVariable makes the test binary a writer.
const writerVariable = "OHGW_ENGINE_TEST_WRITER"

// ours is a writer with the embedded engine, in processes of their own.
func ours(t *testing.T, c childConfig) *writer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, name: "ohgw"}
	var cmd *exec.Cmd
	w.start = func() {
		cmd = exec.CommandContext(t.Context(), self, "-test.run", "^TestOurWriter$")
		cmd.Env = append(os.Environ(), writerVariable+"="+string(config))
		w.run(cmd)
	}
	w.kill = func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest := w.lines
		var left []string
		for rest.Scan() {
			left = append(left, rest.Text())
		}
		_ = cmd.Wait() // was killed
		left = append(left, `W ["killed",null]`)
		w.lines = bufio.NewScanner(strings.NewReader(strings.Join(left, "\n")))
	}
	t.Cleanup(func() {
		if w.open {
			w.kill()
		}
	})
	return w
}

// TestOurWriter is a writer if it is asked to be one, and no test.
func TestOurWriter(t *testing.T) {
	config := os.Getenv(writerVariable)
	if config == "" {
		return
	}
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	if err := write(c, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0) // without the framework's words
}

// write appends what it is told to, until the input ends.
func write(c childConfig, in io.Reader, out io.Writer) error {
	cfg := enginetest.Engine(c.URL, enginetest.NewProfiles("main", "test"))
	cfg.Dir, cfg.Holder.PID = c.Dir, os.Getpid()
	cfg.Holder.Alive = func(pid int) bool { return pid == os.Getpid() } // the one before was killed
	ctx := context.Background()
	backend := engine.New(cfg)
	conv, err := backend.Control().Open(ctx, c.ID)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, `W ["open",null]`)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var name, text string
		var n int
		if err := json.Unmarshal(lines.Bytes(), &[]any{&name, &text, &n}); err != nil {
			return err
		}
		if name == "close" {
			err := backend.Close()
			fmt.Fprintln(out, `W ["done",null]`)
			return err
		}
		for i := range n {
			said := text + "." + strconv.Itoa(i) + "."
			if err := conv.Append(ctx, control.Message{Content: []event.Content{event.Text(said)}}, false); err != nil {
				return err
			}
			fmt.Fprintf(out, "W [\"wrote\",%q]\n", said)
		}
		fmt.Fprintln(out, `W ["done",null]`)
	}
	return backend.Close()
}

// eventName is the name of an event's file.
var eventName = regexp.MustCompile(`^event-(\d{5,})-([0-9a-f-]+)\.json$`)

// logOf reads the files of a log: kinds and ids in their order, and how often each
// text is there that a writer writes. Each index has one file.
func logOf(t *testing.T, dir string) (listed [][2]string, texts map[string]int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "events"))
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]int{}
	for _, entry := range entries {
		m := eventName.FindStringSubmatch(entry.Name())
		if m == nil {
			continue
		}
		if index, err := strconv.Atoi(m[1]); err != nil || index != len(listed) {
			t.Errorf("the event %s is the number %d of the log", entry.Name(), len(listed))
		}
		var e event.Event
		if err := json.Unmarshal(mustRead(t, filepath.Join(dir, "events", entry.Name())), &e); err != nil {
			t.Errorf("%s: %v", entry.Name(), err)
			continue
		}
		listed = append(listed, [2]string{e.Kind(), e.ID})
		if m, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser {
			texts[event.PlainText(m.LLMMessage.Content)]++
		}
	}
	seen := map[string]bool{}
	for _, e := range listed {
		if seen[e[1]] {
			t.Errorf("the event %s is there twice", e[1])
		}
		seen[e[1]] = true
	}
	return listed, texts
}
