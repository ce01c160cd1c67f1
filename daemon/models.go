package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
)

const (
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
	for _, p := range list {
		if p.ModelID() == id || id == modelActive && p.Active {
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
	if !ok && client.allows(model) {
		p, err = d.lookUp(ctx, model)
		return p, false, err
	}
	if !ok || !client.allows(model, p.ModelID()) {
		return p, false, modelNotFound(model)
	}
	return p, old, nil
}

// lookUp finds the profile of a model that is not in the list, of a backend whose list
// does not wait for each of its servers.
func (d *Daemon) lookUp(ctx context.Context, model string) (agentapi.Profile, error) {
	finder, ok := d.cfg.Backend.(agentapi.Finder)
	name, named := agentapi.ProfileOf(model)
	if !ok || !named {
		return agentapi.Profile{}, modelNotFound(model)
	}
	limited, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	p, err := finder.Profile(limited, name)
	switch {
	case errors.Is(err, agentapi.ErrProfileNotFound):
		return p, modelNotFound(model)
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return p, &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: fmt.Sprintf("The server of the model '%s' does not answer; nothing was started.", logPath(model))}
	}
	return p, err
}

// lookUpTimeout bounds the wait for the one server that has a model.
const lookUpTimeout = 15 * time.Second

// resolveUtility finds the profile that answers for modelUtility.
func (d *Daemon) resolveUtility(ctx context.Context, client Client) (agentapi.Profile, error) {
	list, _, err := d.models.quick(ctx)
	if err != nil {
		return agentapi.Profile{}, err
	}
	p, ok := utilityOf(list)
	if !ok || !client.allows(modelUtility, modelActive, p.ModelID()) {
		return p, modelNotFound(modelUtility)
	}
	return p, nil
}

// utilityOf is the active profile, else the first that is not an agent. ohgw has no
// keys of the profiles of further servers.
func utilityOf(list []agentapi.Profile) (agentapi.Profile, bool) {
	if p, ok := find(list, modelActive); ok {
		return p, true
	}
	for _, p := range list {
		if p.Agent == "" && p.Server == "" {
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
		if p.Active && client.allows(modelActive, p.ModelID()) {
			models = append(models, d.model(modelActive, "OpenHands", p))
		}
	}
	for _, p := range list {
		if client.allows(p.ModelID()) {
			models = append(models, d.model(p.ModelID(), title(p), p))
		}
	}
	if agents := candidates(list, client); agents != nil {
		models = append(models, d.auto(agents))
	}
	_, taken := find(list, modelUtility)
	if p, ok := utilityOf(list); ok && !taken && d.cfg.Complete != nil && client.allows(modelUtility, modelActive, p.ModelID()) {
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

func isTeam(p agentapi.Profile) bool {
	return p.Agent != "" && strings.HasPrefix(p.Name, agentapi.TeamPrefix)
}

// title is the name of a model for people.
func title(p agentapi.Profile) string {
	if isTeam(p) {
		return p.Agent + " (team)"
	}
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
	if p.Server != "" {
		long = "An agent with its own shell and files on the server " + p.Server + ", on " + description + "."
	}
	if p.Description != "" {
		description, long = p.Description, p.Description
	}
	kind := "agent"
	if isTeam(p) {
		kind = "team"
	}
	return openai.Model{
		ID: id, Object: "model", Created: created.Unix(), OwnedBy: ownedBy, Name: name, Description: description,
		Info: openai.ModelInfo{Meta: openai.ModelMeta{
			Description:  long,
			Capabilities: openai.Capabilities{Usage: true, Vision: d.sees(p.Model) != blind},
			Suggestions:  suggestions(),
		}},
		Extension: openai.ModelExtension{Kind: kind, Profile: p.Name, Agent: p.Agent, LLM: p.Model},
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
		if !x.client.allows(id) {
			return modelNotFound(id)
		}
		p, err := d.lookUp(r.Context(), id)
		if err != nil {
			return err
		}
		return x.encode(d.model(id, title(p), p))
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
