package daemon

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// alone are the directories below the state directory in which no other process
// writes while this one runs; in those of shared, commands write notes, too.
var (
	alone  = []string{"chats", "client-items", "idempotency", "owners", "responses"}
	shared = []string{"pool", "servers"}
)

// otherWrite is the longest that a command may take to write a file, such as one of
// shared, or one of the keys, which are in the state directory itself.
const otherWrite = time.Hour

// removeLeftovers removes what an earlier process was writing when it was killed.
func (d *Daemon) removeLeftovers() {
	state := d.cfg.StateDir
	old := time.Now().Add(-otherWrite) //nolint:forbidigo // the clock that the system gives files their times by
	errs := []error{atomicfile.RemoveLeftovers(d.life, state, false, old)}
	for _, name := range shared {
		errs = append(errs, atomicfile.RemoveLeftovers(d.life, filepath.Join(state, name), true, old))
	}
	for _, name := range alone {
		errs = append(errs, atomicfile.RemoveLeftovers(d.life, filepath.Join(state, name), true, time.Time{}))
	}
	if err := errors.Join(errs...); err != nil && d.life.Err() == nil {
		d.cfg.Logger.Warn("cannot remove temporary files of an earlier process", "err", err)
	}
}
