// Package boxfiles is access to files with the rights of a box: a program inside of
// the box does what a client outside asks for.
//
// The program is ohgw itself, started in the box as one of its programs. It runs
// while the files are in use and uses them in the way of [sandbox.Unconfined] and
// [sandbox.Confined]. Invariants: no path is looked up outside of the box; an answer
// has a limited size and is checked, because programs in the box can change it;
// an error keeps its meaning.
package boxfiles

import "path/filepath"

// Name is the name under which ohgw is the program inside.
const Name = "ohgw-files"

// ownProgram is the path of ohgw inside, which is descriptor 3: its path outside may
// be hidden there.
const ownProgram = "/proc/self/fd/3"

// Wanted reports whether this process is the program inside. Whoever runs that by
// hand can do no more than before: the program has no rights of its own.
func Wanted(args []string) bool {
	return len(args) == 2 && filepath.ToSlash(args[0]) == ownProgram && args[1] == Name
}
