package profiles

import (
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/setup"
)

// knownModels are the models that OpenHands serves itself, and the beginnings
// of all others.
func knownModels() []string {
	var models []string
	for _, name := range canon.Embedded().Current() {
		models = append(models, canon.OpenHands+name)
	}
	for _, p := range setup.ProviderPrefixes() {
		if p+"/" != canon.OpenHands {
			models = append(models, p+"/")
		}
	}
	return models
}
