package run

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/toll"
	"github.com/ohgw/ohgw/internal/rescue"
)

// form gives the answer of a turn the form that its request asks for. The agent's
// own answer stays in its conversation. What ends a run ends this, too; its
// result then has no answer in the form.
func (j *job) form(ctx context.Context, res *turn.Result) error {
	if j.req.Form == nil || res.Outcome != turn.Finished {
		return nil
	}
	err := rescue.Do(func() error { return j.req.Form(ctx, res, j.publish) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		res.Outcome = turn.Interrupted
		toll.Settle(cause, res)
		return stoppedBy(cause, true, res.Outcome, nil)
	}
	return err
}
