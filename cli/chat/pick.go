package chat

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/library"
)

// anyOf is the value of --conversation that lets the user choose among all.
const anyOf = "?"

// mostOffered is how many conversations are looked at for a choice.
const mostOffered = 100

// pick finds the conversation that --conversation describes: the only one with the
// text in its title, or the one that the user chooses.
func (c *session) pick(ctx context.Context, s *config.Settings) error {
	offered, err := c.offered(ctx, s)
	if err != nil {
		return err
	}
	switch {
	case len(offered) == 0:
		return fault.New(fmt.Sprintf("no conversation has %q in its title, or an id that begins so", c.opts.wanted), "ohgw conversations list shows them; ohgw chat starts a new one", nil)
	case len(offered) == 1 && c.opts.wanted != anyOf:
		c.opts.conversation = offered[0].Name
		return nil
	case !c.opts.CanAsk():
		return fault.NewUsage(fmt.Sprintf("%d conversations are meant by --conversation, and there is no terminal to ask on: %s", len(offered), library.Named(recordsOf(offered))),
			"pass the id of one; ohgw conversations list shows them")
	}
	c.opts.conversation, err = c.opts.Choose(ctx, kit.Choice{
		Question: "Conversation", Options: offered, Default: offered[0].Name,
		Help: "Type a number, or a part of an id. The conversation that was used last comes first.",
	})
	return err
}

// recordsOf are options as conversations, with what is said of each as its title.
func recordsOf(offered []kit.Option) []control.Record {
	records := make([]control.Record, len(offered))
	for i, o := range offered {
		records[i] = control.Record{ID: o.Name, Title: o.Text}
	}
	return records
}

// means reports whether a conversation is one that --conversation (wanted) describes: by a
// part of the title, or by the beginning of the id.
func means(wanted, id, title string) bool {
	if wanted == anyOf || strings.Contains(strings.ToLower(title), strings.ToLower(wanted)) {
		return true
	}
	_, plain, err := library.ReadID(wanted)
	return err == nil && plain != "" && uuid.Begins(id, plain)
}

// offered lists the conversations that are meant, the last used first: those that chats of
// this user have begun, and those that the backend keeps.
func (c *session) offered(ctx context.Context, s *config.Settings) ([]kit.Option, error) {
	r, err := recent.Open(c.opts.App)
	if err != nil {
		return nil, err
	}
	chats, err := r.Read()
	if err != nil {
		return nil, err
	}
	var options []kit.Option
	known := map[string]bool{}
	add := func(id, title, text string) {
		if known[id] || !means(c.opts.wanted, id, title) {
			return
		}
		known[id] = true
		options = append(options, kit.Option{Name: id, Text: setup.Clean(cmp.Or(title, "without a title") + text)})
	}
	for _, x := range chats[:min(len(chats), mostOffered)] {
		add(x.ID, x.Title, " · "+c.opts.TimeText(x.Used))
	}
	if c.client != nil && s.Origin("client.url").Kind == config.FromFlag {
		return options, nil // the backend of another machine
	}
	lib, err := library.Open(ctx, c.opts.Setup(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		c.opts.Detail("the conversations of the backend are not offered: %v", err)
		return options, nil
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	page, err := lib.List(ctx, control.ListQuery{Limit: mostOffered, Order: control.ByUpdatedDesc})
	if err != nil {
		c.opts.Detail("the conversations of the backend are not offered: %v", err)
	}
	for _, x := range page.Records {
		add(x.ID, x.Title, fmt.Sprintf(" · %s · %s", x.Status, c.opts.TimeText(x.Updated)))
	}
	if _, plain, err := library.ReadID(c.opts.wanted); err == nil && plain != "" {
		older, err := lib.Beginning(ctx, plain)
		if err != nil {
			c.opts.Detail("older conversations of the backend are not offered: %v", err)
		}
		for _, x := range older {
			add(x.ID, x.Title, "")
		}
	}
	return options, nil
}
