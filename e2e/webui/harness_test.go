//go:build e2e_webui

package webui_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/browsertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// patience bounds every wait. Open WebUI starts in 20 s, in minutes where the
// machine has much else to do.
const patience = 5 * time.Minute

const gatewayKey = "sk-gateway-webui-0123456789"

// world is Open WebUI with everything behind it.
type world struct {
	llm     *llmtest.Server
	gateway string // URL
	proxy   *recorder
	ui      string // URL
	browser *browsertest.Browser
}

// newWorld starts an LLM, a gateway, a recorder between the two, Open WebUI and
// a browser. env is for Open WebUI, args are for the gateway.
func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{llm: llmtest.New(t)}
	w.gateway = startGateway(t, w.llm.URL, args...)
	w.proxy = record(t, w.gateway)
	w.ui = startUI(t, w.proxy.URL)
	w.browser = browsertest.Start(t, "browser.mjs", w.ui, os.Getenv("OHGW_TEST_SCREENSHOTS"))
	return w
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// process runs a program until the test ends.
func process(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // the cleanup waits for it
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-exited
		}
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the last words of %s:\n%s", name, text[max(0, len(text)-4000):])
		}
		log.Close()
	})
}

func awaitOK(t *testing.T, url string) {
	t.Helper()
	waittest.Until(t, patience, url+" answers", func() (any, bool) {
		res, err := http.Get(url)
		if err != nil {
			return err, false
		}
		res.Body.Close()
		return res.Status, res.StatusCode == http.StatusOK
	})
}

// startGateway starts `ohgw serve` with the embedded agent and two profiles:
// one whose model sees images, and one whose model does not.
func startGateway(t *testing.T, llm string, args ...string) string {
	t.Helper()
	home, address := t.TempDir(), freeAddress(t)
	program := filepath.Join(home, "ohgw")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/ohgw").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, more := range map[string]string{"seeing": `,"capability_overrides":{"supports_vision":true}`, "blind": ""} {
		model := map[string]string{"seeing": "openai/scripted", "blind": "openai/gpt-3.5-turbo"}[name]
		profile := fmt.Sprintf(`{"model":%q,"base_url":%q,"api_key":"sk-llm-test","num_retries":0%s}`, model, llm, more)
		path := filepath.Join(home, "oh", "profiles", name+".json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(profile), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runtime := filepath.Join(home, "run")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"serve", "--addr", address, "--backend", "embedded", "--key-store", "file"}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OH_PERSISTENCE_DIR=" + filepath.Join(home, "oh"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_RUNTIME_DIR=" + runtime, "OHGW_API_KEYS=" + gatewayKey,
	}
	process(t, "ohgw", cmd)
	awaitOK(t, "http://"+address+"/readyz")
	return "http://" + address
}

// startUI starts Open WebUI with the settings of docs/chat-uis.md.
func startUI(t *testing.T, gateway string) string {
	t.Helper()
	program := os.Getenv("OHGW_TEST_OPEN_WEBUI")
	if program == "" {
		program = filepath.Join("..", "..", ".cache", "e2e-webui", "bin", "open-webui")
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("looking for Open WebUI: %v; run scripts/e2e-webui", err)
	}
	data, address := t.TempDir(), freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(program, "serve", "--host", host, "--port", port)
	cmd.Dir = data
	cmd.Env = append(os.Environ(),
		"DATA_DIR="+data, "WEBUI_AUTH=False", "WEBUI_SECRET_KEY=test", "ENABLE_PERSISTENT_CONFIG=False", "ENABLE_OLLAMA_API=False",
		"OPENAI_API_BASE_URL="+gateway+"/v1", "OPENAI_API_KEY="+gatewayKey, "ENABLE_FORWARD_USER_INFO_HEADERS=True",
		// Without models of its own, and without the network.
		"USE_SLIM_DOCKER=true", "OFFLINE_MODE=True", "HF_HUB_OFFLINE=1", "ENABLE_VERSION_UPDATE_CHECK=False",
	)
	process(t, "open-webui", cmd)
	awaitOK(t, "http://"+address+"/health")
	return "http://" + address
}
