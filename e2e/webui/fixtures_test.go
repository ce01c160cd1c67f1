//go:build e2e_webui

package webui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"
)

// fixture is a request of Open WebUI as the tests of package daemon replay it,
// with what the gateway made of it.
type fixture struct {
	Header     map[string]string `json:"header"`
	Body       json.RawMessage   `json:"body"`
	Status     int               `json:"status"`
	Task       string            `json:"task,omitempty"`
	Reconciled string            `json:"reconciled,omitempty"`
}

// keep writes the requests to the file that OHGW_TEST_KEEP names, with ids and
// prompts shortened and nothing of the machine.
func (r *recorder) keep(t *testing.T) {
	t.Helper()
	path := os.Getenv("OHGW_TEST_KEEP")
	if path == "" {
		return
	}
	ids := map[string]string{}
	var text bytes.Buffer
	for _, e := range r.all() {
		f := fixture{
			Header: map[string]string{}, Body: scrub(e.Body, ids), Status: e.Status,
			Task: e.Answer.Get("X-OpenHands-Task"), Reconciled: e.Answer.Get("X-OpenHands-Reconciled"),
		}
		for _, name := range []string{"X-OpenWebUI-Chat-Id", "X-OpenWebUI-Message-Id", "X-OpenWebUI-Task"} {
			if v := e.Header.Get(name); v != "" {
				f.Header[name] = string(scrub([]byte(v), ids))
			}
		}
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// scrub gives ids short names, and leaves out the middle of prompts.
func scrub(data []byte, ids map[string]string) []byte {
	var (
		id     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		socket = regexp.MustCompile(`temporary:[A-Za-z0-9_-]+`)
		advice = regexp.MustCompile(`(### (Guidelines|Examples|Instructions):).*?(\\n### (Output|Chat))`)
	)
	short := func(kind string) func([]byte) []byte {
		return func(long []byte) []byte {
			if ids[string(long)] == "" {
				ids[string(long)] = fmt.Sprintf("%s%d", kind, len(ids)+1)
			}
			return []byte(ids[string(long)])
		}
	}
	data = socket.ReplaceAllFunc(data, short("temporary:socket-"))
	data = id.ReplaceAllFunc(data, short("id-"))
	return advice.ReplaceAll(data, []byte("$1 […]$3"))
}
