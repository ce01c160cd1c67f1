package files

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/schema"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// write puts what differs into the text of the settings. A file keeps its version, so that
// the OpenHands that has written it can read it. Where that version cannot say what the
// settings are now, the file becomes one of the newest version.
func (s *settingsFile) write(doc *jsonedit.Doc, before, after settings.Settings) (*jsonedit.Doc, error) {
	if doc, err := s.writeAs(doc, before, after); err == nil {
		if now, err := settings.Read(doc, s.sealing.reader()); err == nil && same(now, after) {
			return doc, nil
		}
	}
	now, err := schema.Settings(doc, schema.Latest)
	if err != nil {
		return nil, errSettings
	}
	return s.writeAs(now.Doc, before, after)
}

// writeAs writes in the version that the text has.
func (s *settingsFile) writeAs(doc *jsonedit.Doc, before, after settings.Settings) (*jsonedit.Doc, error) {
	w := writer{doc: doc, show: s.sealing.atRest()}
	said := doc.Root().At(settings.AgentMember, "schema_version")
	version, _ := said.Int()
	old, now := before.Agent, after.Agent
	if version < shape.SinceToolsAlone && !shape.Equal(old["tools"], now["tools"]) {
		old, now = withSwitches(old), withSwitches(now)
	}
	if old.Text("agent_kind") == now.Text("agent_kind") {
		w.differences([]string{settings.AgentMember}, old, now)
	} else {
		now = now.With("schema_version", json.RawMessage(said.Raw()))
		if !said.Exists() {
			delete(now, "schema_version")
		}
		w.set([]string{settings.AgentMember}, now)
	}
	w.differences([]string{settings.ConversationMember}, before.Conversation, after.Conversation)
	if string(before.Misc) != string(after.Misc) {
		w.set([]string{settings.MiscMember}, after.Misc)
	}
	w.name(document.ActiveMember, before.Active, after.Active)
	w.name(settings.ActiveAgentMember, before.ActiveAgent, after.ActiveAgent)
	w.name(settings.ActiveMetaMember, before.ActiveMeta, after.ActiveMeta)
	return w.doc, w.err
}

// withSwitches are the settings of an agent in the form in which single tools have switches.
func withSwitches(agent shape.Tree) shape.Tree {
	if agent.Text("agent_kind") == "acp" {
		return agent
	}
	agent = agent.With("tools", agent["tools"])
	agent.Unfold()
	return agent
}

// same reports whether settings that were read say what they are to say. A time that is not
// in a file is that of the reading. Where the tool that changes the model stands in the list
// of tools has no meaning.
func same(st, want settings.Settings) bool {
	equal := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	return shape.Equal(timeless(withSwitches(st.Agent)), timeless(withSwitches(want.Agent))) &&
		shape.Equal(st.Conversation, want.Conversation) && shape.Equal(st.Misc, want.Misc) &&
		equal(st.Active, want.Active) && equal(st.ActiveAgent, want.ActiveAgent) && equal(st.ActiveMeta, want.ActiveMeta)
}

func timeless(agent shape.Tree) shape.Tree {
	if context := agent.Tree("agent_context"); context != nil {
		return agent.With("agent_context", context.With("current_datetime", json.RawMessage("null")))
	}
	return agent
}
