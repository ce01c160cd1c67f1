package completions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/routing"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	// modelAuto is the model that chooses one of the agents for each new
	// conversation.
	modelAuto = "auto"
	// routeWait bounds the call that chooses.
	routeWait = 8 * time.Second
	// routeTokens bounds its answer, what the model thinks included.
	routeTokens = 500
	// maxRouteText is how much of a message it is shown, in bytes.
	maxRouteText = 8 << 10
)

// candidates are the agents among which modelAuto chooses for a client; none if there
// are fewer than two.
func candidates(list []agentapi.Profile, client gate.Client) []agentapi.Profile {
	var agents []agentapi.Profile
	for _, p := range list {
		if p.Agent != "" && !p.IsTeam() && client.Allows(modelAuto, openai.ModelPrefix+p.Name) {
			agents = append(agents, p)
		}
	}
	if len(agents) < 2 {
		return nil
	}
	return agents
}

// autos returns modelAuto for a list of models, unless there is nothing to choose.
func (api *API) autos(ctx context.Context, list []agentapi.Profile, client gate.Client) []openai.Model {
	router, err := api.router(ctx)
	if router == nil && err == nil {
		if agents := candidates(list, client); agents != nil {
			return []openai.Model{api.auto(agents)}
		}
		return nil
	}
	models := reachable(list, client)
	if len(models) == 0 {
		return nil
	}
	text := "Chooses an LLM profile for each new conversation, by OpenHands' active meta-profile."
	if err == nil {
		text = "Chooses an LLM profile for each new conversation, by the meta-profile " + router.Name + "."
	}
	return []openai.Model{api.choosing(models, text)}
}

// auto is modelAuto where it chooses an agent.
func (api *API) auto(agents []agentapi.Profile) openai.Model {
	names := make([]string, len(agents))
	for i, p := range agents {
		names[i] = p.Agent
	}
	return api.choosing(agents, "Chooses one of these agents for each new conversation: "+strings.Join(names, ", ")+".")
}

func (api *API) choosing(models []agentapi.Profile, description string) openai.Model {
	m := api.model(modelAuto, "OpenHands (auto)", models[0])
	m.Description = description
	m.Info.Meta.Description = m.Description
	m.Extension = openai.ModelExtension{Kind: "auto"}
	return m
}

// choice is among which profiles modelAuto chooses, and by what.
type choice struct {
	agents    []agentapi.Profile // nil for other models
	router    *routing.Router    // nil: by the agents' descriptions
	routerErr error              // why the meta-profile cannot be used
}

// choiceFor returns what modelAuto chooses among for a client.
func (api *API) choiceFor(ctx context.Context, client gate.Client) (by choice, err error) {
	list, err := api.models.newest(ctx)
	if err != nil {
		return choice{}, err
	}
	by.router, by.routerErr = api.router(ctx)
	if by.router != nil || by.routerErr != nil {
		by.agents = reachable(list, client)
	} else {
		by.agents = candidates(list, client)
	}
	if len(by.agents) == 0 {
		return choice{}, modelNotFound(modelAuto)
	}
	return by, nil
}

// The ways of a choice, for people.
const (
	routedByModel = "chosen by the model"
	routedByRule  = "chosen by rule"
	routedByMeta  = "chosen by the meta-profile %s"
)

// newRoute chooses for a new conversation: by the active meta-profile, or among agents.
func (api *API) newRoute(ctx context.Context, pays *gate.Purse, c choice, text string) (chosen, error) {
	switch {
	case c.routerErr != nil:
		return chosen{}, gate.NewProblem(gate.CodeModelNotFound, "The model "+modelAuto+" cannot choose: "+c.routerErr.Error()+".", c.routerErr).About("model")
	case c.router != nil:
		return api.routeByMeta(ctx, pays, c, text)
	}
	return api.route(ctx, pays, c.agents, text), nil
}

// route asks the model which agent is to answer, and falls back to the rule.
func (api *API) route(ctx context.Context, pays *gate.Purse, agents []agentapi.Profile, text string) chosen {
	best, sure := byWords(agents, text)
	ruled := chosen{profile: best, by: routedByRule}
	if sure || api.Complete == nil {
		return ruled
	}
	select {
	case api.directCalls <- struct{}{}:
		defer func() { <-api.directCalls }()
	default:
		return ruled
	}
	answer, err := api.askRouter(ctx, pays, routePrompt(agents, text))
	ruled.spent = answer.Usage
	if err != nil {
		api.core.Logger.Warn("the model did not choose an agent; the rule did", "model", modelAuto, "agent", best.Agent, "err", err)
		return ruled
	}
	if p, ok := agentNamed(agents, answer.Text); ok {
		return chosen{profile: p, by: routedByModel, spent: answer.Usage}
	}
	api.core.Logger.Warn("the model chose an agent that is not there; the rule did", "model", modelAuto, "agent", best.Agent)
	return ruled
}

// askRouter asks a model for a choice, for as long as that may take.
func (api *API) askRouter(ctx context.Context, pays *gate.Purse, p Prompt) (answer Completion, err error) {
	limited, cancel := context.WithTimeout(ctx, routeWait)
	defer cancel()
	defer context.AfterFunc(api.core.Life(), cancel)()
	err = rescue.Do(func() (err error) {
		answer, err = api.ask(limited, pays, p)
		return err
	})
	return answer, err
}

// maxRouteAgents is how much of the descriptions of all agents the model is shown, in
// characters, and minRouteAgent how much of each at least.
const (
	maxRouteAgents = 32 << 10
	minRouteAgent  = 60
)

// routePrompt asks which agent is to answer a message.
func routePrompt(agents []agentapi.Profile, text string) Prompt {
	var b strings.Builder
	b.WriteString("Choose the agent that fits the user's message best. Answer with its name only, exactly as it is written here.\n\nAgents:\n")
	each := max(minRouteAgent, maxRouteAgents/len(agents))
	for _, p := range agents {
		description := cmp.Or(oneline.Of(p.Description), "no description")
		fmt.Fprintf(&b, "- %s: %s\n", oneline.Of(p.Agent), truncate.Within(description, each, "…"))
	}
	return Prompt{
		Profile: agents[0].Name, MaxTokens: routeTokens,
		Messages: []PromptMessage{{Role: "system", Text: b.String()}, {Role: "user", Text: truncate.Bytes(text, maxRouteText, "…")}},
	}
}

// agentNamed finds the agent that an answer names: alone, or as the only one in it.
func agentNamed(agents []agentapi.Profile, answer string) (found agentapi.Profile, ok bool) {
	plain := strings.ToLower(strings.Trim(answer, " \t\r\n\"'`*.-"))
	for _, p := range agents {
		for _, name := range namesOf(p) {
			if plain == strings.ToLower(name) {
				return p, true
			}
		}
	}
	said := " " + strings.Join(words(answer), " ") + " "
	var named []agentapi.Profile
	longest := slices.SortedStableFunc(slices.Values(agents), func(a, b agentapi.Profile) int { return len(b.Agent) - len(a.Agent) })
	for _, p := range longest { // a longer name can have a shorter one in it
		name := " " + strings.Join(words(p.Agent), " ") + " "
		if name != "  " && strings.Contains(said, name) {
			said = strings.ReplaceAll(said, name, " \n ")
			named = append(named, p)
		}
	}
	if len(named) != 1 {
		return agentapi.Profile{}, false
	}
	return named[0], true
}

// byWords chooses the agent whose name and description share most words with the text;
// the first one of those that share as many. The choice is sure if the text mentions this
// agent and no other.
func byWords(agents []agentapi.Profile, text string) (best agentapi.Profile, sure bool) {
	said := make(map[string]bool)
	for _, w := range words(text) {
		said[w] = true
	}
	called := mentioned(agents, text)
	most := -1
	for i, p := range agents {
		score := 0
		for _, w := range slices.Compact(slices.Sorted(slices.Values(words(p.Agent + " " + p.Description)))) {
			if said[w] && len(w) > 3 {
				score++
			}
		}
		if called[i] {
			score += 1000
		}
		if score > most {
			best, most = p, score
		}
	}
	return best, len(called) == 1
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}
