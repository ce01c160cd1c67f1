package enginetest

import "github.com/ohgw/ohgw/agentapi/engine/store"

// Disk is the real disk, but without the waits for it. What is written is there, also after
// the death of the process: only a machine that loses its power would lose it.
type Disk struct{ store.Disk }

// Write does not wait for the disk.
func (d Disk) Write(path string, data []byte, _ bool) error { return d.Disk.Write(path, data, false) }

// Sync does nothing.
func (Disk) Sync([]string) error { return nil }
