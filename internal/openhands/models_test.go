package openhands_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands"
)

func TestModelsOfAProvider(t *testing.T) {
	t.Parallel()
	all := openhands.Models("")
	if len(all) < 1000 || !slices.IsSorted(all) {
		t.Errorf("%d models, in order: %v", len(all), slices.IsSorted(all))
	}
	for provider, verified := range openhands.VerifiedModels() {
		list := openhands.Models(provider)
		for _, name := range verified {
			if provider != "openai" && provider != "anthropic" {
				name = provider + "/" + name
			}
			if !slices.Contains(list, name) || !slices.Contains(all, name) {
				t.Errorf("the models of %s lack %s", provider, name)
			}
		}
	}
	for provider, more := range map[string]int{"groq": 7, "azure": 200, "together_ai": 80, "gemini": 30, "nobody": 0, "gpt-4o": 0} {
		list := openhands.Models(provider)
		if len(list) < more || more == 0 && len(list) > 0 || list == nil {
			t.Errorf("%s has %d models: %q", provider, len(list), list)
		}
		for _, name := range list {
			if !strings.HasPrefix(name, provider+"/") {
				t.Errorf("%s has the model %s", provider, name)
			}
		}
	}
}
