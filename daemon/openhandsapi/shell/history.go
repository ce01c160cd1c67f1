package shell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxPlaces is how many places are known in memory in which nothing was asked for just now.
const maxPlaces = 100

// Place is where the commands of a client run that have a history of their own.
type Place struct {
	ID string
	// Dir is the directory of commands that name none, and each other one is below it.
	Dir string
	// Events is the directory of the history. It is made when there is an event, but not
	// the directory above it: a place that was removed does not come back.
	Events string
}

// history is the commands of one place.
type history struct {
	shell  *Shell
	events *store
	dir    string         // see Place; "" leaves the directory to the client
	above  string         // the directory above that of the events, which goes with the place; "" stays
	wait   sync.WaitGroup // its commands

	// What follows is guarded by the mutex of the shell.
	users int // requests that are being answered, and commands that run
	ended bool
}

// Why a command or a socket does not begin.
var (
	errClosed = errors.New("the server is shutting down")
	errMany   = errors.New("too many commands run at the same time")
	errEnded  = errors.New("the conversation is being closed")
)

// at returns the history of a place, until it is released. It drops that of another place
// with the same id.
func (s *Shell) at(p Place) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.places[p.ID]
	if h != nil && h.dir != p.Dir { // another place has the id of one that was removed
		s.drop(p.ID, h)
		h = nil
	}
	if h == nil {
		s.forget()
		h = &history{shell: s, events: &store{dir: p.Events, now: s.cfg.Now, make: makeOne}, dir: p.Dir, above: filepath.Dir(p.Events)}
		s.places[p.ID] = h
	}
	h.users++
	return h
}

// forget makes room in memory: what is known of an idle place is read again from its files.
func (s *Shell) forget() {
	if len(s.places) < maxPlaces {
		return
	}
	for id, h := range s.places {
		if h.users == 0 {
			delete(s.places, id)
		}
	}
}

func (h *history) release() {
	h.shell.mu.Lock()
	defer h.shell.mu.Unlock()
	h.users--
}

// lookAgain is how often a command looks whether its place is still there: clients of other
// APIs and other programs remove conversations, too.
const lookAgain = time.Second

// removed reports whether the place is gone.
func (h *history) removed() bool {
	if h.above == "" {
		return false
	}
	_, err := os.Lstat(h.above)
	return errors.Is(err, fs.ErrNotExist)
}

// makeOne makes a directory in one that is there.
func makeOne(dir string) error {
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// End ends the commands of the place with an id, or of all places if it is "", and waits for
// them. A place can have new commands afterwards.
func (s *Shell) End(id string) {
	s.mu.Lock()
	var list []*history
	for name, h := range s.places {
		if id == "" || name == id {
			s.drop(name, h)
			list = append(list, h)
		}
	}
	s.mu.Unlock()
	for _, h := range list {
		h.wait.Wait()
	}
}

// drop begins to end the commands of the place with an id, and takes it out.
func (s *Shell) drop(id string, h *history) {
	h.ended = true
	delete(s.places, id)
	for _, r := range s.runs {
		if r.h == h {
			r.end()
		}
	}
}

// begin counts a command.
func (h *history) begin() error {
	s := h.shell
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case h.ended:
		return errEnded
	case s.running >= maxRunning:
		return errMany
	}
	s.running++
	h.users++
	s.wait.Add(1)
	h.wait.Add(1)
	return nil
}

func (h *history) end() {
	h.shell.mu.Lock()
	h.shell.running--
	h.users--
	h.shell.mu.Unlock()
	h.wait.Done()
	h.shell.wait.Done()
}
