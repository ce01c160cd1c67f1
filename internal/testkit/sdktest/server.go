package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// Server is a real agent-server that runs beside a test.
type Server struct {
	URL  string
	Base string // base directory of its profiles and settings

	key string
	t   testing.TB
}

// startTime is how long a server gets to start.
const startTime = 5 * time.Minute

// Start runs an agent-server that keeps its files in dir and encrypts with this
// secret, until the test ends.
func Start(t testing.TB, dir, secret string) *Server {
	t.Helper()
	port := freePort(t)
	s := &Server{
		URL:  fmt.Sprintf("http://127.0.0.1:%d", port),
		Base: filepath.Join(dir, "persist"),
		key:  "test-session-key",
		t:    t,
	}
	cmd := command(t, dir, "start", "--port", strconv.Itoa(port), "--dir", dir, "--key", s.key)
	cmd.Env = append(os.Environ(), "OH_SECRET_KEY="+secret)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waittest.Until(t, startTime, "the agent-server is ready", func() (any, bool) {
		resp, err := http.Get(s.URL + "/ready")
		if err != nil {
			return err, false
		}
		_ = resp.Body.Close()
		return resp.Status, resp.StatusCode == http.StatusOK
	})
	return s
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Call makes a request with a JSON body, which may be nil, and reads the JSON
// answer into out, which may be nil. It gives the status.
func (s *Server) Call(method, path string, body, out any) int {
	s.t.Helper()
	var in bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&in).Encode(body); err != nil {
			s.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, &in)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", s.key)
	req.Header.Set("X-Expose-Secrets", "plaintext")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			s.t.Fatalf("%s %s: status = %d, body %s", method, path, resp.StatusCode, answer)
		}
	}
	return resp.StatusCode
}
