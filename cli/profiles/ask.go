package profiles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/setup"
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

// askModel asks for a provider and one of its models. The beginning of a name
// is enough where it is that of one only.
func askModel(ctx context.Context, a *kit.App) (string, error) {
	provider, err := choose(ctx, a, "Provider", setup.ProviderPrefixes())
	if err != nil {
		return "", err
	}
	var models []string
	if provider+"/" == canon.OpenHands {
		models = canon.Embedded().Current()
	}
	model, err := choose(ctx, a, "Model of "+provider, models)
	return provider + "/" + strings.TrimPrefix(model, provider+"/"), err
}

// choose asks until there is an answer: one of the known names, the beginning of
// one, or any other name.
func choose(ctx context.Context, a *kit.App, question string, known []string) (string, error) {
	if len(known) > 0 {
		fmt.Fprintln(a.Stderr, strings.Join(kit.Wrap(strings.Join(known, " "), a.Stderr.Width()), "\n"))
	}
	for {
		answer, err := a.Ask(ctx, question+": ")
		if err != nil {
			return "", err
		}
		var begin []string
		for _, name := range known {
			if strings.HasPrefix(name, answer) {
				begin = append(begin, name)
			}
		}
		switch {
		case answer == "":
		case len(begin) == 1:
			return begin[0], nil
		case slices.Contains(begin, answer), len(begin) == 0:
			return answer, nil
		default:
			fmt.Fprintln(a.Stderr, strings.Join(begin, " "))
		}
	}
}
