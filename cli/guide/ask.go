package guide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// The answers to the first question that are not providers.
const (
	otherServer = "other"
	agentServer = "agent-server"
	demoLLM     = "demo"
	settingsLLM = "settings"
)

// ask asks a person for what the plan does not have yet, until the model has
// answered or the person takes it as it is.
func (g *guide) ask(ctx context.Context) error {
	if g.Chat {
		g.Note("%s", g.Stderr.Styled(iostream.Bold, "Welcome to ohgw. An agent needs an LLM; these questions set one up."))
	}
	for {
		if err := g.baseOfEnvironment(); err != nil {
			return err
		}
		step := g.next()
		if step == nil {
			return nil
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
}

// next returns the question that comes now; nil after the last one.
func (g *guide) next() func(context.Context) error {
	provider, _ := firstrun.ProviderNamed(g.plan.Provider)
	switch {
	case g.agents || g.demo:
		return nil
	case g.plan.Provider == "" && g.plan.Model == "":
		return g.askSource
	case g.plan.BaseURL == "" && (g.compatible || g.plan.Provider != "" && provider.NeedsBaseURL()):
		return g.askBase
	case !g.keyDone:
		return g.askKey
	case g.plan.Model == "":
		return g.askModel
	case !g.tried:
		return g.try
	}
	return nil
}

// askSource asks where the LLM is: on this machine, or at a provider.
func (g *guide) askSource(ctx context.Context) error {
	settings, err := g.Settings(g.KeyFlags)
	if err != nil {
		return err
	}
	done := g.TellLate("looking for LLMs on this machine")
	g.found = firstrun.Look(ctx, g.Setup(), settings)
	done()
	options, first := g.sources()
	answer, err := g.Choose(ctx, kit.Choice{
		Question: "LLM (a number, a name or a part of one; ? explains)", Options: options, Default: first,
		Help: "Type a number, a name or a part of a name. The names are those of LLM providers. " +
			"For a server that is not in the list, choose \"other\". Ctrl-C ends this; nothing is stored before the model has answered.",
	})
	if err != nil {
		return err
	}
	switch answer {
	case demoLLM:
		g.demo = true
	case agentServer:
		g.agents = true
	case settingsLLM:
		name, stored := g.plan.Name, g.plan.Stored
		g.plan, _ = g.setup.FromSettings()
		g.plan.Name, g.plan.Stored = name, stored
	case otherServer:
		g.plan.Provider, g.compatible = firstrun.Compatible, true
	default:
		g.plan.Provider = answer
		for _, s := range g.found.Servers {
			if s.Name == answer {
				g.plan.Provider, g.plan.BaseURL, g.models, g.abilities, g.listed, g.keyDone = s.Provider, s.BaseURL, s.Models, s.Abilities, !s.Loading, true
			}
		}
	}
	return nil
}

// sources lists the answers to the first question: what was found, then the providers.
// first is the best of what was found.
func (g *guide) sources() (options []kit.Option, first string) {
	seen := []string{"ollama"} // the same as ollama_chat, with less
	for _, s := range g.found.Servers {
		options = append(options, kit.Option{Name: s.Name, Text: "on this machine: " + several(s) + " at " + s.BaseURL})
		seen = append(seen, s.Provider)
	}
	for _, k := range g.found.Keys {
		options = append(options, kit.Option{Name: k.Provider, Text: "with the key in " + k.Variable})
		seen = append(seen, k.Provider)
	}
	if g.found.AgentServer != "" && g.Chat {
		options = append(options, kit.Option{Name: agentServer, Text: "OpenHands at " + g.found.AgentServer + ", with its own profiles"})
	}
	if plan, ok := g.setup.FromSettings(); ok {
		options = append(options, kit.Option{Name: settingsLLM, Text: "the LLM of OpenHands' settings: " + setup.Clean(plan.FullModel())})
	}
	if len(options) > 0 {
		first = options[0].Name
	}
	options = append(options, kit.Option{Name: otherServer, Text: "a server with OpenAI's API, by its URL"})
	if g.Chat {
		options = append(options, kit.Option{Name: demoLLM, Text: "a script in place of an LLM, without a key"})
	}
	for _, p := range firstrun.Providers() {
		if !slices.Contains(seen, p.Prefix) {
			options = append(options, kit.Option{Name: p.Prefix})
		}
	}
	return options, first
}

// several names the first of the models of a server.
func several(s firstrun.Server) string {
	if s.Loading {
		return "a server that loads its model"
	}
	if len(s.Models) == 0 {
		return "no models yet"
	}
	text := s.Models[0]
	if about := ability(s.Abilities[text]); about != "" {
		text += " (" + about + ")"
	}
	if len(s.Models) > 1 {
		text += fmt.Sprintf(" and %d more", len(s.Models)-1)
	}
	return text
}

// ability returns what a server reports of a model, for people: "context 4096, no tools".
func ability(a firstrun.Ability) string {
	var parts []string
	if a.Context > 0 {
		parts = append(parts, fmt.Sprintf("context %d", a.Context))
	}
	switch a.Tools {
	case firstrun.HasTools:
		parts = append(parts, "knows tools")
	case firstrun.NoTools:
		parts = append(parts, "knows no tools")
	}
	return strings.Join(parts, ", ")
}

// askBase asks where the models are.
func (g *guide) askBase(ctx context.Context) (err error) {
	g.plan.BaseURL, err = g.AskText(ctx, "Base URL",
		"The address of the API, with its path, such as http://127.0.0.1:8080/v1 or https://llm.example.com/v1.",
		func(text string) error {
			if text == "" {
				return errors.New("the base URL is missing")
			}
			return firstrun.CheckBaseURL(text)
		})
	g.listed = false
	return err
}

// askModel asks for one of the provider's models.
func (g *guide) askModel(ctx context.Context) error {
	provider, _ := firstrun.ProviderNamed(g.plan.Provider)
	if !g.listed {
		g.listed = true
		models, err := g.list(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if r := modelcheck.Explain(g.plan.FullModel(), err); !noList(r.Outcome) {
				return g.failed(ctx, r)
			}
		}
		g.models = models
	}
	c := kit.Choice{
		Question: "Model", Help: "Type a number, a name or a part of a name. A model that is not in the list is fine, too: type its whole name.",
		Free: func(text string) error { return firstrun.CheckModel(g.plan.Provider+"/"+text, "") },
	}
	if g.plan.BaseURL != "" && provider.Base != "" { // not the provider's own server
		provider.Proposals = nil
	}
	models := firstrun.Arrange(g.models, provider.Proposals)
	if len(models) == 1 && len(g.models) == 1 && !g.asked {
		g.asked, g.plan.Model = true, models[0]
		g.Note("Model: %s, the only one there", setup.Clean(models[0]))
		return nil
	}
	g.asked = true
	for _, name := range models {
		c.Options = append(c.Options, kit.Option{Name: name, Text: ability(g.abilities[name])})
	}
	if len(models) > 0 && (slices.Contains(provider.Proposals, models[0]) || len(models) == 1) {
		c.Default = models[0]
	}
	answer, err := g.Choose(ctx, c)
	g.plan.Model = strings.TrimPrefix(answer, g.plan.Provider+"/")
	return err
}

// noList reports whether a provider that refused to list its models may still
// have some.
func noList(o modelcheck.Outcome) bool {
	return o == modelcheck.WrongAddress || o == modelcheck.Refused || o == modelcheck.ModelUnknown
}

// list asks the provider for its models, if it can be asked.
func (g *guide) list(ctx context.Context) ([]string, error) {
	if g.NoCheck || !g.compatible && !g.canTry(ctx) {
		return nil, nil
	}
	defer g.TellLate("asking " + g.plan.Provider + " for its models")()
	return g.setup.Models(ctx, g.plan, g.loads)
}

// try asks the model one question, and a person what to do if it fails.
func (g *guide) try(ctx context.Context) error {
	if !g.compatible && !g.canTry(ctx) {
		g.tried = true
		return nil
	}
	g.Note("Asking %s for one word, for up to %s (Ctrl-C stops) ...", setup.Clean(g.plan.FullModel()), patience(g.setup.Patience(g.plan)))
	r, err := g.setup.Try(ctx, g.plan, g.loads)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return g.fault(ctx, err)
	case r.Outcome == modelcheck.Answered:
		g.tried = true
		g.Note("It answered after %.1f s.", r.Seconds)
		return nil
	}
	return g.failed(ctx, r)
}

// loads says that a server loads the model first.
func (g *guide) loads() { g.Note("The server is loading the model ...") }

// patience is a time to wait for people: "30 s", "5 min".
func patience(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// The ways on after a model did not answer.
const (
	again       = "again"
	otherKey    = "key"
	otherModel  = "model"
	otherURL    = "url"
	otherSource = "llm"
	saveAnyway  = "save"
)

// failed says why the provider did not answer as wanted, and asks what to
// change. What was typed before stays.
func (g *guide) failed(ctx context.Context, r modelcheck.Result) error {
	g.Note("%s %s", g.Stderr.Styled(iostream.Yellow, "This does not work yet:"), r.Text)
	options := []kit.Option{{Name: again, Text: "try again"}, {Name: otherKey, Text: "enter another key"}}
	if g.plan.Model != "" {
		options = append(options, kit.Option{Name: otherModel, Text: "choose another model"})
	}
	options = append(options, kit.Option{Name: otherURL, Text: "enter another base URL"}, kit.Option{Name: otherSource, Text: "choose another provider or server"},
		kit.Option{Name: saveAnyway, Text: "store it as it is"})
	first := map[modelcheck.Outcome]string{
		modelcheck.KeyRefused: otherKey, modelcheck.KeyMissing: otherKey, modelcheck.ModelUnknown: otherModel, modelcheck.WindowSmall: otherModel,
		modelcheck.WrongAddress: otherURL, modelcheck.Refused: otherModel,
	}[r.Outcome]
	if first == "" || first == otherModel && g.plan.Model == "" {
		first = again
	}
	answer, err := g.Choose(ctx, kit.Choice{
		Question: "What now", Options: options, Default: first,
		Help: "What you have typed is kept; only what you choose here is asked again. Ctrl-C ends this, and nothing is stored.",
	})
	if err != nil {
		return err
	}
	g.change(answer)
	return nil
}

// change drops the part of the plan that is to be asked again.
func (g *guide) change(what string) {
	if what != again && what != saveAnyway {
		g.plan.From = nil
	}
	switch what {
	case again:
		g.listed = g.listed && g.plan.Model != ""
	case otherKey:
		g.plan.Key, g.keyDone, g.ownKey = secret.Value{}, false, true
		g.listed = g.plan.Model != ""
	case otherModel:
		g.plan.Model = ""
	case otherURL:
		g.plan.BaseURL, g.compatible, g.listed = "", true, false
	case otherSource:
		g.plan = firstrun.Plan{Name: g.plan.Name, Stored: g.plan.Stored}
		g.compatible, g.keyDone, g.ownKey, g.listed, g.models = false, false, false, false, nil
	case saveAnyway:
		g.tried = true
	}
}

// proposedName proposes a name for the profile: that of the provider.
func (g *guide) proposedName() string {
	for _, s := range g.found.Servers {
		if s.BaseURL == g.plan.BaseURL {
			return strings.ToLower(strings.NewReplacer(" ", "-").Replace(s.Name))
		}
	}
	switch {
	case g.plan.From != nil:
		return settingsLLM
	case g.compatible, g.plan.Provider == "":
		return "local"
	case g.plan.Provider == "ollama_chat":
		return "ollama"
	}
	return g.plan.Provider
}
