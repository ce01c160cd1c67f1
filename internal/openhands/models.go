package openhands

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// scripts/verified-models writes both.
var (
	//go:embed models.json
	modelsFile []byte
	//go:embed models.txt
	moreModels string
)

// VerifiedModels are the models that OpenHands has tried, by provider. A model that is
// not among them works all the same.
func VerifiedModels() map[string][]string {
	var file struct {
		Verified map[string][]string `json:"verified"`
	}
	if err := json.Unmarshal(modelsFile, &file); err != nil {
		panic("embedded models: " + err.Error()) // a test reads them
	}
	return file.Verified
}

// bare are the providers whose models need no prefix.
var bare = []string{"anthropic", "openai"}

// Models lists the names of models of a provider, as profiles have them, in order: the
// verified ones, and those that OpenHands lists beside them. For "" they are those of all
// providers. A bare name is its provider's if OpenHands calls it verified.
func Models(provider string) []string {
	out := []string{}
	for name, models := range VerifiedModels() {
		if provider != "" && name != provider {
			continue
		}
		for _, model := range models {
			if !slices.Contains(bare, name) {
				model = name + "/" + model
			}
			out = append(out, model)
		}
	}
	for model := range strings.Lines(moreModels) {
		if model = strings.TrimSpace(model); provider == "" || strings.HasPrefix(model, provider+"/") {
			out = append(out, model)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ModelProviders are the providers of these models and of others, in order.
func ModelProviders(others []string) []string {
	return slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(VerifiedModels()) {
			if !yield(name) {
				return
			}
		}
		for _, name := range others {
			if !yield(name) {
				return
			}
		}
	}))
}
