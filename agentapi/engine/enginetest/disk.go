package enginetest

import (
	"errors"
	"os"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// Disk is the real disk, but without the waits for it. What is written is there, also after
// the death of the process: only a machine that loses its power would lose it.
type Disk struct{ store.Disk }

// Write does not wait for the disk.
func (d Disk) Write(path string, data []byte, _ bool) error { return d.Disk.Write(path, data, false) }

// Sync does nothing.
func (Disk) Sync([]string) error { return nil }

// WriteAt does not wait for the disk.
func (Disk) WriteAt(path string, data []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

// SyncAll does nothing.
func (Disk) SyncAll(string) error { return nil }
