// Package pause waits, no longer than a context lasts.
package pause

import (
	"context"
	"time"
)

// For waits for d. Its error is ctx's where that ends before.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
