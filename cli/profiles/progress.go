package profiles

import (
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/cli/kit"
)

// progress says on a terminal how much of something is done.
type progress struct {
	app     *kit.App
	total   int
	what    string
	waiting func() // ends the note for those who see no progress; nil for the others

	mu   sync.Mutex
	done int
}

func newProgress(a *kit.App, total int, what string) *progress {
	p := &progress{app: a, total: total, what: what}
	if a.Stderr.TTY() && a.Getenv("TERM") != "dumb" && !a.Quiet && !a.JSON {
		p.show()
	} else {
		p.waiting = a.TellLate(fmt.Sprintf("waiting for %d models", total))
	}
	return p
}

// step counts one more.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.waiting == nil {
		p.show()
	}
}

// show writes over the line that it wrote before.
func (p *progress) show() {
	fmt.Fprintf(p.app.Stderr, "\r\x1b[K%d of %d %s", p.done, p.total, p.what)
}

// end takes the line away.
func (p *progress) end() {
	if p.waiting != nil {
		p.waiting()
		return
	}
	fmt.Fprint(p.app.Stderr, "\r\x1b[K")
}
