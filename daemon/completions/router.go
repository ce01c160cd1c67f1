package completions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/routing"
	"github.com/ohgw/ohgw/internal/truncate"
)

// router is the meta-profile by which modelAuto chooses; nil: it chooses an agent.
func (api *API) router(ctx context.Context) (*routing.Router, error) {
	if api.Router == nil || api.Complete == nil {
		return nil, nil // there is none
	}
	return api.Router(ctx)
}

// reachable are the models that a client reaches by modelAuto, LLM profiles first.
func reachable(list []agentapi.Profile, client gate.Client) []agentapi.Profile {
	var models, agents []agentapi.Profile
	for _, p := range list {
		switch {
		case !client.Allows(modelAuto, openai.ModelPrefix+p.Name):
		case p.Agent == "":
			models = append(models, p)
		default:
			agents = append(agents, p)
		}
	}
	return append(models, agents...)
}

// routeByMeta asks the classifier of a meta-profile which profile is to answer. Nothing
// is guessed: as in OpenHands, an answer without one is an error, and so is a profile that
// is gone. An agent that the message names takes it.
func (api *API) routeByMeta(ctx context.Context, pays *gate.Purse, c choice, text string) (to chosen, err error) {
	to.by = fmt.Sprintf(routedByMeta, c.router.Name)
	if agents := slices.DeleteFunc(slices.Clone(c.agents), func(p agentapi.Profile) bool { return p.Agent == "" }); len(agents) > 0 {
		if p, sure := byWords(agents, text); sure {
			to.profile = p
			return to, nil
		}
	}
	r := c.router
	for _, name := range routed(r) {
		if _, err := llmProfile(r, c.agents, name); err != nil {
			return chosen{}, err
		}
	}
	select {
	case api.directCalls <- struct{}{}:
		defer func() { <-api.directCalls }()
	case <-ctx.Done():
		return chosen{}, ctx.Err()
	}
	answer, err := api.askRouter(ctx, pays, routerPrompt(r, text))
	if err != nil {
		return chosen{}, gate.NewProblem(gate.CodeLLM, fmt.Sprintf("The profile %q of the meta-profile %q did not choose a model: %s.",
			r.Classifier, r.Name, strings.TrimSuffix(agentapi.PublicMessage(err, "the call failed"), ".")), err)
	}
	if name, _ := r.Choice(answer.Text, llmProfiles(c.agents)); name != "" {
		to.spent = answer.Usage
		to.profile, err = llmProfile(r, c.agents, name)
		return to, err
	}
	return chosen{}, gate.NewProblem(gate.CodeLLM, fmt.Sprintf("The answer of the profile %q names none of the models of the meta-profile %q; "+
		"ask again, name a model in place of %s, or change the meta-profile.", r.Classifier, r.Name, modelAuto), nil)
}

// routed are the profiles that a meta-profile names.
func routed(r *routing.Router) []string {
	names := []string{r.Classifier}
	for _, class := range r.Classes {
		names = append(names, class.Profile)
	}
	return names
}

// llmProfiles are the names of the models that are LLM profiles.
func llmProfiles(models []agentapi.Profile) (names []string) {
	for _, p := range models {
		if p.Agent == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// llmProfile is an LLM profile that a meta-profile names.
func llmProfile(r *routing.Router, models []agentapi.Profile, name string) (agentapi.Profile, error) {
	for _, p := range models {
		if p.Name == name && p.Agent == "" {
			return p, nil
		}
	}
	return agentapi.Profile{}, gate.NewProblem(gate.CodeModelNotFound, fmt.Sprintf("The meta-profile %q uses the profile %q, which does not exist or you do not have access to.",
		r.Name, gate.LogPath(name)), nil).About("model")
}

// routerPrompt asks the classifier of a meta-profile about a message.
func routerPrompt(r *routing.Router, text string) Prompt {
	system, user := r.Question(truncate.Bytes(text, maxRouteText, "…"))
	return Prompt{
		Profile: r.Classifier, MaxTokens: routeTokens,
		Messages: []PromptMessage{{Role: "system", Text: system}, {Role: "user", Text: user}},
	}
}
