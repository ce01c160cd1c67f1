// Package waittest is for tests that wait for programs and servers more than they compute.
// It runs more of them at the same time, and waits for what a test can only look at.
package waittest

import (
	"flag"
	"strconv"

	"go.uber.org/goleak"
)

// atOnce is how many of the parallel tests run at the same time. Go's default is the
// number of processors, which then have nothing to do most of the time.
const atOnce = 8

// Main runs goleak.VerifyTestMain with more parallel tests, unless the command line says
// how many.
func Main(m goleak.TestingM, options ...goleak.Option) {
	Parallel()
	goleak.VerifyTestMain(m, options...)
}

// Parallel sets the number of parallel tests. TestMain calls it before it runs them.
func Parallel() {
	const name = "test.parallel"
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == name })
	if chosen {
		return
	}
	if f := flag.Lookup(name); f != nil {
		if n, err := strconv.Atoi(f.Value.String()); err == nil && n < atOnce {
			_ = f.Value.Set(strconv.Itoa(atOnce)) // a number that is valid
		}
	}
}
