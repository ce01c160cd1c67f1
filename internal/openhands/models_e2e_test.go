//go:build e2e

package openhands_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// The embedded names are those that the newest OpenHands lists, of the providers that the
// engine has. Where they are not: scripts/verified-models.
func TestTheListedModelsAreOpenHands(t *testing.T) {
	t.Setenv("OHGW_AGENT_SERVER_VERSION", agentservertest.Newest)
	dir := t.TempDir()
	script := read(t, "testdata/models.py")
	args := append(found(t, "provider.go", `prefix: "([a-z_]+)"`, "/"), found(t, "route.go", `\{"([a-z0-9-]+)", "(?:openai|anthropic)"\},`, "")...)
	sdktest.Run(t, dir, script, append([]string{"models"}, args...)...)
	var names struct {
		version  string
		verified map[string][]string
		listed   []string
	}
	data := []byte(read(t, filepath.Join(dir, "models")))
	if err := json.Unmarshal(data, &[]any{&names.version, &names.verified, &names.listed}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names.verified, openhands.VerifiedModels()); diff != "" {
		t.Errorf("verified models (-theirs +ours):\n%s", diff)
	}
	if diff := cmp.Diff(names.listed, openhands.ListedModels()); diff != "" {
		t.Errorf("listed models (-theirs +ours):\n%s", diff)
	}
}

// found are the words of a file of the engine that a pattern finds.
func found(t *testing.T, file, words, end string) (out []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(words).FindAllStringSubmatch(read(t, "../../agentapi/engine/llm/"+file), -1) {
		out = append(out, m[1]+end)
	}
	if len(out) < 3 {
		t.Fatalf("%s has %q", file, out)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
