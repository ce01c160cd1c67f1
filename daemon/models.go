package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// modelPrefix makes a model id of a profile's name.
	modelPrefix = "openhands_"
	// modelActive is the profile that is active at the moment.
	modelActive = "openhands"
	// modelUtility is the plain LLM of the active profile, without an agent, for
	// UIs that let one choose who makes titles. A profile of that name goes
	// before.
	modelUtility = "openhands_utility"
	ownedBy      = "openhands"
)

// find is the profile that a model id names.
func find(list []agentapi.Profile, id string) (agentapi.Profile, bool) {
	name, named := strings.CutPrefix(id, modelPrefix)
	for _, p := range list {
		if named && p.Name == name || id == modelActive && p.Active {
			return p, true
		}
	}
	return agentapi.Profile{}, false
}

// resolve finds the profile of a model that the client may use. A backend that
// is known to be down is an error now, while the status is still open. With old
// the profile is of a list that was not renewed: [catalogue.used] does it.
func (d *Daemon) resolve(ctx context.Context, client Client, model string) (p agentapi.Profile, old bool, err error) {
	list, old, err := d.models.quick(ctx)
	if err != nil {
		return p, false, err
	}
	p, ok := find(list, model)
	if !ok || old && model == modelActive { // made, or made active, since?
		if list, err = d.models.newest(ctx); err != nil {
			return p, false, err
		}
		p, ok = find(list, model)
		old = false
	}
	if !ok || !client.allows(model, modelPrefix+p.Name) {
		return p, false, modelNotFound(model)
	}
	return p, old, nil
}

// resolveUtility finds the profile that answers for modelUtility.
func (d *Daemon) resolveUtility(ctx context.Context, client Client) (agentapi.Profile, error) {
	list, _, err := d.models.quick(ctx)
	if err != nil {
		return agentapi.Profile{}, err
	}
	p, ok := utilityOf(list)
	if !ok || !client.allows(modelUtility, modelActive, modelPrefix+p.Name) {
		return p, modelNotFound(modelUtility)
	}
	return p, nil
}

// utilityOf is the active profile, else the first that is not an agent.
func utilityOf(list []agentapi.Profile) (agentapi.Profile, bool) {
	if p, ok := find(list, modelActive); ok {
		return p, true
	}
	for _, p := range list {
		if p.Agent == "" {
			return p, true
		}
	}
	return agentapi.Profile{}, false
}

func modelNotFound(id string) error {
	return newProblem(codeModelNotFound, fmt.Sprintf("The model '%s' does not exist or you do not have access to it.", logPath(id)), nil).about("model")
}

// visible are the models that a client may use, sorted by id.
func (d *Daemon) visible(ctx context.Context, client Client) ([]openai.Model, error) {
	list, err := d.models.complete(ctx)
	if err != nil {
		return nil, err
	}
	models := make([]openai.Model, 0, len(list)+1)
	for _, p := range list {
		if p.Active && client.allows(modelActive, modelPrefix+p.Name) {
			models = append(models, d.model(modelActive, "OpenHands", p))
		}
	}
	for _, p := range list {
		if client.allows(modelPrefix + p.Name) {
			models = append(models, d.model(modelPrefix+p.Name, title(p), p))
		}
	}
	models = append(models, d.autos(ctx, list, client)...)
	_, taken := find(list, modelUtility)
	if p, ok := utilityOf(list); ok && !taken && d.cfg.Complete != nil && client.allows(modelUtility, modelActive, modelPrefix+p.Name) {
		models = append(models, d.utility(p))
	}
	return models, nil
}

// utility is the model for titles and tags. Open WebUI hides it where people
// choose whom to talk to, and offers it where administrators do.
func (d *Daemon) utility(p agentapi.Profile) openai.Model {
	m := d.model(modelUtility, "OpenHands (titles and tags)", p)
	m.Description = "The model of the active profile without an agent: for titles, tags and suggestions."
	m.Info.Meta = openai.ModelMeta{Description: m.Description, Capabilities: m.Info.Meta.Capabilities, Hidden: true}
	m.Extension.Kind = "llm"
	return m
}

// title is the name of a model for people.
func title(p agentapi.Profile) string {
	if p.Agent != "" {
		return p.Agent
	}
	return "OpenHands (" + p.Name + ")"
}

// model is a profile as a model.
func (d *Daemon) model(id, name string, p agentapi.Profile) openai.Model {
	created := p.Modified
	if created.Unix() <= 0 { // unknown, and clients insist on a time
		created = d.began
	}
	// "anthropic/claude" reads "anthropic claude".
	description := strings.Replace(p.Model, "/", " ", 1)
	long := "An agent with its own shell and files, on " + description + "."
	if p.Agent != "" {
		long = "The agent " + p.Agent + ", on " + description + "."
	}
	if p.Description != "" {
		description, long = p.Description, p.Description
	}
	return openai.Model{
		ID: id, Object: "model", Created: created.Unix(), OwnedBy: ownedBy, Name: name, Description: description,
		Info: openai.ModelInfo{Meta: openai.ModelMeta{
			Description:  long,
			Capabilities: openai.Capabilities{Usage: true, Vision: d.sees(p.Model) != blind},
			Suggestions:  suggestions(),
		}},
		Extension: openai.ModelExtension{Kind: "agent", Profile: p.Name, Agent: p.Agent, LLM: p.Model},
	}
}

// suggestions are what a person could begin with.
func suggestions() []openai.Suggestion {
	return []openai.Suggestion{
		{Title: [2]string{"Look around", "and say what is here"}, Content: "Look at the files in your working directory and tell me what is here."},
		{Title: [2]string{"Write a script", "and try it"}, Content: "Write a small script that prints the ten largest files below a directory, and try it."},
		{Title: [2]string{"Find out", "what this machine can do"}, Content: "Find out which programming languages and tools are installed here, with their versions."},
	}
}

func (d *Daemon) listModels() handler {
	return func(x *exchange, r *http.Request) error {
		models, err := d.visible(r.Context(), x.client)
		if err != nil {
			return err
		}
		return x.encode(openai.ModelList{Object: "list", Data: models})
	}
}

func (d *Daemon) getModel() handler {
	return func(x *exchange, r *http.Request) error {
		models, err := d.visible(r.Context(), x.client)
		if err != nil {
			return err
		}
		id := r.PathValue("id")
		for _, m := range models {
			if m.ID == id {
				return x.encode(m)
			}
		}
		return modelNotFound(id)
	}
}

// encode answers with a value.
func (x *exchange) encode(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return x.writeJSON(http.StatusOK, append(body, '\n'))
}
