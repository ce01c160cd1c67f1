//go:build e2e_cloud

package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/cloudservertest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// patience bounds every wait.
const patience = 3 * time.Minute

// build makes the program, once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ohgw-e2e-cloud-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ohgw")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/ohgw")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

// person is somebody with the program and a home directory.
type person struct {
	program, home string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return &person{program, t.TempDir()}
}

func (p *person) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "OHGW_KEY_STORE=file", "TZ=UTC",
		"XDG_CONFIG_HOME=" + filepath.Join(p.home, "config"), "XDG_STATE_HOME=" + filepath.Join(p.home, "state"),
		"XDG_DATA_HOME=" + filepath.Join(p.home, "data"), "XDG_RUNTIME_DIR=" + p.home,
	}
	return cmd
}

// run runs a command and gives its output and its exit code. It is printed, for the
// table of the docs.
func (p *person) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	return p.runWith(t, "", args...)
}

func (p *person) runWith(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	began := time.Now()
	_ = cmd.Run() // Its exit code says how it ended.
	code = cmd.ProcessState.ExitCode()
	t.Logf("$ ohgw %s  (%.1f s, exit code %d)\n%s%s", strings.Join(args, " "), time.Since(began).Seconds(), code, stdout.String(), stderr.String())
	if text := stdout.String() + stderr.String(); strings.Contains(text, cloudservertest.Key) {
		t.Errorf("ohgw %s prints the key", args[0])
	}
	return stdout.String(), code
}

// must runs a command that has to end with 0.
func (p *person) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := p.run(t, args...)
	if code != 0 {
		t.Fatalf("ohgw %s ended with %d", strings.Join(args, " "), code)
	}
	return out
}

// add stores a server.
func (p *person) add(t *testing.T, name, url string) {
	t.Helper()
	if _, code := p.runWith(t, cloudservertest.Key, "server", "add", name, "--url", url, "--key-stdin"); code != 0 {
		t.Fatalf("server add ended with %d", code)
	}
}

func wants(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in %q", text, out)
		}
	}
}

// gatewayKey is the key of the gateway.
const gatewayKey = "sk-gateway-e2e-0123456789"

// serve starts the gateway over the stored server.
func (p *person) serve(t *testing.T) (url string) {
	t.Helper()
	address := processtest.FreeAddress(t)
	cmd := p.command("serve", "--backend", "cloud", "--addr", address)
	cmd.Env = append(cmd.Env, "OHGW_API_KEYS="+gatewayKey)
	s, err := processtest.Start(cmd, filepath.Join(p.home, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.End(syscall.SIGTERM, patience); err != nil {
			t.Errorf("ohgw serve: %v", err)
		}
		if t.Failed() {
			t.Log(s.Tail())
		}
		if text, err := os.ReadFile(filepath.Join(p.home, "serve.log")); err != nil || bytes.Contains(text, []byte(cloudservertest.Key)) {
			t.Errorf("the log has the key: %v", err)
		}
	})
	if err := s.Await(t.Context(), "http://"+address+"/readyz", patience); err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// answer is what OpenAI's client got; see e2e/python/client.py.
type answer struct {
	Text         string `json:"text"`
	Reasoning    string `json:"reasoning"`
	Pieces       int    `json:"pieces"`
	Conversation string `json:"conversation"`
	Attempts     int    `json:"attempts"`
	Aborted      bool   `json:"aborted"`
	Error        *struct {
		Class, Code, Message string
		Status               int
	} `json:"error"`
}

// ask has OpenAI's client for Python stream an answer.
func ask(t *testing.T, url, conversation, prompt string, abortAfter int) answer {
	t.Helper()
	request := map[string]any{
		"op": "chat", "base_url": url + "/v1", "api_key": gatewayKey, "model": "openhands_fast", "prompt": prompt, "stream": true,
		"abort_after": abortAfter,
	}
	if conversation != "" {
		request["headers"] = map[string]string{"X-OpenHands-ServerConversation-ID": conversation}
	}
	in, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	python, err := filepath.Abs(filepath.Join("..", "..", ".cache", "e2e-python", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, "client.py")
	cmd.Dir = filepath.Join("..", "python")
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	var a answer
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("%q: %v\n%s", prompt, err, out)
	}
	t.Logf("%q: %+v, error %+v", prompt, a, a.Error)
	return a
}
