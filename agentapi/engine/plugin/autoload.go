package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// AutoLoad is what of a marketplace each conversation gets at its start: all, nothing, or
// the plugins and skills with these names.
type AutoLoad struct {
	All   bool
	Names []string
}

// UnmarshalJSON takes a boolean or a list of names.
func (a *AutoLoad) UnmarshalJSON(data []byte) error {
	*a = AutoLoad{}
	if json.Unmarshal(data, &a.All) == nil {
		return nil
	}
	if json.Unmarshal(data, &a.Names) != nil {
		return errors.New("auto_load is neither a boolean nor a list of names")
	}
	return nil
}

func (a AutoLoad) has(name string) bool { return a.All || slices.Contains(a.Names, name) }

// Loaded is what marketplaces give a conversation at its start.
type Loaded struct {
	Plugins []Plugin
	Skills  []skill.Skill // which are in no plugin
}

// AutoLoad loads what the marketplaces give to each conversation. bad is told of each
// marketplace, plugin or skill that cannot be used: the others are loaded all the same.
func (s Sources) AutoLoad(ctx context.Context, list []Registration, bad func(marketplace, name string, err error)) (all Loaded, err error) {
	if err := unique(list); err != nil {
		return Loaded{}, err
	}
	for _, r := range list {
		if !r.Auto.All && len(r.Auto.Names) == 0 {
			continue
		}
		m, err := s.marketplace(ctx, r)
		if err != nil {
			bad(r.Name, "", err)
			continue
		}
		for _, e := range m.Plugins {
			s.auto(ctx, r, m, e, bad, func(dir string) error {
				p, err := Load(dir)
				if err == nil {
					all.Plugins = append(all.Plugins, p)
				}
				return err
			})
		}
		for _, e := range m.Skills {
			s.auto(ctx, r, m, e, bad, func(dir string) error {
				found, err := skill.OfDirectory(dir)
				if err == nil {
					all.Skills = append(all.Skills, found)
				}
				return err
			})
		}
	}
	return all, nil
}

// auto loads the entry of a marketplace, if it is to be.
func (s Sources) auto(ctx context.Context, r Registration, m marketplace, e entry, bad func(marketplace, name string, err error), load func(dir string) error) {
	if !r.Auto.has(e.Name) {
		return
	}
	from, err := e.in(m.dir)
	if err == nil {
		var place Place
		if place, err = s.Find(ctx, from); err == nil {
			err = load(place.Dir)
		}
	}
	if err != nil {
		bad(r.Name, e.Name, err)
	}
}
