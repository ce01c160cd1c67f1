package files

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// Settings are the settings of agents and conversations.
type Settings struct {
	place

	file    *settingsFile
	llms    *LLMProfiles
	recipes *recipeFiles
	metas   *metaFiles
}

// Get returns the settings with their secrets as e says.
func (s *Settings) Get(ctx context.Context, e openhands.Exposure) (openhands.Settings, error) {
	show, err := s.sealing.show(e)
	if err != nil {
		return openhands.Settings{}, err
	}
	return s.shown(ctx, s.file.load(), show)
}

func (s *Settings) shown(ctx context.Context, st settings.Settings, show shape.Show) (openhands.Settings, error) {
	agent, err := exposed(st.Agent, show)
	if err != nil {
		return openhands.Settings{}, err
	}
	conversation, err := exposed(st.Conversation, show)
	return openhands.Settings{
		Agent: agent, Conversation: conversation, KeySet: keySet(st.Agent.Tree("llm")) || s.activeHasKey(ctx, st),
		Active: st.Active, ActiveAgent: st.ActiveAgent, ActiveMeta: st.ActiveMeta, Misc: st.Misc,
	}, err
}

// activeHasKey reports whether the LLM of the settings is that of the active profile, which
// has a key: conversations then have it, too.
func (s *Settings) activeHasKey(ctx context.Context, st settings.Settings) bool {
	if st.Active == nil {
		return false
	}
	llm, err := s.llms.read(*st.Active)
	if err != nil {
		return false // it is told where the profile is asked for
	}
	own, now := s.llms.subject(*st.Active, llm), s.llms.subject(*st.Active, st.Agent.Tree("llm"))
	if own.Model != now.Model || strings.TrimRight(own.BaseURL, "/") != strings.TrimRight(now.BaseURL, "/") || own.Endpoint != now.Endpoint {
		return false
	}
	set, err := s.llms.findKey(ctx, *st.Active, llm, openhands.Masked)
	return set && err == nil
}

// keySet reports whether an LLM has a key.
func keySet(llm shape.Tree) bool {
	_, ok := llm["api_key"].(secret.Value)
	return ok
}

// Patch changes the settings. An active profile that is named gives its LLM to the
// agent's settings, unless the patch has one.
func (s *Settings) Patch(ctx context.Context, p openhands.Patch) (openhands.Settings, error) {
	return s.patch(ctx, p, nil)
}

// patch lets check look at the settings, under their lock, before they change.
func (s *Settings) patch(ctx context.Context, p openhands.Patch, check func(settings.Settings) error) (openhands.Settings, error) {
	if _, given := p.Agent["llm"]; p.SetActive && p.Active != nil && !given {
		llm, err := s.llms.runnable(*p.Active)
		if err != nil {
			return openhands.Settings{}, err
		}
		plain, err := exposed(llm, shape.Plain)
		if err != nil {
			return openhands.Settings{}, err
		}
		p.Agent = shape.Merge(p.Agent, map[string]any{"llm": plain}, true)
	}
	if err := s.targets(p); err != nil {
		return openhands.Settings{}, err
	}
	var after settings.Settings
	err := s.file.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		if check != nil {
			if err := check(before); err != nil {
				return nil, err
			}
		}
		var err error
		if after, err = s.patched(before, p); err != nil {
			return nil, err
		}
		return s.file.write(doc, before, after)
	})
	if err != nil {
		return openhands.Settings{}, err
	}
	return s.shown(ctx, after, shape.Masked)
}

// targets reports an active profile of a patch that is not there.
func (s *Settings) targets(p openhands.Patch) error {
	if p.SetActiveAgent && p.ActiveAgent != nil {
		if _, err := s.recipes.nameOf(*p.ActiveAgent); err != nil {
			return err
		}
	}
	if p.SetActiveMeta && p.ActiveMeta != nil {
		_, err := s.metas.read(*p.ActiveMeta)
		return err
	}
	return nil
}

// errInvalid says no more, because the values may be secrets.
var errInvalid = &openhands.Error{Kind: openhands.Invalid, Msg: "Settings validation failed"}

// patched applies a patch to the settings.
func (s *Settings) patched(before settings.Settings, p openhands.Patch) (settings.Settings, error) {
	after := before
	var err error
	if p.Agent != nil {
		if after.Agent, err = s.patchedAgent(before.Agent, p.Agent); err != nil {
			return settings.Settings{}, err
		}
	}
	if p.Conversation != nil {
		base, _ := exposed(before.Conversation, shape.Plain) // it has no secrets
		if after.Conversation, err = s.valid(shape.ConversationSettings(), shape.Merge(base, p.Conversation, true)); err != nil {
			return settings.Settings{}, err
		}
	}
	if p.Misc != nil {
		var base map[string]any
		if err := json.Unmarshal(before.Misc, &base); err != nil {
			return settings.Settings{}, errSettings
		}
		if after.Misc, err = json.Marshal(shape.Merge(base, p.Misc, true)); err != nil {
			return settings.Settings{}, errInvalid
		}
	}
	if p.SetActive {
		after.Active = p.Active
	}
	if p.SetActiveAgent {
		after.ActiveAgent = p.ActiveAgent
	}
	route(&after, p)
	return after, nil
}

// patchedAgent returns the settings of an agent with a patch. If the patch
// changes the kind, it starts from empty settings: the kinds have little in common.
func (s *Settings) patchedAgent(before shape.Tree, patch map[string]any) (shape.Tree, error) {
	base, err := exposed(before, shape.Plain)
	if err != nil {
		return nil, err
	}
	if kind, ok := patch["agent_kind"]; ok && kind != nil && kind != "" && kind != before.Text("agent_kind") {
		base = map[string]any{"agent_kind": kind}
	}
	return s.valid(shape.AgentSettings(), shape.Merge(base, patch, false))
}

// valid reads what was merged.
func (s *Settings) valid(o *shape.Object, merged map[string]any) (shape.Tree, error) {
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, errInvalid
	}
	defer clear(data) // secrets are in it
	doc, err := jsonedit.Parse(append([]byte(nil), data...))
	if err != nil || doc.Irregular().NaN || !knownVersion(doc.Root()) {
		return nil, errInvalid
	}
	tree, faults := s.sealing.read(o, doc.Root())
	if len(faults) > 0 {
		return nil, errInvalid
	}
	return tree, nil
}

// knownVersion reports whether a client may send this version.
func knownVersion(v jsonedit.Value) bool {
	version := v.Get("schema_version")
	n, ok := version.Int()
	return !version.Exists() || version.Kind() == jsonedit.Null || ok && n >= 0 && n <= shape.AgentVersion
}
