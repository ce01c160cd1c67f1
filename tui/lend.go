package tui

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
	"github.com/ohgw/ohgw/tui/session"
)

const (
	// goneTick is how often the terminal of a command is looked at, and gonePatience how
	// long the command may take to end when it is gone.
	goneTick     = time.Second
	gonePatience = time.Second
)

// errGone says that the chat ends, or its terminal, while a command has the terminal.
var errGone = errors.New("the terminal is gone")

// lendTerminal gives the terminal to a command. Until it ends, Ctrl+C is a
// signal to each process of the terminal: lend keeps it from ending the chat.
func lendTerminal(ctx context.Context, cmd *exec.Cmd, lend func() (giveBack func()), ended tea.ExecCallback) tea.Cmd {
	return tea.Exec(borrower{ctx, cmd, lend}, func(err error) tea.Msg {
		if errors.Is(err, errGone) {
			return tea.QuitMsg{}
		}
		return ended(err)
	})
}

// borrower is a command that has the terminal while it runs.
type borrower struct {
	ctx  context.Context
	cmd  *exec.Cmd
	lend func() (giveBack func()) // may be nil
}

// Run implements [tea.ExecCommand]. A command that does not read the terminal, such as
// one that waits for a window, need not notice that it is gone: the chat ends without it.
func (b borrower) Run() error {
	if b.lend != nil {
		defer b.lend()()
	}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		ended <- b.cmd.Wait()
		close(over)
	}()
	look := time.NewTicker(goneTick)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-look.C:
			if !keyboard.Gone(b.cmd.Stdin) {
				continue
			}
		case <-b.ctx.Done():
		}
		hangUp(b.cmd.Process)
		select {
		case <-over:
		case <-time.After(gonePatience): // it may have a window of its own, with a text that the user has not saved
		}
		return errGone
	}
}

// SetStdin implements [tea.ExecCommand].
func (b borrower) SetStdin(r io.Reader) {
	if b.cmd.Stdin == nil {
		b.cmd.Stdin = keyboard.Bare(r)
	}
}

// SetStdout implements [tea.ExecCommand].
func (b borrower) SetStdout(w io.Writer) {
	if b.cmd.Stdout == nil {
		b.cmd.Stdout = w
	}
}

// SetStderr implements [tea.ExecCommand].
func (b borrower) SetStderr(w io.Writer) {
	if b.cmd.Stderr == nil {
		b.cmd.Stderr = w
	}
}

// drafts have what is written edited in the user's own editor.
type drafts struct {
	ctx   context.Context
	cfg   *Config
	chat  *session.Session
	input *composer
	say   func(string) tea.Cmd
}

// begin lays the text where an editor finds it.
func (d *drafts) begin() tea.Cmd {
	if d.cfg.Edit == nil {
		return d.say("no editor found; set EDITOR")
	}
	edit, text := d.cfg.Edit, d.input.Value()
	return func() tea.Msg {
		draft, err := edit(text)
		return draftMsg{draft, err}
	}
}

// laid gives the terminal to the editor.
func (d *drafts) laid(msg draftMsg) tea.Cmd {
	if msg.err != nil {
		d.chat.Note("The editor cannot be opened: "+msg.err.Error(), true)
		return nil
	}
	return lendTerminal(d.ctx, msg.draft.Cmd, d.cfg.Lend, func(err error) tea.Msg {
		text, readErr := msg.draft.Read()
		if err == nil {
			err = readErr
		}
		return editedMsg{text, err}
	})
}

// edited writes what the editor left in the input.
func (d *drafts) edited(msg editedMsg) {
	if msg.err != nil {
		d.chat.Note("The editor failed; your text is unchanged: "+msg.err.Error(), true)
		return
	}
	d.input.replace(strings.TrimRight(msg.text, "\r\n"))
}
