package llm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/openhands"
)

// verifiedOnly are providers of which OpenHands has verified models, and nothing more.
var verifiedOnly = []string{"glm", "nvidia", "qwen"}

// The lists of models have none whose provider the engine does not know.
func TestEveryListedModelHasAProvider(t *testing.T) {
	t.Parallel()
	for _, name := range openhands.Models("") {
		provider, _, _ := strings.Cut(name, "/")
		if slices.Contains(verifiedOnly, provider) {
			continue
		}
		more := ""
		if provider == "azure" {
			more = `"base_url":"https://mine.openai.azure.com"`
		}
		if _, err := llm.New(llm.Config{Profile: profile(t, name, more)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
