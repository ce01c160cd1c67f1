//go:build unix

package terminal

import "slices"

// process is what is known of a process of this machine.
type process struct{ pid, parent, session int }

// descendants are the processes of the session that the shell leads, and those
// that it or they started and that are still below it. The shell itself is not
// among them.
func descendants(shell int) []int {
	all := processes()
	found := []int{shell}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if p.pid != shell && !slices.Contains(found, p.pid) && (p.session == shell || slices.Contains(found, p.parent)) {
				found = append(found, p.pid)
				grown = true
			}
		}
	}
	return found[1:]
}
