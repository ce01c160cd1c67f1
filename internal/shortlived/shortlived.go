// Package shortlived sets how much memory a program may fill before its garbage is
// collected: one that ends soon, until it says that it stays.
package shortlived

import "runtime/debug"

// brief is how much a heap of 4 MB may grow, in percent. Most commands end before their
// first collection then, which takes a sixth of the processor time of their start.
const brief = 400

// init makes the first collection late. In main it would be too late: libraries fill
// 3 MB before. Go initialises packages in the order of their paths: this one after
// internal/sandbox/helperinit, whose processes stay small, and before those libraries.
func init() { debug.SetGCPercent(brief) }

// Stay says that the program stays: its heap may grow by percent of what is in use.
func Stay(percent int) { debug.SetGCPercent(percent) }
