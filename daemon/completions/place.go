package completions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Place is where a call runs, and which profile answers there: decided before a run is
// asked for, and not changed.
type Place struct {
	run.Place
	visit   *chats.Visit // to the chat of the call; nil: it has none
	profile agentapi.Profile
	routed  bool       // the profile was chosen, not named
	note    string     // how it was chosen, for people; empty: it was not, or long ago
	spent   turn.Usage // by the call of a model that chose it
}

// place decides where a call runs: in the conversation that it names, in a copy of the
// one that it goes on from, where its chat is, or in a new conversation. Then it decides
// which profile answers there.
func (api *API) place(ctx context.Context, q asked, visit *chats.Visit) (Place, error) {
	c := q.call
	at := run.Place{Workspace: q.workspace, Named: q.workspace != "", ReadOnly: c.Options.ReadOnly}
	switch {
	case c.InConversation() != "":
		at.ConversationID, at.Existing, at.Once = c.InConversation(), c.Existing, c.Once
	case c.Copied != "":
		at.Origin, at.From, at.Keep = c.Copied, c.Last, c.Keep
		if c.Keep {
			at.ConversationID, at.Made = uuid.New(), true
		}
	case visit != nil:
		at.ConversationID, at.Made, at.Origin, at.From = visit.Conversation, visit.Made, visit.Origin, visit.From
		if !at.Named {
			at.Workspace = api.chatPlace(c.Chat.ID, visit)
		}
	default:
		at.Keep = c.Keep
	}
	to, err := api.profileAt(ctx, q, at)
	if err != nil {
		return Place{}, err
	}
	note := ""
	if to.by != "" {
		note = fmt.Sprintf("Routed to %s (%s)", oneline.Of(cmp.Or(to.profile.Agent, to.profile.Name)), oneline.Of(to.by))
	}
	return Place{Place: at, visit: visit, profile: to.profile, routed: q.model.agents != nil, note: note, spent: to.spent}, nil
}

// chatPlace is where a new conversation of a chat works; empty: wherever new
// ones do.
func (api *API) chatPlace(id chats.ID, visit *chats.Visit) string {
	if !api.WorkspacePerChat || id.Shared && visit.Workspace != "" {
		return visit.Workspace
	}
	id.Shared = id.Shared || visit.Aside
	return filepath.Join(api.chatRoot(), id.Place(visit.Conversation))
}

// chatRoot is where the directories of chats are.
func (api *API) chatRoot() string {
	if api.core.Workspace != "" {
		return api.core.Workspace
	}
	return filepath.Join(api.core.StateDir, gate.Workspaces)
}

// model is the profile at a place as a model ID.
func (p Place) model() string { return openai.ModelPrefix + p.profile.Name }

// modelOf returns the model that answers a call at a place. A call for modelAuto is one
// for the model that was chosen.
func (p Place) modelOf(c *Call) string {
	if p.routed {
		return p.model()
	}
	return c.Model
}

// chosen is the profile that answers a call.
type chosen struct {
	profile agentapi.Profile
	by      string     // in which way, for people; empty: it was not chosen now
	spent   turn.Usage // by the call of a model that chose it
}

// profileAt chooses the profile that answers a call at a place. For modelAuto it is that
// of the conversation that goes on, or of the run that the call repeats, or a new choice.
//
// An agent that is not there answers in the conversations that it has, and in copies
// of them. The backend knows what they were made with.
func (api *API) profileAt(ctx context.Context, q asked, at run.Place) (chosen, error) {
	if q.model.agents == nil && !q.model.departed {
		return chosen{profile: q.model.profile}, nil
	}
	kept, err := api.agentOf(ctx, q.who.Access, at.ConversationID, at.Origin)
	switch {
	case err != nil:
		return chosen{}, err
	case q.model.departed && kept != q.model.profile.Name:
		return chosen{}, modelNotFound(q.call.Model)
	case q.model.departed:
		return chosen{profile: q.model.profile}, nil
	case kept != "":
		p, err := api.keptAgent(ctx, q.model.agents, kept)
		return chosen{profile: p}, err
	}
	before, err := api.choiceBefore(ctx, q)
	if err != nil || before.by != "" {
		return before, err
	}
	return api.newRoute(ctx, q.call.Pays, q.model.choice, q.call.Text)
}

// choiceBefore returns the profile of the run that a call repeats, which a new choice
// would not find; the zero value where the call repeats none.
func (api *API) choiceBefore(ctx context.Context, q asked) (chosen, error) {
	profile := func(name string) (p agentapi.Profile, ok bool) {
		i := slices.IndexFunc(q.model.agents, func(p agentapi.Profile) bool { return p.Name == name })
		if i < 0 {
			return p, false
		}
		return q.model.agents[i], true
	}
	repeated, ok := api.core.Runs.RunOf(q.who, func(name string) string {
		p, _ := profile(name)
		return p.Revision
	})
	if !ok {
		return chosen{}, nil
	}
	name := repeated.Profile
	if name == "" {
		var err error
		if name, err = api.agentOf(ctx, q.who.Access, repeated.Conversation); err != nil {
			return chosen{}, err
		}
	}
	if p, ok := profile(name); ok {
		return chosen{profile: p, by: "as before"}, nil
	}
	return chosen{}, nil
}

// agentOf returns the profile of the first of some conversations that has one: of that at
// a place, or of the one that it is a copy of. It is empty where there is none.
func (api *API) agentOf(ctx context.Context, who run.Access, ids ...string) (string, error) {
	for _, id := range ids {
		if id == "" {
			continue
		}
		about, err := api.core.Runs.About(ctx, who, id)
		if err != nil && !errors.Is(err, agentapi.ErrConversationNotFound) {
			return "", err
		}
		if err == nil && about.Profile != "" {
			return about.Profile, nil
		}
	}
	return "", nil
}

// keptAgent returns the agent that a conversation has, also one that is not there any
// more. One with a profile only, or with an agent that the client may not use, does not
// continue with modelAuto.
func (api *API) keptAgent(ctx context.Context, agents []agentapi.Profile, name string) (agentapi.Profile, error) {
	for _, a := range agents {
		if a.Name == name {
			return a, nil
		}
	}
	list, err := api.models.newest(ctx)
	if err != nil {
		return agentapi.Profile{}, err
	}
	if short, agent := agentapi.AgentOf(name); agent {
		if _, there := find(list, openai.ModelPrefix+name); !there {
			return agentapi.Profile{Name: name, Agent: short}, nil
		}
	}
	return agentapi.Profile{}, gate.NewProblem(gate.CodeModelMismatch, "This conversation was not started with one of the models of "+modelAuto+
		"; use the model that it was started with, or start a new conversation.", nil).About("model")
}
