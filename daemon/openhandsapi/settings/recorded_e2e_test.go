//go:build e2e

package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// The newest agent-server answers as it did when its answers were recorded. With
// OHGW_TEST_RECORD=1 they are recorded again.
func TestTheAgentServerAnswersAsRecorded(t *testing.T) {
	t.Parallel()
	real := agentservertest.Start(t, "OH_SECRET_KEY=sec")
	s := &server{ids: map[string]string{}}
	var first map[string]any
	answers := readAnswers(t)
	for n := range answers {
		want := &answers[n]
		if strings.HasPrefix(want.Path, "/api/agent-profiles/{") {
			s.askReal(t, real, http.MethodGet, "/api/agent-profiles", nil, nil)
		}
		status, got := s.askReal(t, real, want.Method, want.Path, want.body(), want.Header)
		answer := condense(normal("", got), first)
		if first == nil {
			first, _ = normal("", got).(map[string]any)
			answer = normal("", got)
		}
		switch {
		case os.Getenv("OHGW_TEST_RECORD") != "":
			want.Status = status
			if want.Answer != nil && !strings.HasSuffix(want.Path, "-schema") {
				want.Answer = answer
			}
		case status != want.Status:
			t.Errorf("%d %s %s %s: status %d, recorded is %d: %v", n, want.Method, want.Path, want.Body, status, want.Status, got)
		case want.Answer != nil && !strings.HasSuffix(want.Path, "-schema"):
			if diff := cmp.Diff(want.Answer, answer); diff != "" {
				t.Errorf("%d %s %s %s:\n%s", n, want.Method, want.Path, want.Body, diff)
			}
		}
	}
	if os.Getenv("OHGW_TEST_RECORD") != "" {
		record(t, answers)
	}
	agent, conversation := openhands.Forms()
	for path, form := range map[string]openhands.Form{"agent-schema": agent, "conversation-schema": conversation} {
		_, want := s.askReal(t, real, http.MethodGet, "/api/settings/"+path, nil, nil)
		data, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(undescribed(want), undescribed(got)); diff != "" {
			t.Errorf("%s (-agent-server +ours):\n%s", path, diff)
		}
	}
}

// undescribed is a form without its descriptions, which ours do not have.
func undescribed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = undescribed(member)
		}
		delete(v, "description")
	case []any:
		for i, item := range v {
			v[i] = undescribed(item)
		}
	}
	return value
}

func (s *server) askReal(t *testing.T, real *agentservertest.Server, method, path string, body []byte, header map[string]string) (int, any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, real.URL+s.fill(path), strings.NewReader(s.fill(string(body))))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // behind a failure of its own, the server breaks the connection
	req.Header.Set("X-Session-API-Key", real.Key)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if json.Unmarshal(data, &got) != nil {
		got = string(data)
	}
	s.learn(path, got)
	return res.StatusCode, got
}

func record(t *testing.T, answers []answer) {
	t.Helper()
	var out bytes.Buffer
	for _, a := range answers {
		line, err := plainjson.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", bytes.TrimSpace(line))
	}
	if err := os.WriteFile(filepath.Join("testdata", "recorded.jsonl"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
