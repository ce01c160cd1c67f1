package engine

import (
	"cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/title"
)

// titles says where the title of a conversation comes from, and which profile is asked
// for it. One that no other turn is expected of costs no call, and parts of other
// conversations have no title.
func (b *Backend) titles(dir *store.Dir, once bool) (from title.Source, profile string) {
	wants, profile, none := dir.Entitled()
	_, ours := dir.State.Tags[tagSystem] // and not of OpenHands' own API, whose requests say it
	switch {
	case none || dir.State.LastUserMessageID != "":
		return title.None, ""
	case wants:
		return title.Model, cmp.Or(profile, b.cfg.TitleProfile)
	case !ours:
		return title.None, ""
	case once:
		return min(b.cfg.Titles, title.Rule), ""
	}
	return b.cfg.Titles, b.cfg.TitleProfile
}
