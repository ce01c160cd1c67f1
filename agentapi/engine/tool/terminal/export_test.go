//go:build unix

package terminal

// Ready reports to a test that the last command is over, which a caller learns only
// with the next call.
func (t *Terminal) Ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session == nil || !t.session.alive() || t.session.over(t.seq)
}

// Alive reports to a test whether there is a shell.
func (t *Terminal) Alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session != nil && t.session.alive()
}

// Shell is the process of the shell, for a test that holds it up.
func (t *Terminal) Shell() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.pid
}

// Statements is how many statements a command has that only the end of a line separates.
func Statements(command string) int { return len(statements(command)) }
