package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/tui"
)

// terminal opens the chat on the terminal.
func (c *session) terminal(ctx context.Context, look config.Chat) error {
	recent, err := recent(c.App)
	if err != nil {
		return err
	}
	cfg := tui.Config{
		Endpoint: c.client, History: c.client, Guard: c.client,
		Place: tui.Place{Title: c.place(), Notice: strings.TrimSpace(c.notice(ctx) + "\n" + c.damageNotice(ctx)), Demo: c.model == demoModel},
		Hints: c.hints(),
		In:    c.Stdin, Out: c.Stdout.Writer, Environ: c.Environ(), // the terminal itself: it has a size
		NoColor: !c.Stdout.Color(), Theme: tui.Theme(look.Theme), Mouse: look.Mouse, Vim: look.Vim, Notify: look.Notify, Plain: c.plain || c.Getenv("TERM") == "dumb",
		Start:  startOf(c),
		Locate: c.locate, Local: c.local, AddModel: c.addModel, Store: c.store,
		NewID: uuid.New, Now: c.Now, Recent: recent, Edit: c.edit,
		Lend: c.lend(ctx), Copy: systemClipboard(c.App).copyText, PasteImage: c.pasteImage, ReadImage: c.readImage, Save: c.save,
	}
	cfg.Hints.NoModels = c.firstModel(ctx)
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
		Model: c.model, Conversation: c.conversation, System: c.system, Text: c.prompt, Timeout: c.timeout, Workspace: c.directory, Resumes: c.resumes, Insists: c.workspace != "",
	}
	if c.unresolved {
		s.Find = typedModel{c.model, c.damagedProfile}.late
	}
	for _, image := range c.images {
		s.Images = append(s.Images, image.forTerminal())
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
	for _, arg := range c.sandbox.Args() {
		words = append(words, shellword.Of(arg))
	}
	return strings.Join(words, " ")
}

func (i attachment) forTerminal() tui.Image {
	return tui.Image{Name: i.name, DataURL: i.dataURL, Size: i.size}
}

func (c *session) readImage(_ context.Context, path string) (tui.Image, error) {
	path, err := c.Expand(path)
	if err != nil {
		return tui.Image{}, err
	}
	image, err := readImage(path)
	return image.forTerminal(), err
}

func (c *session) pasteImage(ctx context.Context) (tui.Image, error) {
	data, err := systemClipboard(c.App).image(ctx)
	if err != nil {
		return tui.Image{}, err
	}
	image, err := newImage("clipboard", data)
	if err != nil {
		return tui.Image{}, fmt.Errorf("there is no image in the clipboard that can be sent: it %w", err)
	}
	return image.forTerminal(), nil
}
