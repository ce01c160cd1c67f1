package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// damaged are the profiles of this machine that are there and cannot be used, in the
// order of their names. A gateway elsewhere has others: of them nothing is known.
func (c *session) damaged(ctx context.Context) []profile.Summary {
	if c.own == nil && !c.asker.Local() {
		return nil
	}
	store, err := c.opts.Setup().ProfileStore(0)
	if err != nil {
		return nil // The command that reads the store reports the error.
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(s profile.Summary) bool { return s.Usable() || s.Problem == "" })
}

// damagedProfile returns the error for a profile that cannot be used; nil if it can, or
// if it is not there.
func (c *session) damagedProfile(ctx context.Context, is func(profile.Summary) bool) error {
	list := c.damaged(ctx)
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return nil
	}
	s := list[i]
	return &fault.Error{
		Msg:  fmt.Sprintf("the LLM profile %q cannot be used: %s %s", s.Name, s.Path, setup.Clean(s.Problem)),
		Hint: "see what is wrong: ohgw profiles check " + shellword.Of(s.Name),
		Code: fault.Configuration,
	}
}

func isActive(s profile.Summary) bool { return s.Active }

// damageNotice tells a person at a terminal that the active profile cannot be used, so
// that the chat asks another one.
func (c *session) damageNotice(ctx context.Context) string {
	if c.opts.model != "" || c.demo {
		return ""
	}
	f, ok := errors.AsType[*fault.Error](c.damagedProfile(ctx, isActive))
	if !ok {
		return ""
	}
	return "WARNING: " + f.Msg + ". To " + f.Hint + "."
}
