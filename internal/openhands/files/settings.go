package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// emptySettings is what settings are made of that are not there yet. They are of the
// version that all releases since OpenHands 1.37 read.
const emptySettings = `{
  "schema_version": 2,
  "agent_settings": {
    "schema_version": 5,
    "agent_kind": "openhands"
  },
  "conversation_settings": {
    "schema_version": 1
  }
}`

// errSettings says that OpenHands' settings cannot be understood.
var errSettings = &openhands.Error{Kind: openhands.Unreadable, Msg: "Settings file is corrupted or encrypted with a different key"}

// load reads the settings; those that cannot be used count as OpenHands' defaults.
func (s *Store) load() settings.Settings {
	snap := document.SettingsFile(s.base).Read()
	found, err := settings.Of(snap, s.reader())
	if err != nil {
		s.Log.Warn("the settings of OpenHands cannot be used; its defaults are shown", "path", snap.File.Path, "err", err)
	}
	return found
}

// Settings are the settings with their secrets as e says.
func (s *Store) Settings(ctx context.Context, e openhands.Exposure) (openhands.Settings, error) {
	show, err := s.show(e)
	if err != nil {
		return openhands.Settings{}, err
	}
	return s.shown(ctx, s.load(), show)
}

func (s *Store) shown(ctx context.Context, st settings.Settings, show shape.Show) (openhands.Settings, error) {
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
func (s *Store) activeHasKey(ctx context.Context, st settings.Settings) bool {
	if st.Active == nil {
		return false
	}
	llm, err := s.llm(*st.Active)
	if err != nil {
		return false // it is told where the profile is asked for
	}
	own, now := s.subject(*st.Active, llm), s.subject(*st.Active, st.Agent.Tree("llm"))
	if own.Model != now.Model || strings.TrimRight(own.BaseURL, "/") != strings.TrimRight(now.BaseURL, "/") || own.Endpoint != now.Endpoint {
		return false
	}
	set, err := s.findKey(ctx, *st.Active, llm, openhands.Masked)
	return set && err == nil
}

// keySet reports whether an LLM has a key.
func keySet(llm shape.Tree) bool {
	_, ok := llm["api_key"].(secret.Value)
	return ok
}

// Patch changes the settings. An active profile that is named gives its LLM to the
// agent's settings, unless the patch has one.
func (s *Store) Patch(ctx context.Context, p openhands.Patch) (openhands.Settings, error) {
	return s.patch(ctx, p, nil)
}

// patch lets check look at the settings, under their lock, before they change.
func (s *Store) patch(ctx context.Context, p openhands.Patch, check func(settings.Settings) error) (openhands.Settings, error) {
	if _, given := p.Agent["llm"]; p.SetActive && p.Active != nil && !given {
		llm, err := s.runnable(*p.Active)
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
	err := s.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		if check != nil {
			if err := check(before); err != nil {
				return nil, err
			}
		}
		var err error
		if after, err = s.patched(before, p); err != nil {
			return nil, err
		}
		return s.write(doc, before, after)
	})
	if err != nil {
		return openhands.Settings{}, err
	}
	return s.shown(ctx, after, shape.Masked)
}

// targets reports an active profile of a patch that is not there.
func (s *Store) targets(p openhands.Patch) error {
	if p.SetActiveAgent && p.ActiveAgent != nil {
		if _, err := s.agentName(*p.ActiveAgent); err != nil {
			return err
		}
	}
	if p.SetActiveMeta && p.ActiveMeta != nil {
		_, err := s.metaProfile(*p.ActiveMeta)
		return err
	}
	return nil
}

// change changes the settings under their lock. What it cannot read it leaves alone.
func (s *Store) change(ctx context.Context, fn func(*jsonedit.Doc, settings.Settings) (*jsonedit.Doc, error)) error {
	_, err := document.SettingsFile(s.base).Update(ctx, s.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		doc := snap.Doc
		if doc == nil {
			var err error
			if doc, err = newDoc(emptySettings); err != nil {
				return nil, err
			}
		}
		before, err := settings.Read(doc, s.reader())
		if err != nil {
			return nil, &openhands.Error{Kind: openhands.Unreadable, Msg: errSettings.Msg, Err: err}
		}
		after, err := fn(doc, before)
		// The shapes are those of 1.58.2: from settings of a newer OpenHands they would
		// take members away.
		if newer := document.NewerSettings(doc.Root()); err == nil && newer != nil && !onlyActive(doc, after) {
			return nil, newer
		}
		return after, err
	})
	if document.IsNewer(err) {
		return &openhands.Error{Kind: openhands.Unreadable, Msg: "A newer OpenHands wrote settings.json, and ohgw does not change it", Err: err}
	}
	if _, gate := errors.AsType[*document.GateError](err); gate || errors.Is(err, jsonedit.ErrIrregular) {
		return &openhands.Error{Kind: openhands.Unreadable, Msg: errSettings.Msg, Err: err}
	}
	return busy(err)
}

// errInvalid says no more, because the values may be secrets.
var errInvalid = &openhands.Error{Kind: openhands.Invalid, Msg: "Settings validation failed"}

// patched are the settings with a patch.
func (s *Store) patched(before settings.Settings, p openhands.Patch) (settings.Settings, error) {
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
func (s *Store) patchedAgent(before shape.Tree, patch map[string]any) (shape.Tree, error) {
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
func (s *Store) valid(o *shape.Object, merged map[string]any) (shape.Tree, error) {
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, errInvalid
	}
	defer clear(data) // secrets are in it
	doc, err := jsonedit.Parse(append([]byte(nil), data...))
	if err != nil || doc.Irregular().NaN || !knownVersion(doc.Root()) {
		return nil, errInvalid
	}
	tree, faults := s.read(o, doc.Root())
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

// onlyActive reports whether two texts of settings differ in the active profiles only.
func onlyActive(before, after *jsonedit.Doc) bool {
	var err error
	for _, name := range []string{document.ActiveMember, settings.ActiveAgentMember, settings.ActiveMetaMember} {
		if now := after.Root().Get(name); now.Exists() && err == nil {
			before, err = before.Set(now.Raw(), name)
		}
	}
	return err == nil && bytes.Equal(before.Bytes(), after.Bytes())
}
