package daemon

import (
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/pause"
)

const (
	// leftoversAfter is how long after the start the temporary files of earlier
	// processes are removed. A command that began to write before the start, such as
	// "ohgw tokens create", has ended by then.
	leftoversAfter = time.Minute
	// leftoversEvery is how often they are looked for afterwards, and keepTemps the
	// age from which a file counts as one then.
	leftoversEvery = 24 * time.Hour
	keepTemps      = time.Hour
)

// removeLeftovers removes, until the daemon ends, the temporary files that killed
// processes left in the state directory.
func (d *Daemon) removeLeftovers() {
	before, next := d.core.Now(), leftoversAfter
	for pause.For(d.core.Life(), next) == nil {
		left := atomicfile.Leftovers{Dir: d.cfg.StateDir, Before: before, Enter: hasRecords}
		if next == leftoversEvery {
			left.Before = d.core.Now().Add(-keepTemps)
		}
		if err := left.Remove(); err != nil {
			d.core.Logger.Warn("cannot remove temporary files of killed processes", "err", err)
		}
		next = leftoversEvery
	}
}

// recordDepth is how deep below the state directory ohgw's own files are: those of a
// conversation are in conversations/ID, and those of a chat in chats/XX.
const recordDepth = 2

// hasRecords reports whether all files in a directory of the state directory are ohgw's
// own. Those in workspaces belong to agents and users.
func hasRecords(dir string) bool {
	return dir != gate.Workspaces && strings.Count(dir, "/") < recordDepth
}
