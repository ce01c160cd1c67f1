//go:build e2e && linux

package providers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// step is a part of a turn: a message, an answer of the model that is asked
// for, or the results of its calls.
type step struct {
	Role    string    `json:"role"` // system, user, ask or result
	Content []content `json:"content,omitempty"`
	Results []step    `json:"results,omitempty"`
}

// content is a text or a picture.
type content struct {
	Text  string `json:"text,omitempty"`
	Image string `json:"image,omitempty"`
}

// The smallest pictures that every library takes for one.
const (
	picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	another = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

// steps are what both sides do in a turn: a question with a picture, two calls, their
// results, another question, a call and its result with a picture.
func steps() []step {
	return []step{
		{Role: "system", Content: []content{{Text: "You are an agent."}, {Text: "Today is Monday."}}},
		{Role: "user", Content: []content{{Text: "What is <this> & that?"}, {Image: picture}}},
		{Role: "ask"},
		{Role: "result", Results: []step{{Content: []content{{Text: "One."}}}, {Content: []content{{Text: "Two."}}}}},
		{Role: "ask"},
		{Role: "user", Content: []content{{Text: "Thanks. And this?"}}},
		{Role: "ask"},
		{Role: "result", Results: []step{{Content: []content{{Text: "A picture."}, {Image: another}}}}},
		{Role: "ask"},
	}
}

// profile is the profile of a case, for both sides.
func (c modelCase) profile(t *testing.T) map[string]any {
	t.Helper()
	fields := map[string]any{"api_key": key, "num_retries": 1, "stream": true, "timeout": 30}
	if c.fields != "" {
		if err := json.Unmarshal([]byte("{"+c.fields+"}"), &fields); err != nil {
			t.Fatalf("%s: %v", c.name(), err)
		}
	}
	fields["model"] = c.model
	return fields
}

// patience is how long the SDK may take for one step, on a busy machine.
const patience = 5 * time.Minute

// sdk is the process of OpenHands' SDK.
type sdk struct {
	in   io.WriteCloser
	pipe *os.File
	out  *bufio.Reader
	log  *bytes.Buffer // complete when the process has ended
	tool llm.Tool
	dead bool // it is of no use any more
}

// newSDK starts the SDK.
func newSDK(t *testing.T) *sdk {
	t.Helper()
	script := need(t, os.Getenv("OHGW_TEST_AGENT_SERVER"), "set OHGW_TEST_AGENT_SERVER to scripts/agent-server")
	dir := t.TempDir()
	source, err := os.ReadFile("sdk.py")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sdk.py") // below /tmp, which a small Debian sees
	if err := os.WriteFile(program, source, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, script, "--version", agentservertest.Newest, "python", program)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "HOME="+dir, "OPENHANDS_SUPPRESS_BANNER=1", "LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_LOG=ERROR",
		"HF_HUB_OFFLINE=1", // it tries for long to fetch tokenizers
		"AWS_EC2_METADATA_DISABLED=true", "PYTHONWARNINGS=ignore")
	s := &sdk{log: &bytes.Buffer{}}
	cmd.Stderr = s.log
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	var out *os.File
	if s.pipe, out, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = out
	err = cmd.Start()
	_ = out.Close()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(s.pipe)
	t.Cleanup(func() {
		_ = s.in.Close()
		stop := time.AfterFunc(patience, cancel)
		err := cmd.Wait()
		stop.Stop()
		cancel()
		_ = s.pipe.Close()
		if err != nil || t.Failed() {
			t.Logf("the SDK ended with %v:\n%s", err, tail(s.log.Bytes()))
		}
	})
	var tool struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	s.read(t, &tool)
	s.tool = llm.Tool(tool.Function)
	return s
}

func tail(log []byte) []byte {
	const most = 4000
	return log[max(0, len(log)-most):]
}

// read reads a line of the SDK's process.
func (s *sdk) read(t *testing.T, to any) {
	t.Helper()
	_ = s.pipe.SetReadDeadline(time.Now().Add(patience))
	line, err := s.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, to)
	}
	if err != nil {
		s.dead = true
		t.Fatalf("read from the SDK: %v", err)
	}
}

// run makes the turn in the SDK.
func (s *sdk) run(t *testing.T, c modelCase) error {
	t.Helper()
	if s.dead {
		t.Skip("the SDK does not answer")
	}
	line, err := json.Marshal(map[string]any{"profile": c.profile(t), "environment": map[string]string{}, "steps": steps()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("write to the SDK: %v", err)
	}
	var answer struct{ Error *string }
	s.read(t, &answer)
	if answer.Error != nil {
		return errors.New(*answer.Error)
	}
	return nil
}

// runOurs makes the turn in the engine's LLM layer.
func runOurs(t *testing.T, c modelCase, tool llm.Tool) error {
	t.Helper()
	model, err := llm.New(c.ours(t))
	if err != nil {
		return err
	}
	request := llm.Request{Tools: []llm.Tool{tool}, CacheKey: conversation}
	for _, s := range steps() {
		switch s.Role {
		case "ask":
			answer, err := model.Generate(t.Context(), request, nil)
			if err != nil {
				return err
			}
			request.Messages = append(request.Messages, answer.Message)
		case "result":
			calls := request.Messages[len(request.Messages)-1].ToolCalls
			if len(calls) != len(s.Results) {
				return fmt.Errorf("%d tool calls were read, %d were sent", len(calls), len(s.Results))
			}
			for i, call := range calls {
				message := s.Results[i].message()
				message.Role, message.ToolCallID, message.Name = "tool", call.ID, call.Name
				request.Messages = append(request.Messages, message)
			}
		default:
			request.Messages = append(request.Messages, s.message())
		}
	}
	return nil
}

// message is the step as a message of the engine's.
func (s step) message() event.LLMMessage {
	message := event.LLMMessage{Role: s.Role}
	for _, c := range s.Content {
		if c.Image != "" {
			message.Content = append(message.Content, event.Images(c.Image))
		} else {
			message.Content = append(message.Content, event.Text(c.Text))
		}
	}
	return message
}

// need gives a path that must exist. Without it the test is skipped, loudly,
// and fails where the environment has CI=true.
func need(t *testing.T, path, hint string) string {
	t.Helper()
	_, err := os.Stat(path)
	if err == nil {
		return path
	}
	message := fmt.Sprintf("%s checks NOTHING: %q is missing; %s", t.Name(), path, hint)
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	fmt.Fprintln(os.Stderr, message) // a skip alone is silent without -v
	t.Skip(message)
	return ""
}
