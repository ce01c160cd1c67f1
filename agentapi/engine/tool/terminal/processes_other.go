//go:build unix && !linux && !darwin

package terminal

import "time"

// scanProcesses would be all processes. Without them, only those in the shell's
// own group and in the foreground are ended with it, and those that end when
// their terminal goes away.
func scanProcesses() []process { return nil }

func scanTags() map[int]string { return nil }

func endsByItself(int) bool { return false }

// activity would tell how long a process has had the processor, and whether it waits for
// it; this system does not tell.
func activity(int) (used time.Duration, held bool) { return 0, false }
