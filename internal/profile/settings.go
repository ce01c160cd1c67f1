package profile

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

const activeMember = document.ActiveMember

// Active is the name of the active profile; "" when there is none. It need not
// be there. The error says why the settings cannot be read.
func (s *Store) Active() (string, error) {
	snap := s.settings().Read()
	switch {
	case snap.Missing():
		return "", nil
	case snap.Gate != nil:
		return "", snap.Err()
	}
	name, _ := snap.Doc.Root().Get(activeMember).Text()
	return name, nil
}

// emptySettings is what settings are made from that are not there yet. It has no
// schema_version: every release takes that for the first version, which has all
// that we write.
const emptySettings = "{}"

// updateSettings changes the settings, or makes them.
func (s *Store) updateSettings(ctx context.Context, change func(*jsonedit.Doc) (*jsonedit.Doc, error)) (bool, error) {
	changed, err := s.settings().Update(ctx, s.cfg.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		if snap.Doc != nil {
			return change(snap.Doc)
		}
		doc, err := jsonedit.Parse([]byte(emptySettings))
		if err != nil {
			return nil, err
		}
		return change(doc)
	})
	return changed, s.settingsFault(err)
}

// settingsFault names what callers tell apart.
func (s *Store) settingsFault(err error) error {
	switch action, _ := document.ActionOf(err); action {
	case canon.ReportLegacyV0:
		return errors.Join(ErrLegacy, err)
	case canon.ErrorNewer:
		return &SettingsError{s.settings().Path, err}
	}
	return err
}

// movable reports why settings that have the name of a profile cannot have another one.
func (s *Store) movable(name string) error {
	snap := s.settings().Read()
	if snap.Newer() && names(snap.Doc.Root(), name) {
		return s.settingsFault(snap.Sealed)
	}
	return nil
}

// names reports whether settings have the name of a profile: as that of the active one, or
// in the copy of the active meta-profile.
func names(root jsonedit.Value, profile string) bool {
	active, _ := root.Get(activeMember).Text()
	return active == profile || len(metaUses(inlineMeta(root), profile)) > 0
}

// moveActive makes another profile the active one if old is it; none if name is
// "". A new name goes into the copy of the active meta-profile, too. Settings that are not
// there, or that OpenHands does not load, have no active profile.
func (s *Store) moveActive(ctx context.Context, old, name string) (was bool, err error) {
	if snap := s.settings().Read(); snap.Gate != nil || !names(snap.Doc.Root(), old) {
		return false, nil //nolint:nilerr // such settings have no active profile
	}
	_, err = s.updateSettings(ctx, func(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
		var err error
		if name != "" {
			if doc, err = renameInline(doc, old, name); err != nil {
				return nil, err
			}
		}
		if active, _ := doc.Root().Get(activeMember).Text(); active != old {
			return doc, nil
		}
		was = true
		value := []byte("null")
		if name != "" {
			value = jsonedit.Quote(name)
		}
		return doc.Set(value, activeMember)
	})
	return was, err
}
