// Package settings understands OpenHands' settings.json, for all who read it: settings of
// any version count as those of OpenHands 1.58.2. As there, a file with one value that
// is refused counts as if it were not there.
//
// How the file is read, locked and written is document's.
package settings

import (
	"encoding/json"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/schema"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// The members of the settings.
const (
	AgentMember        = "agent_settings"
	ConversationMember = "conversation_settings"
	MiscMember         = "misc_settings"
	ActiveAgentMember  = "active_agent_profile_id"
	ActiveMetaMember   = "active_meta_profile"
)

// Settings are the settings as they are understood.
type Settings struct {
	Agent, Conversation shape.Tree
	Misc                json.RawMessage

	Active, ActiveAgent, ActiveMeta *string // the active profiles
}

var errNotANumber = errors.New("a number is NaN or infinite")

// Of reads the settings of a file. With an error, which quotes no value, the settings are
// OpenHands' defaults. They are so without one where there is no file.
func Of(snap document.Snapshot, r shape.Reader) (Settings, error) {
	var err error
	switch {
	case snap.Missing():
	case snap.Gate != nil:
		err = snap.Gate
	default:
		var out Settings
		if out, err = Read(snap.Doc, r); err == nil {
			return out, nil
		}
	}
	empty, bad := jsonedit.Parse([]byte("{}"))
	if bad != nil {
		return Settings{}, bad
	}
	out, _ := Read(empty, r) // nothing is wrong with what is empty
	return out, err
}

// Read reads the text of settings. Those of an OpenHands that is newer than all known ones
// are read as far as they are understood.
func Read(doc *jsonedit.Doc, r shape.Reader) (Settings, error) {
	if doc.Irregular().NaN {
		return Settings{}, errNotANumber
	}
	doc, err := present(doc)
	if err != nil {
		return Settings{}, err
	}
	root := doc.Root()
	out := Settings{
		Misc: json.RawMessage("{}"), Active: text(root.Get(document.ActiveMember)),
		ActiveAgent: text(root.Get(ActiveAgentMember)), ActiveMeta: text(root.Get(ActiveMetaMember)),
	}
	var faults []pydantic.Fault
	for _, part := range []struct {
		name string
		as   *shape.Object
		into *shape.Tree
	}{{AgentMember, shape.AgentSettings(), &out.Agent}, {ConversationMember, shape.ConversationSettings(), &out.Conversation}} {
		if *part.into, faults = r.Read(part.as, root.Get(part.name)); len(faults) > 0 {
			return Settings{}, &shape.FieldError{Field: faults[0].Field(part.name)}
		}
	}
	if misc := root.Get(MiscMember); misc.Kind() == jsonedit.Object {
		out.Misc = json.RawMessage(misc.Raw())
	} else if misc.Exists() {
		return Settings{}, &shape.FieldError{Field: MiscMember}
	}
	return out, nil
}

// present is the text of settings in its newest form that is known.
func present(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
	if document.NewerSettings(doc.Root()) != nil {
		return doc, nil //nolint:nilerr // a newer form is presented as it is
	}
	now, err := schema.Settings(doc, schema.Latest)
	return now.Doc, err
}

// text returns a member that is a text, and nil for any other member.
func text(v jsonedit.Value) *string {
	if t, ok := v.Text(); ok {
		return &t
	}
	return nil
}
