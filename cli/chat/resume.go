package chat

import (
	"cmp"
	"context"
	"slices"

	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/tui"
)

// maxTried is how many conversations --continue looks for: others may be gone, or
// belong to another gateway.
const maxTried = 20

// findConversation finds the conversation of --continue, or lets the user choose, and
// makes sure that a chat on the terminal does not begin with one that is not there.
func (c *session) findConversation(ctx context.Context, s *config.Settings, once bool) error {
	switch {
	case c.opts.wanted != "":
		return c.pick(ctx, s)
	case c.opts.last:
		return c.lastConversation(ctx)
	case c.opts.conversation != "" && !once && !c.knows(ctx, c.opts.conversation):
		return fault.New("there is no conversation "+c.opts.conversation+" "+tui.Place{Title: c.place()}.At(),
			"ohgw chat --list lists yours; ohgw chat starts a new one", nil)
	}
	return nil
}

// knows reports whether the gateway has a conversation. One that cannot tell may
// have it: the chat finds out.
func (c *session) knows(ctx context.Context, id string) bool {
	_, _, err := c.client.Earlier(ctx, id, 1)
	return !gateway.IsUnknown(err)
}

// lastConversation takes the conversation that was used last in the current
// directory, else in no directory of the user's, and its model.
func (c *session) lastConversation(ctx context.Context) error {
	r, err := recent.Open(c.opts.App)
	if err != nil {
		return err
	}
	list, err := r.Read()
	if err != nil {
		return err
	}
	here, made, err := c.whereTheyWork(list)
	if err != nil {
		return err
	}
	candidates := slices.Concat(here, made)
	for _, x := range candidates[:min(len(candidates), maxTried)] {
		if c.knows(ctx, x.ID) {
			c.opts.conversation, c.opts.model = x.ID, cmp.Or(c.opts.model, x.Model)
			return nil
		}
	}
	return fault.New("there is no earlier conversation of this directory", "ohgw chat --list shows those of all directories; ohgw chat starts a new one", nil)
}

// whereTheyWork picks the conversations that work in the current directory, and
// those that work in a directory that ohgw made for them.
func (c *session) whereTheyWork(list []tui.Conversation) (here, made []tui.Conversation, err error) {
	dirs, err := c.opts.Setup().Dirs()
	if err != nil {
		return nil, nil, err
	}
	cwd, err := c.currentDirectory()
	if err != nil {
		c.opts.Detail("the current directory is not used: %v", err)
	}
	own, err := workdir.Resolve(dirs.State)
	if err != nil { // it is not there yet
		own = dirs.State
	}
	for _, x := range list {
		switch {
		case x.Workspace == "" || subpath.Within(own, x.Workspace) || subpath.Within(dirs.State, x.Workspace):
			made = append(made, x)
		case x.Workspace == cwd:
			here = append(here, x)
		}
	}
	return here, made, nil
}
