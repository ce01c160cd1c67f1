// Package crashtest shows what a process that is killed leaves behind. It runs a program
// with the system's tracer and stops it after each call that changes a file: what is in
// its directories then is what it leaves if it is killed there.
//
// A program changes files in one call at a time while it is traced, so that each state
// is one which a kill can leave. It does not show what a machine loses that loses its
// power. It works on Linux and amd64 only; see [Available].
package crashtest
