//go:build e2e && codex

package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// codex is the Codex CLI with a home of its own and the settings of `ohgw connect`.
type codex struct {
	program, home, dir string
}

func newCodex(t *testing.T, ohgw, gateway string) codex {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("codex", "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the programs found: %v, %v: run scripts/e2e-codex", found, err)
	}
	c := codex{program: need(t, found[0]), home: t.TempDir(), dir: t.TempDir()}
	at := filepath.Join(c.home, ".codex")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	quiet := "check_for_update_on_startup = false\n[analytics]\nenabled = false\n"
	if err := os.WriteFile(filepath.Join(at, "config.toml"), []byte(quiet), 0o600); err != nil {
		t.Fatal(err)
	}
	connect := exec.CommandContext(t.Context(), ohgw, "connect", "codex", "--write", "--url", gateway, "--model", model)
	connect.Env = append(os.Environ(), "HOME="+c.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "CODEX_HOME=")
	if out, err := connect.CombinedOutput(); err != nil {
		t.Fatalf("ohgw connect: %v\n%s", err, out)
	}
	return c
}

// ask runs codex with a prompt. It gives what codex prints: the answer on
// stdout, and everything on stderr.
func (c codex) ask(t *testing.T, args ...string) (answer, all string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.program, append([]string{"--profile", "ohgw", "exec"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "OHGW_API_KEY=" + gatewayKey}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return strings.TrimSpace(stdout.String()), stderr.String(), err
}

// flaky is a proxy that breaks off its first streamed answer.
type flaky struct {
	*httptest.Server
	asked atomic.Int64 // requests for responses
}

func newFlaky(t *testing.T, target string) *flaky {
	t.Helper()
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	p := &flaky{}
	p.Server = httptest.NewServer(proxytest.Duplex(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(at) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost && p.asked.Add(1) == 1 {
				r.Body = cut{io.LimitReader(r.Body, 1000), r.Body}
			}
			return nil
		},
	}))
	t.Cleanup(p.Close)
	return p
}

// cut is a body that breaks off.
type cut struct {
	io.Reader
	io.Closer
}

func (c cut) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// TestCodex asks through the Codex CLI, over a connection that breaks: Codex sends
// its request again, and the agent runs once. Its session is one conversation.
func TestCodex(t *testing.T) {
	program := racyProgram(t)
	llm := llmtest.New(t)
	for backend, s := range map[string]stack{
		"embedded":     {gateway: serveEmbedded(t, program, llm.URL), llm: llm},
		"agent-server": newStack(t, program),
	} {
		t.Run(backend+"/answers", func(t *testing.T) {
			t.Parallel()
			p := newFlaky(t, s.URL)
			c := newCodex(t, program, p.URL)
			text, mark := prompt(`[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]`)
			answer, all, err := c.ask(t, "--skip-git-repo-check", text)
			if err != nil || answer != "Written." || !strings.Contains(all, write) {
				t.Errorf("running codex: %v: codex printed %q\n%s", err, answer, all)
			}
			if n := p.asked.Load(); n < 2 {
				t.Errorf("codex sent %d requests, want it to send the one that broke off again", n)
			}
			if n := len(s.asked(mark)); n != 2 {
				t.Errorf("the LLM was asked %d times, want twice in one run", n)
			}
			text, _ = prompt(`[[tool terminal {"command":"test \"$(cat note.txt)\" = tea"}]] then [[finish Read.]]`)
			answer, all, err = c.ask(t, "resume", "--last", "--skip-git-repo-check", text)
			if err != nil || answer != "Read." || strings.Contains(all, "exit code 1") || !strings.Contains(all, read) {
				t.Errorf("running codex: %v: codex printed %q\n%s", err, answer, all)
			}
		})
		t.Run(backend+"/fails", func(t *testing.T) {
			t.Parallel()
			p := newFlaky(t, s.URL)
			c := newCodex(t, program, p.URL)
			text, mark := prompt("[[fail 401 The provider knows no such key.]]")
			_, all, err := c.ask(t, "--skip-git-repo-check", text)
			if err == nil || !strings.Contains(all, "The provider knows no such key.") {
				t.Errorf("running codex: %v: codex printed\n%s", err, all)
			}
			if sent, runs := p.asked.Load(), len(s.asked(mark)); sent < 2 || runs != 1 {
				t.Errorf("codex sent %d requests, and the LLM was asked %d times; want at least 2, and 1", sent, runs)
			}
		})
	}
}
