package tui

import (
	"io"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
)

// lendTerminal gives the terminal to a command. Until it ends, Ctrl+C is a
// signal to each process of the terminal: lend keeps it from ending the chat.
func lendTerminal(cmd *exec.Cmd, lend func() (giveBack func()), ended tea.ExecCallback) tea.Cmd {
	return tea.Exec(borrower{cmd, lend}, ended)
}

// borrower is a command that has the terminal while it runs.
type borrower struct {
	cmd  *exec.Cmd
	lend func() (giveBack func()) // may be nil
}

// Run implements [tea.ExecCommand].
func (b borrower) Run() error {
	if b.lend != nil {
		defer b.lend()()
	}
	return b.cmd.Run()
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
