package conversation

import (
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/batch"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// notRun is the result of a call that had no sandbox.
const notRun = "This was not run: the sandbox could not be started."

// unboxed says that err is that of a sandbox which could not be started.
func unboxed(err error) bool {
	_, ok := errors.AsType[*sandbox.UnavailableError](err)
	return ok
}

// sandboxError ends the run if one of its calls had no sandbox; nil otherwise.
func sandboxError(results []batch.Result) error {
	for _, r := range results {
		if unboxed(r.Err) {
			return noSandbox(r.Err)
		}
	}
	return nil
}

func noSandbox(err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrSandbox, Msg: "The sandbox of the agent cannot be started; nothing was done outside of it.", Err: err, InProcess: true,
	}
}
