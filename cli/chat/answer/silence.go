package answer

import (
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/iostream"
)

// A person hears from ohgw at least this often while an answer is awaited: on a
// terminal by a line that is replaced each second, in a file by a line a minute. The
// first word comes sooner on a terminal, and wherever a model has to be loaded.
const (
	silent       = 5 * time.Second
	atFirst      = time.Second
	repaintAfter = time.Second
	repeatAfter  = time.Minute
)

// spoken is a show for people: when nothing comes, it says what ohgw waits for.
type spoken struct {
	show  Show
	app   *kit.App
	whole bool // stdout and stderr are one screen: no line may stand within the answer

	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // the last piece
	awaited string
	phase   string // of the call of the model
	begun   bool   // something of the answer was shown
	inText  bool   // the last piece was text that goes on
	painted bool   // the line is on the terminal
	over    bool
}

// speak begins to wait for the first piece.
func speak(app *kit.App, s Show) Show {
	if app.Quiet {
		return s
	}
	p := &spoken{show: s, app: app, whole: app.Stdout.TTY() && app.Stderr.TTY(), since: app.Now(), awaited: "waiting for the model"}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.patience(), p.tell)
	return p
}

// patience is how long nothing may come without a word. The caller holds the lock.
func (s *spoken) patience() time.Duration {
	if s.phase == "loading" || !s.begun && s.app.Stderr.TTY() {
		return atFirst
	}
	return silent
}

// tell says how long nothing has come.
func (s *spoken) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.app.Now().Sub(s.since)
	if s.over || s.inText && s.whole || took < s.patience() { // the last: a piece came first
		return
	}
	line := s.app.Stderr.Styled(iostream.Faint, fmt.Sprintf("%s, %d s", s.awaited, int(took.Seconds())))
	if !s.app.Stderr.TTY() {
		s.app.Note("%s", line)
		s.timer.Reset(repeatAfter)
		return
	}
	fmt.Fprintf(s.app.Stderr, "\r\x1b[K%s", line)
	s.painted = true
	s.timer.Reset(repaintAfter)
}

// clear takes the line away. The caller holds the lock.
func (s *spoken) clear() {
	if s.painted {
		fmt.Fprint(s.app.Stderr, "\r\x1b[K")
		s.painted = false
	}
}

// Piece implements [Show].
func (s *spoken) Piece(p Piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.phase != nil {
		s.enter(*p.phase)
		return nil
	}
	s.clear()
	s.inText = p.text != ""
	s.begun = s.begun || p.text != "" || p.line != "" && !p.again
	if next := awaitedAfter(p); next != "" {
		s.awaited = next
	}
	err := s.show.Piece(p)
	s.since, s.over = s.app.Now(), s.over || err != nil
	s.timer.Reset(s.patience())
	return err
}

// enter begins another phase of the call of the model. A phase that goes on is one
// silence: its time is counted from its beginning. The caller holds the lock.
func (s *spoken) enter(p gateway.Phase) {
	if p.Name != s.phase {
		s.phase, s.since = p.Name, s.app.Now()
		s.clear()
		s.timer.Reset(s.patience())
	}
	if waits := p.Waits(); waits != "" {
		s.awaited, s.inText = waits, false
	} else if p.Name == "writing" {
		s.awaited = "waiting for the model"
	}
}

// awaitedAfter is what comes next after a piece; "" if that is the same as before.
func awaitedAfter(p Piece) string {
	switch {
	case p.waiting:
		return "waiting for other requests"
	case p.lost != nil:
		return "waiting for the connection"
	case p.started != nil, p.restart, p.again:
		return "waiting for the model"
	case p.line != "", p.text != "":
		return "the agent is at work"
	}
	return ""
}

// End implements [Show].
func (s *spoken) End(t Turn, whole bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
	s.clear()
	return s.show.End(t, whole)
}
