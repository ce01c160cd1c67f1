package completions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Place is where a call runs, and which profile answers there: decided before a run is
// asked for, and not changed.
type Place struct {
	run.Place
	visit   *chats.Visit // to the chat of the call; nil: it has none
	profile agentapi.Profile
	routed  bool   // the profile was chosen, not named
	note    string // how it was chosen, for people; empty: it was not, or long ago
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
			at.ConversationID = uuid.New()
		}
	case visit != nil:
		at.ConversationID, at.Origin, at.From = visit.Conversation, visit.Origin, visit.From
		if !at.Named {
			at.Workspace = api.chatPlace(c.Chat.ID, visit)
		}
	default:
		at.Keep = c.Keep
	}
	p, by, err := api.profileAt(ctx, q, at)
	if err != nil {
		return Place{}, err
	}
	note := ""
	if by != "" {
		note = fmt.Sprintf("Routed to %s (%s)", cmp.Or(p.Agent, p.Name), by)
	}
	return Place{Place: at, visit: visit, profile: p, routed: q.model.agents != nil, note: note}, nil
}

// enter finds out what a call is to its chat; nil: it has none. The visit has the chat
// until it is settled.
func (api *API) enter(c *Call) (*chats.Visit, error) {
	if c.Chat == nil {
		return nil, nil
	}
	visit, err := api.chats.Enter(*c.Chat)
	if errors.Is(err, chats.ErrUnreadable) {
		err = fmt.Errorf("%w: %w", run.ErrState, err)
	}
	if err != nil {
		return nil, err
	}
	if visit.Direct && api.Complete != nil && api.Housekeeping != HousekeepingAgent {
		visit.Close()
		return nil, errDirect
	}
	return visit, nil
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
