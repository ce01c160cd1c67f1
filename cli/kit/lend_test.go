package kit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Ctrl-C that was meant for another program ends nothing, also when it arrives just
// after the end of that program.
func TestAnInterruptThatComesLateIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := &interruptKeys{}
		ctx := context.WithValue(t.Context(), keysOf{}, keys)
		first := LendTerminal(ctx)
		first()
		time.Sleep(late / 2)
		if !keys.take() {
			t.Error("it counts while it may be late")
		}
		second := LendTerminal(ctx)
		time.Sleep(late)
		synctest.Wait()
		if !keys.take() {
			t.Error("it counts while another program has the terminal again")
		}
		second()
		time.Sleep(late + 1)
		synctest.Wait()
		if keys.take() {
			t.Error("it never counts again")
		}
	})
}
