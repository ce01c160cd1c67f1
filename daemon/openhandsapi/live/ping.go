package live

import (
	"context"
	"time"
)

// ping asks again and again whether the client is there. Its error is the end.
func (c *client) ping(ctx context.Context) error {
	every := time.NewTicker(c.server.cfg.Ping)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.server.cfg.Ping)
		err := c.conn.Ping(asked)
		cancel()
		if err != nil {
			return errGone
		}
	}
}
