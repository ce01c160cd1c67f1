// Package kit is what the commands share: their world, the flags that every
// command has, output, questions, arguments and the flags that are settings.
package kit

// App is one run of the program: its world and the flags that every command
// has.
type App struct {
	*Env

	JSON    bool
	Quiet   bool
	Verbose bool
	Debug   bool
	NoInput bool
	Color   string
	Config  string

	// Leaving is called before the program ends in the middle of a read. May be nil.
	Leaving func(err error)
}

// CanAsk reports whether a user is there to answer a question.
func (a *App) CanAsk() bool { return a.StdinTTY && a.Stderr.TTY() && !a.NoInput && !a.JSON }
