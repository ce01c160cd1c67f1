package completions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Router is a meta-profile of OpenHands: how one call of the profile Classifier chooses
// the LLM profile for a task, by Classes, or by a prompt whose answer names it.
type Router struct {
	Name       string
	Classifier string
	Classes    []RouterClass
	Template   string // has {{ instance_text }}; "" where Classes count
	Table      string // for {{ model_table }} in it
}

// RouterClass is a kind of tasks and the profile for it.
type RouterClass struct{ Description, Profile string }

var (
	placeholder = pattern.Of(`\{\{\s*(instance_text|model_table)\s*\}\}`)
	firstNumber = pattern.Of(`-?\d+`)
	jsonObject  = pattern.Of(`(?s)\{.*\}`)
)

// router is the meta-profile by which modelAuto chooses; nil: it chooses an agent.
func (api *API) router(ctx context.Context) (*Router, error) {
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
func (api *API) routeByMeta(ctx context.Context, c *Call) (agentapi.Profile, error) {
	if agents := slices.DeleteFunc(slices.Clone(c.agents), func(p agentapi.Profile) bool { return p.Agent == "" }); len(agents) > 0 {
		if p, sure := byWords(agents, c.Text); sure {
			return p, nil
		}
	}
	r := c.router
	for _, name := range r.profiles() {
		if _, err := r.find(c.agents, name); err != nil {
			return agentapi.Profile{}, err
		}
	}
	select {
	case api.directCalls <- struct{}{}:
		defer func() { <-api.directCalls }()
	case <-ctx.Done():
		return agentapi.Profile{}, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, routeWait)
	defer cancel()
	defer context.AfterFunc(api.Life, cancel)()
	var answer Completion
	err := rescue.Do(func() (err error) {
		answer, err = api.Complete(limited, r.prompt(c.Text))
		return err
	})
	if err != nil {
		return agentapi.Profile{}, gate.NewProblem(gate.CodeLLM, fmt.Sprintf("The profile %q of the meta-profile %q did not choose a model: %s.",
			r.Classifier, r.Name, strings.TrimSuffix(agentapi.PublicMessage(err, "the call failed"), ".")), err)
	}
	if name := r.choice(answer.Text, c.agents); name != "" {
		return r.find(c.agents, name)
	}
	return agentapi.Profile{}, gate.NewProblem(gate.CodeLLM, fmt.Sprintf("The answer of the profile %q names none of the models of the meta-profile %q; "+
		"ask again, name a model in place of %s, or change the meta-profile.", r.Classifier, r.Name, modelAuto), nil)
}

// profiles are those that the meta-profile names.
func (r *Router) profiles() []string {
	names := []string{r.Classifier}
	for _, class := range r.Classes {
		names = append(names, class.Profile)
	}
	return names
}

// find is an LLM profile by its name.
func (r *Router) find(models []agentapi.Profile, name string) (agentapi.Profile, error) {
	for _, p := range models {
		if p.Name == name && p.Agent == "" {
			return p, nil
		}
	}
	return agentapi.Profile{}, gate.NewProblem(gate.CodeModelNotFound, fmt.Sprintf("The meta-profile %q uses the profile %q, which does not exist or you do not have access to.",
		r.Name, gate.LogPath(name)), nil).About("model")
}

// prompt asks for the class of a message, or what the user's own prompt asks for.
func (r *Router) prompt(text string) Prompt {
	text = truncate.Bytes(text, maxRouteText, "…")
	p := Prompt{Profile: r.Classifier, MaxTokens: routeTokens}
	if r.Template != "" {
		ask := placeholder().ReplaceAllStringFunc(r.Template, func(mark string) string {
			if strings.Contains(mark, "model_table") {
				return r.Table
			}
			return text
		})
		p.Messages = []PromptMessage{{Role: "system", Text: "You choose the model for a task."}, {Role: "user", Text: strings.TrimSpace(ask)}}
		return p
	}
	var b strings.Builder
	b.WriteString("You choose the model for a task. Answer with the number of the class that fits the user's message best, and nothing else; " +
		"with 0 if none fits.\n\nClasses:\n")
	for i, class := range r.Classes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, class.Description)
	}
	p.Messages = []PromptMessage{{Role: "system", Text: b.String()}, {Role: "user", Text: text}}
	return p
}

// choice is the profile that an answer stands for; "" for none.
func (r *Router) choice(answer string, models []agentapi.Profile) string {
	if r.Template == "" {
		n, err := strconv.Atoi(firstNumber().FindString(answer))
		if err != nil || n < 1 || n > len(r.Classes) {
			return ""
		}
		return r.Classes[n-1].Profile
	}
	var said struct {
		Model string `json:"model"`
	}
	object := jsonObject().FindString(answer)
	named := object != "" && json.Unmarshal([]byte(object), &said) == nil && strings.TrimSpace(said.Model) != ""
	found := ""
	for _, p := range models {
		switch {
		case p.Agent != "":
		case named:
			if strings.EqualFold(p.Name, strings.TrimSpace(said.Model)) {
				return p.Name
			}
		case len(p.Name) > len(found) && strings.Contains(strings.ToLower(answer), strings.ToLower(p.Name)):
			found = p.Name
		}
	}
	return found
}
