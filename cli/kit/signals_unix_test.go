//go:build !windows

package kit

import (
	"os"
	"syscall"
	"testing"
)

func TestAChatCanHaveCtrlC(t *testing.T) {
	exits := make(chan int, 1)
	ctx, stop := WithSignals(t.Context(), func(code int) { exits <- code })
	defer stop()
	keys, giveBack := Interrupts(ctx)
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-keys
	}
	if ctx.Err() != nil {
		t.Error("the context ended, though somebody had the keys")
	}
	giveBack()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if len(exits) > 0 {
		t.Error("it exited at the first Ctrl-C")
	}
}
