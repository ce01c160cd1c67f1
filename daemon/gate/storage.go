package gate

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
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

// Check tries to write there, now and then.
func (s *stateDir) Check() error {
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

// Health returns the state of the directory; nil if there is none.
func (s *stateDir) Health() *StorageHealth {
	if s.path == "" {
		return nil
	}
	if err := s.Check(); err != nil {
		return &StorageHealth{Error: NotStorable(err).Wire.Message}
	}
	return &StorageHealth{}
}

// storageProblem returns the problem of an error that the disk is the reason for;
// nil: it is not. The answer asks clients not to repeat the request: nothing was
// started, but a repeat within seconds fails, too.
func storageProblem(err error) *Problem {
	if errors.Is(err, ledger.ErrAway) {
		return nil // what is kept is in the database that gateways share
	}
	ours := errors.Is(err, run.ErrState) || errors.Is(err, run.ErrRecord)
	if e, ok := errors.AsType[*agentapi.Error](err); ok && !ours && (!e.InProcess || !errors.Is(err, agentapi.ErrUnavailable)) {
		return nil // of another machine, or of a run that has begun
	}
	switch trouble := storage.Of(err); {
	case trouble == storage.Full:
		return NewProblem(codeStorageFull, "The disk with ohgw's state directory is full, so nothing was started. "+
			"Free space on it (ohgw doctor shows the directory), then send the request again.", err)
	case trouble == storage.ReadOnly:
		return NewProblem(codeStorage, "The disk with ohgw's state directory is read-only, so nothing was started. "+
			"Mount it read-write (ohgw doctor shows the directory), then send the request again.", err)
	case trouble == storage.Denied && ours:
		return NewProblem(codeStorage, "ohgw has no permission to write to its state directory, so nothing was started. "+
			"Make the directory belong to the user who runs ohgw (ohgw doctor shows the command), then send the request again.", err)
	case ours:
		return NewProblem(codeStorage, "The state directory of ohgw cannot be used, so nothing was started. "+
			"The log of ohgw serve has the cause. Run ohgw doctor to check the directory, then send the request again.", err)
	}
	return nil
}

// NotStorable is the problem of a state directory that cannot be written to,
// for /readyz; err is that of check.
func NotStorable(err error) *Problem {
	p := storageProblem(errors.Join(run.ErrState, err))
	p.Row = Row{Status: http.StatusServiceUnavailable, Kind: p.Row.Kind}
	return p
}

// StorageHealth is how the state directory is.
type StorageHealth struct {
	Error string `json:"error"` // why nothing can be written there; empty when it can
}
