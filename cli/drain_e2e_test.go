//go:build e2e && linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// silent is an LLM that takes requests and never answers. asked gets one
// element for each.
func silent(t *testing.T) (base string, asked <-chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests := make(chan struct{}, 16)
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // its end lets the server see that the client went
			requests <- struct{}{}
			<-r.Context().Done()
		}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln) // it ends with Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return "http://" + ln.Addr().String() + "/v1", requests
}

// SIGTERM ends the daemon with 0, whatever its clients are doing.
func TestSIGTERMEndsWithZero(t *testing.T) {
	llm, asked := silent(t)
	p := built(t, map[string]string{"mock": fmt.Sprintf(`{"model":"openai/mock","base_url":%q,"api_key":"sk-none","num_retries":0}`, llm)})
	const (
		apiKey = "sk-drain-test"
		head   = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + apiKey + "\r\n"
	)
	whole := func(body string) string { return head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	for _, tc := range []struct {
		name, sent string
		llm        bool // the model is asked
	}{
		{"idle connection", "", false},
		{"half a head", "GET /heal", false},
		{"arriving body", head + "Content-Length: 100\r\n\r\n{", false},
		{"arriving body without a key", strings.Replace(head, apiKey, "wrong", 1) + "Content-Length: 100\r\n\r\n{", false},
		{"utility call", whole(`{"model":"openhands_utility","messages":[{"role":"user","content":"hi"}]}`), true},
		{"stream", whole(`{"model":"openhands_mock","stream":true,"messages":[{"role":"user","content":"hi"}]}`), true},
		{"plain answer", whole(`{"model":"openhands_mock","messages":[{"role":"user","content":"hi"}]}`), true},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), p.path, "serve", "--addr", "127.0.0.1:0", "--backend", "embedded", "--drain", "1s", "--json")
			cmd.Env = append(p.env, "OHGW_API_KEYS="+apiKey, "XDG_RUNTIME_DIR="+t.TempDir())
			var log bytes.Buffer
			cmd.Stderr = &log
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			var ready struct {
				URL string `json:"base_url"`
			}
			if err := json.NewDecoder(out).Decode(&ready); err != nil {
				t.Fatalf("reading the daemon's first line: %v\n%s", err, &log)
			}
			address := strings.TrimSuffix(strings.TrimPrefix(ready.URL, "http://"), "/v1")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, tc.sent); err != nil {
				t.Fatal(err)
			}
			if tc.llm {
				<-asked
			}
			began := time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the daemon ended with: %v\n%s", err, &log)
			}
			t.Logf("ended after %v", time.Since(began).Round(time.Millisecond))
		})
	}
}
