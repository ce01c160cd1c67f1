package turn

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
)

// errWithdrawn ends a turn whose run was given up while it waited for room. Its
// message is in the log.
var errWithdrawn = errors.New("the run was withdrawn")

// wait starts a run that there was no room for, once there is. It gives up with
// ctx, where a start outlives ctx: nothing was started that must be interrupted.
func (d *driver) wait(ctx, life context.Context, full *agentapi.FullError) error {
	d.mu.Lock()
	d.started = full.Stored
	d.mu.Unlock()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	d.emit(Update{Kind: Queue, Text: agentapi.WaitsForRoom})
	defer d.emit(Update{Kind: Queue})
	err := full.Again(limited, nil)
	if full.Stored && err != nil && errors.Is(err, limited.Err()) && life.Err() == nil {
		d.mu.Lock()
		d.withdrawn = true
		d.mu.Unlock()
		return nil
	}
	return err
}
