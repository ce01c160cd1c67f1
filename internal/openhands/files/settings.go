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
	"github.com/ohgw/ohgw/internal/openhands/schema"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// The members of the settings.
const (
	agentMember        = "agent_settings"
	conversationMember = "conversation_settings"
	miscMember         = "misc_settings"
	activeMember       = "active_profile"
	activeAgentMember  = "active_agent_profile_id"
	activeMetaMember   = "active_meta_profile"
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

// settings are the settings as they are understood.
type settings struct {
	agent, conversation shape.Tree
	misc                json.RawMessage

	active, activeAgent, activeMeta *string
}

// errSettings says that OpenHands' settings cannot be understood.
var errSettings = &openhands.Error{Kind: openhands.Unreadable, Msg: "Settings file is corrupted or encrypted with a different key"}

// understand reads settings of any version as the newest one. Those of an OpenHands that is
// newer still are read as far as they are understood.
func (s *Store) understand(doc *jsonedit.Doc) (settings, error) {
	if doc.Irregular().NaN {
		return settings{}, errSettings
	}
	doc, err := present(doc)
	if err != nil {
		return settings{}, errSettings
	}
	root := doc.Root()
	agent, faults := s.read(shape.AgentSettings(), root.Get(agentMember))
	conversation, more := s.read(shape.ConversationSettings(), root.Get(conversationMember))
	misc := root.Get(miscMember)
	if len(faults)+len(more) > 0 || misc.Exists() && misc.Kind() != jsonedit.Object {
		return settings{}, errSettings
	}
	out := settings{
		agent: agent, conversation: conversation, misc: json.RawMessage("{}"),
		active: text(root.Get(activeMember)), activeAgent: text(root.Get(activeAgentMember)), activeMeta: text(root.Get(activeMetaMember)),
	}
	if misc.Exists() {
		out.misc = json.RawMessage(misc.Raw())
	}
	return out, nil
}

// present is the text of settings in its newest form that is known.
func present(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
	if newer := document.NewerSettings(doc.Root(), settingsVersion, shape.AgentVersion); newer != nil {
		return doc, nil //nolint:nilerr // a newer form is presented as it is
	}
	now, err := schema.Settings(doc, schema.Latest)
	if err != nil {
		return nil, errSettings
	}
	return now.Doc, nil
}

// load reads the settings as OpenHands does: those that it cannot read are as if there
// were none.
func (s *Store) load() settings {
	snap := document.SettingsFile(s.base).Read()
	if snap.Doc != nil && snap.Gate == nil {
		if found, err := s.understand(snap.Doc); err == nil {
			return found
		}
	}
	if !snap.Missing() {
		s.Log.Warn("the settings of OpenHands cannot be read; its defaults are shown", "path", snap.File.Path)
	}
	empty, err := newDoc("{}")
	if err != nil {
		return settings{}
	}
	found, _ := s.understand(empty) // nothing is wrong with what is empty
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

func (s *Store) shown(ctx context.Context, st settings, show shape.Show) (openhands.Settings, error) {
	agent, err := exposed(st.agent, show)
	if err != nil {
		return openhands.Settings{}, err
	}
	conversation, err := exposed(st.conversation, show)
	return openhands.Settings{
		Agent: agent, Conversation: conversation, KeySet: keySet(st.agent.Tree("llm")) || s.activeHasKey(ctx, st),
		Active: st.active, ActiveAgent: st.activeAgent, ActiveMeta: st.activeMeta, Misc: st.misc,
	}, err
}

// activeHasKey reports whether the LLM of the settings is that of the active profile, which
// has a key: conversations then have it, too.
func (s *Store) activeHasKey(ctx context.Context, st settings) bool {
	if st.active == nil {
		return false
	}
	llm, err := s.llm(*st.active)
	if err != nil {
		return false // it is told where the profile is asked for
	}
	own, now := s.subject(*st.active, llm), s.subject(*st.active, st.agent.Tree("llm"))
	if own.Model != now.Model || strings.TrimRight(own.BaseURL, "/") != strings.TrimRight(now.BaseURL, "/") || own.Endpoint != now.Endpoint {
		return false
	}
	set, err := s.findKey(ctx, *st.active, llm, false)
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
func (s *Store) patch(ctx context.Context, p openhands.Patch, check func(settings) error) (openhands.Settings, error) {
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
	var after settings
	err := s.change(ctx, func(doc *jsonedit.Doc, before settings) (*jsonedit.Doc, error) {
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
func (s *Store) change(ctx context.Context, fn func(*jsonedit.Doc, settings) (*jsonedit.Doc, error)) error {
	_, err := document.SettingsFile(s.base).Update(ctx, s.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		doc := snap.Doc
		if doc == nil {
			var err error
			if doc, err = newDoc(emptySettings); err != nil {
				return nil, err
			}
		}
		before, err := s.understand(doc)
		if err != nil {
			return nil, err
		}
		after, err := fn(doc, before)
		// The shapes are those of 1.58.2: from settings of a newer OpenHands they would
		// take members away.
		if newer := document.NewerSettings(doc.Root(), settingsVersion, shape.AgentVersion); err == nil && newer != nil && !onlyActive(doc, after) {
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
func (s *Store) patched(before settings, p openhands.Patch) (settings, error) {
	after := before
	var err error
	if p.Agent != nil {
		if after.agent, err = s.patchedAgent(before.agent, p.Agent); err != nil {
			return settings{}, err
		}
	}
	if p.Conversation != nil {
		base, _ := exposed(before.conversation, shape.Plain) // it has no secrets
		if after.conversation, err = s.valid(shape.ConversationSettings(), shape.Merge(base, p.Conversation, true)); err != nil {
			return settings{}, err
		}
	}
	if p.Misc != nil {
		var base map[string]any
		if err := json.Unmarshal(before.misc, &base); err != nil {
			return settings{}, errSettings
		}
		if after.misc, err = json.Marshal(shape.Merge(base, p.Misc, true)); err != nil {
			return settings{}, errInvalid
		}
	}
	if p.SetActive {
		after.active = p.Active
	}
	if p.SetActiveAgent {
		after.activeAgent = p.ActiveAgent
	}
	after.route(p)
	return after, nil
}

// patchedAgent are the settings of an agent with a patch. One of another kind begins
// anew: the kinds have little in common.
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

// settingsVersion is the newest version of settings.json that is known, that of 1.58.2.
const settingsVersion = 6

// onlyActive reports whether two texts of settings differ in the active profiles only.
func onlyActive(before, after *jsonedit.Doc) bool {
	var err error
	for _, name := range []string{activeMember, activeAgentMember, activeMetaMember} {
		if now := after.Root().Get(name); now.Exists() && err == nil {
			before, err = before.Set(now.Raw(), name)
		}
	}
	return err == nil && bytes.Equal(before.Bytes(), after.Bytes())
}
