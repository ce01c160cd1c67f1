package chat

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/cli/chat/attach"
	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/tui"
)

// terminal opens the chat on the terminal.
func (c *session) terminal(ctx context.Context, look config.Chat) error {
	known, err := recent.Open(c.opts.App)
	if err != nil {
		return err
	}
	clipboard := attach.System(c.opts.App)
	cfg := tui.Config{
		Endpoint: c.client, History: c.client, Guard: c.client,
		Place: tui.Place{Title: c.place(), Notice: strings.TrimSpace(c.notice(ctx) + "\n" + c.damageNotice(ctx)), Demo: c.opts.model == demoModel},
		Hints: c.hints(),
		In:    c.opts.Stdin, Out: c.opts.Stdout.Writer, Environ: c.opts.Environ(), // the terminal itself: it has a size
		NoColor: !c.opts.Stdout.Color(), Theme: tui.Theme(look.Theme), Mouse: look.Mouse, Vim: look.Vim, Notify: look.Notify, Plain: c.opts.plain || c.opts.Getenv("TERM") == "dumb",
		Start:  startOf(c),
		Locate: c.locate, Local: c.local, AddModel: c.addModel, Store: c.store,
		NewID: uuid.New, Now: c.opts.Now, Recent: known, Edit: c.edit,
		Lend: c.lend(ctx), Copy: clipboard.Copy, PasteImage: clipboard.Paste, ReadImage: c.readImage, Save: c.save,
	}
	cfg.Hints.NoModels = c.firstModel(ctx)
	if c.local != nil {
		cfg.ReadPicture = readPicture
	}
	if c.own != nil {
		cfg.Place.Backend = c.own.Backend.Status.Name
	} else {
		cfg.Place.Backend = c.asker.BackendName(ctx)
	}
	if cfg.Plain {
		keys, giveBack := kit.Interrupts(ctx)
		defer giveBack()
		cfg.Interrupt = keys
	}
	return tui.Run(ctx, cfg)
}

// startOf is how the chat begins.
func startOf(c *session) tui.Start {
	s := tui.Start{
		Model: c.opts.model, Conversation: c.opts.conversation, System: c.opts.system, Text: c.opts.prompt, Images: c.images, Timeout: c.opts.timeout, Workspace: c.directory, Resumes: c.resumes, Insists: c.opts.workspace != "",
	}
	if c.unresolved {
		s.Find = typedModel{c.opts.model, c.damagedProfile}.late
	}
	return s
}

// lend keeps Ctrl-C from ending the chat while another program has the terminal.
func (c *session) lend(ctx context.Context) func() (giveBack func()) {
	return func() func() { return kit.LendTerminal(ctx) }
}

// hints are the commands that help where the chat cannot help itself.
func (c *session) hints() tui.Hints {
	return tui.Hints{
		Unreachable: []string{"ohgw serve"},
		Locked:      []string{"ohgw tokens create NAME", "export OHGW_API_KEY=…"},
		Resume:      func(conversation string) string { return c.command() + " --conversation " + conversation },
		Left:        c.left,
	}
}

// command is the command that finds this gateway again, or one like it.
func (c *session) command() string {
	words := []string{"ohgw chat"}
	switch {
	case c.demo:
		words = append(words, "--demo")
	case c.own == nil && c.asker.Found.URL == "":
		words = append(words, "--url", c.client.URL())
	}
	for _, arg := range c.opts.sandbox.Args() {
		words = append(words, shellword.Of(arg))
	}
	return strings.Join(words, " ")
}

func (c *session) readImage(_ context.Context, path string) (tui.Image, error) {
	path, err := c.opts.Expand(path)
	if err != nil {
		return tui.Image{}, err
	}
	return attach.Image(path)
}
