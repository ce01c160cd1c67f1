// Command program is ohgw with a clock that a test can move: the file that
// OHGW_SOAK_CLOCK names holds an offset such as "1h", which is read every 50 ms.
package main

import (
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/cli"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the program is a part of sandboxes, too
)

func main() {
	var offset atomic.Int64
	read := func() {
		text, err := os.ReadFile(os.Getenv("OHGW_SOAK_CLOCK"))
		if err != nil {
			return // no offset yet
		}
		if d, err := time.ParseDuration(strings.TrimSpace(string(text))); err == nil {
			offset.Store(int64(d))
		}
	}
	read()
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			read()
		}
	}()
	os.Exit(cli.Main(os.Args[1:], func(env *cli.Env) {
		env.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	}))
}
