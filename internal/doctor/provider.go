package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/suggest"
)

// ProviderPatience is how long a provider may take to list its models.
const ProviderPatience = 10 * time.Second

// checkProvider asks the provider of the active profile for its models: that
// finds a server that is down, a wrong base URL, a refused key and an unknown
// model, and costs nothing.
func checkProvider(ctx context.Context, w *World) Result {
	if where := w.elsewhere(ctx); where != "" {
		return skip("the LLMs are called by %s", where)
	}
	p, err := w.Profiles(ctx)
	switch {
	case err != nil:
		return failed(err)
	case p.Active == nil:
		return skip("no profile is active")
	}
	answer, err := w.Provider(ctx)
	switch {
	case errors.Is(err, ErrNoList):
		return skip("%s has no list of models; ohgw doctor --live asks the model itself", answer.Host)
	case err != nil:
		return failed(err)
	case answer.Problem != nil:
		return Result{}.with(*answer.Problem)
	case len(answer.Models) == 0:
		return fine("%s answers; it lists no models", answer.Host)
	case slices.ContainsFunc(answer.Models, func(m string) bool { return sameModel(m, answer.Model) }):
		return fine("%s answers, and has the model %s", answer.Host, answer.Model)
	}
	repair := "ohgw profiles check --live " + p.Active.Name
	if near := suggest.Nearest(answer.Model, answer.Models); near != "" {
		repair = answer.Change + near
	}
	return fine("%s answers", answer.Host).warn("the provider does not list the model "+answer.Model, "it has "+few(answer.Models), repair)
}

// ErrNoList is what [World.Provider] returns for a provider without a list of
// models.
var ErrNoList = errors.New("the provider has no list of models")

// sameModel compares the name in a list with that in a profile. Ollama's list
// has tags, which a profile may leave out; vLLM's names may have a prefix.
func sameModel(listed, wanted string) bool {
	return listed == wanted || strings.TrimSuffix(listed, ":latest") == wanted || strings.HasSuffix(listed, "/"+wanted)
}

// few are the first names of a list.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + plural(len(names)-most, "more model")
}
