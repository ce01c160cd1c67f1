//go:build e2e

package agentserver_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The server takes a key as it is beside what it has encrypted itself, calls
// the LLM with it, and writes it nowhere in the clear.
func TestTheRealServerCallsWithStoredSecrets(t *testing.T) {
	t.Parallel()
	const key = "sk-stored-0123456789abcdef"
	s, llm := agentservertest.Start(t), llmtest.New(t)
	for _, name := range []string{"first", "second"} {
		s.Call(t, http.MethodPost, "/api/profiles/"+name, map[string]any{"llm": agentservertest.LLM(llm.URL), "include_secrets": true}, nil)
	}
	b, err := agentserver.New(agentserver.Config{
		URL: s.URL, Key: func() string { return s.Key },
		Secrets: func(_ context.Context, p agentserver.LLMProfile) ([]agentserver.Secret, error) {
			return []agentserver.Secret{{Field: "api_key", Value: secret.New(key + "-" + p.Name)}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "first", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"first", "second"} {
		if i > 0 {
			if err := c.Switch(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		llm.Forget()
		llm.Reply(llmtest.Text("done"))
		if o := run(t, c); o.err != nil {
			t.Fatal(o.err)
		}
		if got := llm.Await(t, 1).Header.Get("Authorization"); got != "Bearer "+key+"-"+name {
			t.Errorf("the LLM of the profile %s is called with another key", name)
		}
	}
	err = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(key)) {
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
