package terminal

// prompt is what the shell says when it is ready for a command.
type prompt struct {
	seq      uint64 // of the command that is over
	exitCode int
	lastJob  int // process id of the last background job, or -1
	dir      string
	path     string // its $PATH
}
