package shell

import (
	"errors"
	"io/fs"
	"os"
	"sync"
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
	*Shell

	events *store
	dir    string // see Place; "" leaves the directory to the client
	wait   sync.WaitGroup

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

// at is the history of a place, until it is released.
func (s *Shell) at(p Place) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.places[p.ID]
	if h != nil && h.dir != p.Dir { // another place has the id of one that was removed
		s.drop(p.ID)
		h = nil
	}
	if h == nil {
		s.forget()
		h = &history{Shell: s, events: &store{dir: p.Events, now: s.cfg.Now, make: makeOne}, dir: p.Dir}
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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
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
	for name := range s.places {
		if id == "" || name == id {
			list = append(list, s.drop(name))
		}
	}
	s.mu.Unlock()
	for _, h := range list {
		h.wait.Wait()
	}
}

// drop begins to end the commands of a place, and takes it out.
func (s *Shell) drop(id string) *history {
	h := s.places[id]
	h.ended = true
	delete(s.places, id)
	for _, r := range s.runs {
		if r.h == h {
			r.end()
		}
	}
	return h
}

// begin counts a command.
func (h *history) begin() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errClosed
	case h.ended:
		return errEnded
	case h.running >= maxRunning:
		return errMany
	}
	h.running++
	h.users++
	h.Shell.wait.Add(1)
	h.wait.Add(1)
	return nil
}

func (h *history) end() {
	h.mu.Lock()
	h.running--
	h.users--
	h.mu.Unlock()
	h.wait.Done()
	h.Shell.wait.Done()
}
