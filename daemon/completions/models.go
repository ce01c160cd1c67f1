package completions

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// modelActive is the profile that is active at the moment.
	modelActive = openai.ModelActive
	// modelUtility is the plain LLM of the active profile, without an agent, for
	// UIs that let one choose who makes titles. A profile of that name goes
	// before.
	modelUtility = openai.ModelPrefix + "utility"
	ownedBy      = "openhands"
)

// find is the profile that a model id names.
func find(list []agentapi.Profile, id string) (agentapi.Profile, bool) {
	name, named := strings.CutPrefix(id, openai.ModelPrefix)
	for _, p := range list {
		if named && p.Name == name || id == modelActive && p.Active || p.IsTeam() && id == teamID(p) {
			return p, true
		}
	}
	return agentapi.Profile{}, false
}

// teamID is the other id of a team: some clients name teams in this way.
func teamID(p agentapi.Profile) string {
	return agentapi.TeamMark + strings.TrimPrefix(p.Name, agentapi.TeamPrefix)
}

// agentOfModel returns the name of the profile of an agent or a team that a model ID has.
func agentOfModel(id string) (profile string, ok bool) {
	if team, ok := strings.CutPrefix(id, agentapi.TeamMark); ok {
		return agentapi.TeamPrefix + team, true
	}
	name, named := strings.CutPrefix(id, openai.ModelPrefix)
	_, ok = agentapi.AgentOf(name)
	return name, named && ok
}

// lacksTeams reports whether the backend is one that has no teams.
func (api *API) lacksTeams(ctx context.Context) bool {
	name := api.core.Backend.Status(ctx).Name
	return name == "agent-server" || name == "cloud"
}

// resolve finds the profile of a model that the client may use. A backend that
// is known to be down is an error now, while the status is still open. With old
// the profile is of a list that was not renewed: [catalogue.used] does it.
func (api *API) resolve(ctx context.Context, client gate.Client, model string) (p agentapi.Profile, old bool, err error) {
	list, old, err := api.models.quick(ctx)
	if err != nil {
		return p, false, err
	}
	p, ok := find(list, model)
	if !ok || old && model == modelActive { // made, or made active, since?
		if list, err = api.models.newest(ctx); err != nil {
			return p, false, err
		}
		p, ok = find(list, model)
		old = false
	}
	if !ok || !client.Allows(model, openai.ModelPrefix+p.Name) {
		return p, false, modelNotFound(model)
	}
	return p, old, nil
}

// model is what a call may be answered with.
type model struct {
	profile agentapi.Profile // for modelAuto the first of its agents, until one is chosen
	choice
	old     bool // the list that the profile is from was old
	utility bool // no agent is wanted
	// departed says that the model is an agent that is not there: it was removed, or
	// its definition is broken.
	departed bool
}

// modelOf finds the model of a call. The conversation that the call names must be open
// to its client.
func (api *API) modelOf(ctx context.Context, client gate.Client, c *Call) (model, error) {
	if err := api.core.Runs.MayName(client.Access(), c.InConversation()); err != nil {
		return model{}, c.explain(err)
	}
	p, old, err := api.resolve(ctx, client, c.Model)
	name, isAgent := agentOfModel(c.Model)
	switch {
	case err == nil:
		return model{profile: p, old: old}, nil
	case c.Model == modelUtility:
		p, err = api.resolveUtility(ctx, client)
		return model{profile: p, utility: true}, err
	case c.Model == modelAuto:
		by, err := api.choiceFor(ctx, client)
		if err != nil {
			return model{}, err
		}
		return model{profile: by.agents[0], choice: by}, nil
	case gate.CodeIs(err, gate.CodeModelNotFound) && strings.HasPrefix(name, agentapi.TeamPrefix) && api.lacksTeams(ctx):
		return model{}, gate.NewProblem(gate.CodeModelNotFound, "There are no teams here: a team needs the embedded agent, and this gateway has another backend.", nil).About("model")
	case gate.CodeIs(err, gate.CodeModelNotFound) && isAgent && client.Allows(c.Model, openai.ModelPrefix+name):
		// Its conversations go on without it: see profileAt.
		return model{profile: agentapi.Profile{Name: name}, departed: true}, nil
	}
	return model{}, err
}

// resolveUtility finds the profile that answers for modelUtility.
func (api *API) resolveUtility(ctx context.Context, client gate.Client) (agentapi.Profile, error) {
	list, _, err := api.models.quick(ctx)
	if err != nil {
		return agentapi.Profile{}, err
	}
	p, ok := utilityOf(list)
	if !ok || !client.Allows(modelUtility, modelActive, openai.ModelPrefix+p.Name) {
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
	return gate.NewProblem(gate.CodeModelNotFound, fmt.Sprintf("The model '%s' does not exist or you do not have access to it.", gate.LogPath(id)), nil).About("model")
}

// visible lists the models that a client may use, sorted by id.
func (api *API) visible(ctx context.Context, client gate.Client) ([]openai.Model, error) {
	list, err := api.models.complete(ctx)
	if err != nil {
		return nil, err
	}
	models := make([]openai.Model, 0, len(list)+1)
	for _, p := range list {
		if p.Active && client.Allows(modelActive, openai.ModelPrefix+p.Name) {
			models = append(models, api.model(modelActive, "OpenHands", p))
		}
	}
	for _, p := range list {
		if client.Allows(openai.ModelPrefix + p.Name) {
			models = append(models, api.model(openai.ModelPrefix+p.Name, title(p), p))
		}
	}
	models = append(models, api.autos(ctx, list, client)...)
	_, taken := find(list, modelUtility)
	if p, ok := utilityOf(list); ok && !taken && api.Complete != nil && client.Allows(modelUtility, modelActive, openai.ModelPrefix+p.Name) {
		models = append(models, api.utility(p))
	}
	return models, nil
}

// utility is the model for titles and tags. Open WebUI hides it where people
// choose whom to talk to, and offers it where administrators do.
func (api *API) utility(p agentapi.Profile) openai.Model {
	m := api.model(modelUtility, "OpenHands (titles and tags)", p)
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

// model shows a profile as a model.
func (api *API) model(id, name string, p agentapi.Profile) openai.Model {
	created := p.Modified
	if created.Unix() <= 0 { // unknown, and clients insist on a time
		created = api.core.Began
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
			Capabilities: openai.Capabilities{Usage: true, Vision: api.sees(p.Model) != blind},
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

// ListModels answers GET /v1/models.
func (api *API) ListModels() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		models, err := api.visible(r.Context(), x.Client)
		if err != nil {
			return err
		}
		return x.Encode(openai.ModelList{Object: "list", Data: models})
	}
}

// GetModel answers GET /v1/models/{id}.
func (api *API) GetModel() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		models, err := api.visible(r.Context(), x.Client)
		if err != nil {
			return err
		}
		id := r.PathValue("id")
		named := id
		if profile, ok := agentOfModel(id); ok {
			named = openai.ModelPrefix + profile // of a team, which has two ids
		}
		for _, m := range models {
			if m.ID == id || m.ID == named && m.Extension.Agent != "" {
				return x.Encode(m)
			}
		}
		return modelNotFound(id)
	}
}

// sight reports whether a model is shown images.
type sight int

// What can be known of a model's sight.
const (
	sightUnknown sight = iota
	seeing
	blind
)

// sees reports whether a model, named as in a profile, is shown images.
func (api *API) sees(model string) sight {
	if api.Sees == nil {
		return sightUnknown
	}
	sees, known := api.Sees(model)
	switch {
	case !known:
		return sightUnknown
	case sees:
		return seeing
	}
	return blind
}

// imageNote is shown to the user when images were sent to a model that
// cannot see them; empty otherwise.
func (api *API) imageNote(c *Call, profile agentapi.Profile) string {
	if len(c.Images) == 0 || api.sees(profile.Model) != blind {
		return ""
	}
	return "The model " + profile.Model + " cannot see images, so the images were left out. Choose a model that can see images, or describe them."
}
