package sandbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The limit of a program does not contain what it waits for a processor.
func TestABusyMachineDoesNotUseUpALimit(t *testing.T) {
	t.Parallel()
	const limit = 15 * time.Second
	for name, c := range map[string]struct {
		busy func(second int) bool
		used time.Duration // in each second
		want time.Duration // when the program is ended; 0: it is not
	}{
		"it hangs":                      {func(int) bool { return false }, 0, limit},
		"it polls":                      {func(second int) bool { return second%3 == 0 }, time.Millisecond, 22 * time.Second},
		"it waits for a processor":      {func(int) bool { return true }, 10 * time.Millisecond, 0},
		"it computes for ever":          {func(int) bool { return true }, time.Second, limit},
		"it computes on a busy machine": {func(int) bool { return true }, time.Second / 4, 4 * limit},
		"it works and then hangs":       {func(second int) bool { return second <= 30 }, 0, 30*time.Second + limit},
		"it is idle for a short time":   {func(second int) bool { return second > 10 }, 0, 0},
		"it is idle again and again":    {func(second int) bool { return second%10 != 0 }, 0, 150 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Millisecond)
				defer cancel()
				began, second := time.Now(), 0
				ended := watch(ctx, limit, func() (bool, time.Duration) {
					second++
					return c.busy(second), time.Duration(second) * c.used
				})
				if took := time.Since(began); ended != (c.want > 0) || ended && took != c.want {
					t.Errorf("ended: %v, after %v; want it after %v", ended, took, c.want)
				}
			})
		})
	}
}
