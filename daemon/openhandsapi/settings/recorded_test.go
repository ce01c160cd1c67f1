package settings_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
)

// answer is a request and what OpenHands' agent-server 1.58.2 answered. Its objects have only the members that differ from those of the first answer, and their number.
type answer struct {
	Method  string            `json:"m"`
	Path    string            `json:"p"`
	Body    json.RawMessage   `json:"b,omitempty"` // a text is sent as it is
	Header  map[string]string `json:"h,omitempty"`
	Status  int               `json:"s"`
	Answer  any               `json:"a,omitempty"`
	Differs string            `json:"differs,omitempty"` // why ours has other words
	Ours    int               `json:"ours,omitempty"`    // the status that ours has
}

func (a answer) body() []byte {
	var text string
	if json.Unmarshal(a.Body, &text) == nil {
		return []byte(text)
	}
	return a.Body
}

// server is the API over the files of one directory.
type server struct {
	http.Handler

	base string
	log  *bytes.Buffer
	ids  map[string]string // that stand in braces in recorded requests
}

func newServer(t testing.TB) *server {
	base := filepath.Join(t.TempDir(), "openhands")
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(name string) (string, bool) {
		return "sec", name == "OH_SECRET_KEY"
	}})
	s := &server{base: base, log: &bytes.Buffer{}, ids: map[string]string{}}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	store := files.New(files.Config{Profiles: profile.Open(profile.Config{Base: base, Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now, Log: log})
	s.Handler = openhandsapi.New(openhandsapi.Config{Logger: log, Routes: settings.Routes(settings.Config{
		Store: settings.Store{
			Settings: store.Settings, Servers: store.Servers, Secrets: store.Secrets, LLMProfiles: store.LLMProfiles,
			AgentProfiles: store.AgentProfiles, MetaProfiles: store.MetaProfiles, Connections: store.Connections,
		},
		Logger: log,
		Try: func(context.Context, json.RawMessage) settings.Trial {
			return settings.Trial{Type: "LLMServiceUnavailableError", Msg: "refused"}
		},
	})})
	return s
}

func (s *server) ask(method, path string, body []byte, header map[string]string) (int, any) {
	r := httptest.NewRequest(method, s.fill(path), strings.NewReader(s.fill(string(body))))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var got any
	if json.Unmarshal(w.Body.Bytes(), &got) != nil {
		got = w.Body.String()
	}
	s.learn(path, got)
	return w.Code, got
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (s *server) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if id, ok := s.ids[strings.Trim(name, "{}")]; ok {
			return id
		}
		return name
	})
}

// learn keeps the ids of what was made.
func (s *server) learn(path string, got any) {
	object, _ := got.(map[string]any)
	if id, ok := object["id"].(string); ok && strings.HasSuffix(path, "provider-connections") {
		s.ids["conn"] = id
	}
	list, _ := object["profiles"].([]any)
	for _, item := range list {
		p, _ := item.(map[string]any)
		if id, ok := p["id"].(string); ok {
			s.ids[p["name"].(string)] = id
		}
	}
}

// Every answer is that of the agent-server, and no key of the requests is in the log.
func TestAnswersAreThoseOfTheAgentServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var first map[string]any
	answers := readAnswers(t)
	if len(answers) < 270 {
		t.Fatalf("only %d answers are recorded", len(answers))
	}
	for n, want := range answers {
		name := fmt.Sprintf("%d %s %s %s", n, want.Method, want.Path, want.Body)
		if strings.HasPrefix(want.Path, "/api/agent-profiles/{") {
			s.ask(http.MethodGet, "/api/agent-profiles", nil, nil)
		}
		status, got := s.ask(want.Method, want.Path, want.body(), want.Header)
		expected := want.Status
		if want.Ours != 0 {
			expected = want.Ours
		}
		if status != expected {
			t.Fatalf("%s: status %d, want %d: %v", name, status, expected, got)
		}
		if want.Differs != "" || strings.HasSuffix(want.Path, "-schema") || want.Answer == nil {
			continue
		}
		plain := condense(normal("", got), first)
		if first == nil {
			first, _ = normal("", got).(map[string]any)
			plain = normal("", got)
		}
		if diff := cmp.Diff(want.Answer, plain); diff != "" {
			t.Fatalf("%s:\n%s", name, diff)
		}
	}
	for _, key := range []string{"sk-abc", "sk-fast", "dropme", "sk-x"} {
		if strings.Contains(s.log.String(), key) {
			t.Errorf("the log shows the key %q", key)
		}
	}
}

func readAnswers(t *testing.T) []answer {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "recorded.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []answer
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return list
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
}

var idForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`)

// normal takes out of an answer what is different each time, and what was left out of
// the recorded ones.
func normal(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if name != "input" && name != "ctx" {
				out[name] = normal(name, member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = normal("", item)
		}
		return out
	case string:
		switch {
		case strings.HasPrefix(v, "gAAAAA"):
			return "<token>"
		case name == "current_datetime":
			return "<now>"
		}
		return idForm.ReplaceAllString(v, "<id>")
	case float64:
		if name == "created_at" || name == "updated_at" {
			return float64(0)
		}
	}
	return value
}

// condense leaves out what is as in the first answer.
func condense(value any, first map[string]any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			object, isObject := member.(map[string]any)
			usual := usualOf(name, first)
			if !isObject || usual == nil {
				out[name] = condense(member, first)
				continue
			}
			kept := map[string]any{"_n": float64(len(object))}
			for inner, value := range object {
				if was, there := usual[inner]; !there || !cmp.Equal(was, value) {
					kept[inner] = condense(map[string]any{inner: value}, first).(map[string]any)[inner]
				}
			}
			out[name] = kept
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = condense(item, first)
		}
		return out
	}
	return value
}

func usualOf(name string, first map[string]any) map[string]any {
	agent, _ := first["agent_settings"].(map[string]any)
	var usual any
	switch name {
	case "llm", "config":
		usual = agent["llm"]
	case "agent_context", "condenser", "verification":
		usual = agent[name]
	case "agent_settings", "resolved_settings":
		return agent
	case "conversation_settings":
		usual = first[name]
	}
	object, _ := usual.(map[string]any)
	return object
}
