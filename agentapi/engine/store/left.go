package store

import (
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/event"
)

// StatusNow judges the status of a conversation that is not open here, from what its
// base state says. A run is over that was left by a process which died: with the next
// message it is marked as failed. Programs without a lease are believed.
func StatusNow(root, id string, stored event.Status, opts Options) event.Status {
	if stored != event.Running {
		return stored
	}
	opts = opts.withDefaults()
	l := &lease{dir: Path(root, id), opts: opts}
	found, err := l.read()
	if err != nil || found.Instance == "" || found.Instance == opts.Holder.Instance || l.heldBy(found) != nil {
		return stored
	}
	// Whoever wrote later than the holder could has no lease.
	wrote := modified(filepath.Join(Path(root, id), stateFile))
	if wrote.After(modified(filepath.Join(Path(root, id), leaseFile)).Add(leaseTTL)) {
		return stored
	}
	return event.Failed
}
