package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
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
		return sized(fine("%s answers, and has the model %s", answer.Host, answer.Model), answer)
	}
	repair := "ohgw profiles check --live " + p.Active.Name
	if near := suggest.Nearest(answer.Model, answer.Models); near != "" {
		repair = answer.Change + near
	}
	return fine("%s answers", answer.Host).warn("the provider does not list the model "+answer.Model, "it has "+few(answer.Models), repair)
}

// wantedContext is the context, in tokens, that is proposed: enough for the full prompt and
// a history beside it.
const wantedContext = 32_768

// sized adds that the context of a local model is too small for an agent with its full
// prompt, and how the server is started with a larger one, in its own words.
func sized(r Result, p Provider) Result {
	if p.Context == 0 || p.Context >= llm.SmallContext {
		return r
	}
	return r.warn(
		fmt.Sprintf("the server gives the model a context of %d tokens, and an agent needs %d for its full prompt", p.Context, llm.SmallContext),
		"the agent gets a small prompt, and soon forgets the beginning of a conversation",
		larger(p.Server, p.Model),
	)
}

// larger returns the command that starts a server with a larger context.
func larger(server window.Server, model string) string {
	size := strconv.Itoa(wantedContext)
	switch server {
	case window.LlamaCpp:
		return "start it with more: llama-server --model FILE --ctx-size " + size
	case window.Ollama:
		return "start it with more: OLLAMA_CONTEXT_LENGTH=" + size + " ollama serve"
	case window.LMStudio:
		return "load the model with more: lms load " + model + " --context-length " + size
	case window.VLLM:
		return "start it with more: vllm serve " + model + " --max-model-len " + size
	case window.Other:
	}
	return "start the server with a context of " + size + " tokens"
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
