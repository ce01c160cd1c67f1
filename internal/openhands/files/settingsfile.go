package files

import (
	"bytes"
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
)

// settingsFile is the file of the settings, under its lock.
type settingsFile struct{ place }

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
func (s *settingsFile) load() settings.Settings {
	snap := document.SettingsFile(s.base).Read()
	found, err := settings.Of(snap, s.sealing.reader())
	if err != nil {
		s.cfg.Log.Warn("the settings of OpenHands cannot be used; its defaults are shown", "path", snap.File.Path, "err", err)
	}
	return found
}

// change changes the settings under their lock. What it cannot read it leaves alone.
func (s *settingsFile) change(ctx context.Context, fn func(*jsonedit.Doc, settings.Settings) (*jsonedit.Doc, error)) error {
	_, err := document.SettingsFile(s.base).Update(ctx, s.cfg.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		doc := snap.Doc
		if doc == nil {
			var err error
			if doc, err = newDoc(emptySettings); err != nil {
				return nil, err
			}
		}
		before, err := settings.Read(doc, s.sealing.reader())
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
