package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// A sandbox that runs may be too busy to answer. What it has not begun is asked of it
// so often, with a pause in between; an attempt may take 10 seconds.
const (
	slowTries = 4
	slowPause = 2 * time.Second
)

// errSlow marks the error of a sandbox that runs and does not answer. Nothing was
// started.
var errSlow = errors.New("the sandbox is slow")

// slow marks an error that says that the sandbox does not answer.
func slow(err error) error {
	if errors.Is(err, agentapi.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

// patiently does f again while the sandbox is slow.
func patiently(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if !errors.Is(err, errSlow) || try == slowTries {
			return err
		}
		if stopped := transport.Sleep(ctx, slowPause); stopped != nil {
			return stopped //nolint:wrapcheck // it is ctx's own
		}
	}
}
