package terminal

import (
	"context"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/shellword"
)

// renewWait is how long the shell may take to say what it has exported.
const renewWait = 5 * time.Second

const renewedNote = "[The user has allowed more, so this is a new shell in the same directory with the same exported variables. " +
	"Functions and other variables of the shell before are gone, and what it ran in the background has ended.]\n"

// renew ends a shell whose box has become too narrow: what a program may reach cannot
// be widened while it runs. It gives what puts the next shell in the same place.
func (t *Terminal) renew(ctx context.Context) (carried string) {
	box, ok := t.cfg.Box.(interface{ Stale() bool })
	if !ok || t.session == nil || !box.Stale() {
		return ""
	}
	dir := t.session.state().dir
	_ = t.session.takeOutput("")
	t.seq++
	t.session.begin(t.seq, "", `(set -o posix; builtin export -p)`)
	limited, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	exported := ""
	if t.session.waitFor(limited, t.seq) == nil {
		text, cut, err := t.session.takeOutput("").text(maxExported)
		// A value that was masked comes again with the command that names its secret.
		if err == nil && !cut && !strings.Contains(text, secretenv.Mark) {
			exported = text
		}
	}
	t.end()
	t.note = renewedNote
	return exported + "\ncd -- " + shellword.Quoted(dir) + "\n"
}

// maxExported limits how much of the environment is carried over, in characters.
const maxExported = 256 << 10
