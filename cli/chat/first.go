package chat

import (
	"context"
	"log/slog"

	"github.com/ohgw/ohgw/cli/guide"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/config"
)

// otherCommands leads on from a chat that the name of the program alone has opened.
const otherCommands = "More than this chat: ohgw serve (for other clients), ohgw connect (their settings), ohgw doctor, ohgw help."

// Alone starts the chat of a command line that is the name of the program alone.
// Guided, questions set up an LLM first.
func Alone(ctx context.Context, a *kit.App, guided bool) error {
	_, o := newCommand(a)
	o.alone = true
	if guided {
		if err := setUp(ctx, o); err != nil {
			return err
		}
	}
	return run(ctx, o)
}

// setUp sets up an LLM with questions.
func setUp(ctx context.Context, o *options) error {
	o.wasSetUp = true
	out, err := guide.Run(ctx, &guide.Options{App: o.App, Chat: true})
	if err != nil {
		return err
	}
	out.Tell(o.App)
	switch {
	case out.Demo:
		return o.settings["demo"].Set("true")
	case out.Name != "" && !out.Active:
		o.model = openai.ModelPrefix + out.Name
	}
	return nil
}

// open finds the gateway and the model, and sets up an LLM where there is none.
// end lets go of the gateway, also after an error.
func (c *session) open(ctx context.Context, s *config.Settings, log *slog.Logger) (end func() error, err error) {
	if end, err = c.connect(ctx, s, log); err != nil {
		return nothing, err
	}
	if c.needsSetup(ctx) {
		if err := setUp(ctx, c.opts); err != nil {
			return end, err
		}
		if end, err = c.reconnect(ctx, end, log); err != nil {
			return end, err
		}
	}
	return end, c.findModel(ctx)
}

func nothing() error { return nil }

// needsSetup reports whether there is no model at all, and a person who can
// choose one.
func (c *session) needsSetup(ctx context.Context) bool {
	if c.opts.wasSetUp || !c.opts.CanAsk() || c.demo || c.opts.model != "" || c.asker != nil && c.asker.Found.URL == "" {
		return false
	}
	if len(c.opts.Setup().ProfileNames()) > 0 {
		return false
	}
	models, err := c.client.Models(ctx)
	return err == nil && len(models) == 0
}

// reconnect opens the gateway again with the settings as they are now. A gateway
// of our own is ended first.
func (c *session) reconnect(ctx context.Context, end func() error, log *slog.Logger) (func() error, error) {
	if err := end(); err != nil {
		return nothing, err
	}
	s, err := c.opts.Settings(c.opts.settings)
	if err != nil {
		return nothing, err
	}
	c.own, c.asker = nil, nil
	if end, err = c.connect(ctx, s, log); err != nil {
		return nothing, err
	}
	return end, nil
}
