// Package pattern has regular expressions for package variables. It compiles an
// expression when it is first used: most commands use few of the program's
// expressions, and compiling all of them takes a seventh of the time of a start.
//
// A mistake in an expression is found by tools/repocheck, not at the start.
package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that compiles expr at its first call. It panics, as
// [regexp.MustCompile] does, if expr is not a regular expression.
func Of(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
