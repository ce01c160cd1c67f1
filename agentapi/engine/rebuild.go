package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/event"
)

// rebuildAgent makes the agent of a conversation again whose base state was
// lost, from its profile and the settings as they are now, and saves the state.
func (a *assembler) rebuildAgent(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest) error {
	s := &dir.State
	if s.Tags[conversation.TagProfile] == "" {
		s.Tags[conversation.TagProfile] = req.Profile
	}
	profile, err := a.cfg.Profiles.Load(ctx, s.Tags[conversation.TagProfile])
	if err != nil {
		return err
	}
	settings, err := a.roster.settings(ctx)
	if err != nil {
		return err
	}
	settings, _ = a.roster.reopened(ctx, *s, settings)
	events, err := dir.Events()
	if err != nil {
		return err
	}
	system, known := systemOfLog(s.Tags[tag.System], events)
	if !known {
		delete(s.Tags, tag.System)
	}
	if s.Agent, err = storedagent.New(sourceOf(profile, settings, system), a.cfg.Seal); err != nil {
		return err
	}
	secrets, err := a.vault.OfSettings(settings.Agent)
	if err != nil {
		return err
	}
	if s.SecretRegistry, err = secrets.Encode(a.cfg.Seal); err != nil {
		return err
	}
	a.cfg.Log.Warn("base_state.json was incomplete and was rebuilt from the event log; the old file is kept beside it",
		"conversation", s.ID, "directory", dir.Path())
	return dir.SaveState(true)
}

// systemOfLog finds the system text of a mark in the log's system prompt, at the
// places where one can end.
func systemOfLog(mark string, events []event.Event) (text string, known bool) {
	length, _, _ := strings.Cut(mark, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return "", false
	}
	if n == 0 {
		return "", true
	}
	for _, e := range events {
		p, ok := e.Body.(*event.SystemPrompt)
		if !ok || p.DynamicContext == nil {
			continue
		}
		whole := p.DynamicContext.Text
		for _, end := range []int{strings.LastIndex(whole, storedagent.SuffixGap+"<CUSTOM_SECRETS>"), strings.LastIndex(whole, storedagent.SuffixGap+"<CURRENT_DATETIME>"), len(whole)} {
			if text, known := storedagent.RecallSystem(mark, whole[:max(0, end)]); known {
				return text, true
			}
		}
	}
	return "", false
}
