// Package soak is the long test: many clients of every kind, tools that print,
// hang and crash, providers with habits, restarts, a disk that fills and a clock
// that jumps, all drawn from a seed. At its end the books must agree: no turn is
// lost, none is made twice, every conversation opens, and the process is as
// small as it was at the start.
//
// The tests have the build tags e2e and soak. scripts/soak runs them.
//
// Three books are kept. The clients know which answers they got whole. The
// scripted LLM knows which replies it finished. The ledger is a file to which
// each turn's command adds a line: it shows what was really done.
package soak
