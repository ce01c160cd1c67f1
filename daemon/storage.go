package daemon

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/storage"
)

// tryEvery is how long the state directory counts as it was found.
const tryEvery = 2 * time.Second

// stateDir knows whether the state directory can be written to. Requests do not
// ask it: they fail by themselves where it cannot, and work again when it can.
type stateDir struct {
	path string // empty: there is none
	now  func() time.Time

	mu    sync.Mutex
	tried time.Time
	err   error
}

// check tries to write there, now and then.
func (s *stateDir) check() error {
	if s.path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.tried.IsZero() || now.Sub(s.tried) >= tryEvery {
		s.tried, s.err = now, storage.Try(s.path)
	}
	return s.err
}

// health returns the state of the directory; nil if there is none.
func (s *stateDir) health() *StorageHealth {
	if s.path == "" {
		return nil
	}
	if err := s.check(); err != nil {
		return &StorageHealth{Error: notStorable(err).wire.Message}
	}
	return &StorageHealth{}
}

// storageProblem is the problem of an error that the disk is the reason for;
// nil: it is not. Clients are told to leave it: nothing was started, but a
// repeat within seconds fails, too.
func storageProblem(err error) *problem {
	ours := errors.Is(err, run.ErrState) || errors.Is(err, run.ErrRecord)
	if e, ok := errors.AsType[*agentapi.Error](err); ok && !ours && (!e.InProcess || !errors.Is(err, agentapi.ErrUnavailable)) {
		return nil // of another machine, or of a run that has begun
	}
	switch trouble := storage.Of(err); {
	case trouble == storage.Full:
		return newProblem(codeStorageFull, "The disk with ohgw's state directory is full, so nothing was started. "+
			"Free space on it (ohgw doctor shows the directory), then send the request again.", err)
	case trouble == storage.ReadOnly:
		return newProblem(codeStorage, "The disk with ohgw's state directory is read-only, so nothing was started. "+
			"Mount it read-write (ohgw doctor shows the directory), then send the request again.", err)
	case trouble == storage.Denied && ours:
		return newProblem(codeStorage, "ohgw has no permission to write to its state directory, so nothing was started. "+
			"Make the directory belong to the user who runs ohgw (ohgw doctor shows the command), then send the request again.", err)
	case ours:
		return newProblem(codeStorage, "The state directory of ohgw cannot be used, so nothing was started. "+
			"The log of ohgw serve has the cause. Run ohgw doctor to check the directory, then send the request again.", err)
	}
	return nil
}

// notStorable is the problem of a state directory that cannot be written to,
// for /readyz; err is that of check.
func notStorable(err error) *problem {
	p := storageProblem(errors.Join(run.ErrState, err))
	p.row = row{status: http.StatusServiceUnavailable, kind: p.row.kind}
	return p
}
