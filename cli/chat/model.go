package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/suggest"
)

// agentModel begins the models that are agents, and teamModel those that are teams; the name
// follows.
const (
	agentModel = openai.ModelPrefix + agentapi.AgentPrefix
	teamModel  = openai.ModelPrefix + agentapi.TeamPrefix
)

// findModel replaces the name of a profile, or of an agent, by its model. A name that is
// close to a model's is an error; any other name is left for the gateway to refuse, whose
// error has the details.
func (c *session) findModel(ctx context.Context) error {
	if c.opts.model == "" || c.opts.model == activeModel || c.opts.model == demoModel {
		return nil
	}
	models, err := c.client.Models(ctx)
	if c.unresolved = err != nil; c.unresolved {
		return nil // The question itself fails for the same reason, with more to say.
	}
	c.opts.model, err = typedModel{c.opts.model, c.damagedProfile}.in(ctx, models)
	return err
}

// typedModel is a model as the user typed it: its id, or the name of a profile or an agent.
type typedModel struct {
	name string
	// damaged is the error for a profile of this machine that cannot be used; nil if there
	// is no such profile.
	damaged func(ctx context.Context, is func(profile.Summary) bool) error
}

// in finds the model of a list that the name stands for. It is the name itself if that is
// close to no model of the list.
func (m typedModel) in(ctx context.Context, models []gateway.Model) (string, error) {
	ids, names, full := shortNames(models)
	if slices.Contains(ids, m.name) {
		return m.name, nil
	}
	if id := full[m.name]; id != "" {
		return id, nil
	}
	if damaged := m.damaged(ctx, func(s profile.Summary) bool {
		return s.Name == m.name || openai.ModelPrefix+s.Name == m.name
	}); damaged != nil {
		return m.name, damaged
	}
	near := suggest.Nearest(m.name, ids)
	if near == "" {
		near = full[suggest.Nearest(m.name, names)]
	}
	if near == "" {
		return m.name, nil
	}
	return m.name, &fault.Error{Msg: fmt.Sprintf("there is no model %q", m.name), Hint: "did you mean " + near + "? ohgw models lists the models", Code: fault.Configuration}
}

// late is in for a chat that began before there was a list. What is the hint of an error on
// the command line is part of the sentence there.
func (m typedModel) late(ctx context.Context, models []gateway.Model) (string, error) {
	id, err := m.in(ctx, models)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return "", errors.New(f.Msg + "; " + f.Hint)
	}
	return id, err
}

// foundLate looks for the model again where the gateway had no list of models when it was
// looked for first: a slow backend may be there by the time of the question. It reports
// whether the question has another model now.
func (c *session) foundLate(ctx context.Context) (bool, error) {
	if !c.unresolved {
		return false, nil
	}
	before := c.opts.model
	err := c.findModel(ctx)
	c.unresolved = false // once is enough
	return err == nil && c.opts.model != before, err
}

// shortNames collects the ids of models, and the names that stand for them, each with its
// id: those of profiles, agents and teams. A profile comes before an agent, and that before a
// team.
func shortNames(models []gateway.Model) (ids, names []string, full map[string]string) {
	full = map[string]string{}
	for _, m := range models {
		ids = append(ids, m.ID)
		if name, found := strings.CutPrefix(m.ID, openai.ModelPrefix); found && !m.Plain {
			full[name], names = m.ID, append(names, name)
		}
	}
	add := func(name, id string) {
		if full[name] == "" {
			full[name], names = id, append(names, name)
		}
	}
	for _, id := range ids {
		if name, found := strings.CutPrefix(id, agentModel); found {
			add(name, id)
		}
	}
	for _, id := range ids {
		if name, found := strings.CutPrefix(id, teamModel); found {
			add(name, id)
			add(agentapi.TeamMark+name, id)
		}
	}
	return ids, names, full
}

// onlyModel is the model to ask where no profile is active: that of the only
// profile; empty if there are none or several.
func onlyModel(ctx context.Context, client *gateway.Client) string {
	models, err := client.Models(ctx)
	if err != nil {
		return ""
	}
	models = slices.DeleteFunc(models, func(m gateway.Model) bool { return m.Plain })
	if len(models) != 1 {
		return ""
	}
	return models[0].ID
}
