package conversation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/toolbox"
	"github.com/ohgw/ohgw/internal/fault"
)

// ready has everything at hand that a run needs: the workspace, the tools, the
// model as its profile is now.
func (r *run) ready(ctx context.Context) error {
	dir := r.branch.dir.State.Workspace.WorkingDir
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &agentapi.Error{
			Kind: agentapi.ErrRefused,
			Msg:  "The workspace of this conversation no longer exists; create its directory again, or start a new conversation.",
			Err:  errors.Join(fmt.Errorf("the workspace %s is not a directory", dir), err),
		}
	}
	var err error
	if left := r.await(ctx, func(j *job) { err = r.prepare(j) }); left != nil {
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The conversation's tools do not start in time; try again.", Err: left}
	}
	return err
}

// prepare runs outside the conversation's goroutine, which waits for it.
func (r *run) prepare(j *job) error {
	model, err := r.cfg.Models.Model(j.ctx, r.agent.choice)
	if err != nil {
		return err
	}
	if s, ok := model.(llm.Sizer); ok {
		s.FindSize(j.ctx)
	}
	j.post(func() { r.agent.setModel(model) })
	if r.agent.tools != nil {
		return nil
	}
	tools, err := r.cfg.Tools(j.ctx, r.host)
	if err != nil {
		return toolsError(err)
	}
	box, err := toolbox.New(tools, r.cfg.Schemas, model.Info().Vision)
	if err != nil || !j.call(func() { r.agent.equip(box) }) {
		return errors.Join(err, toolbox.Close(tools))
	}
	return nil
}

// toolsError explains why the tools could not be made, without the paths of files. The
// messages of a fault.Error come without its cause, which may be the output of an
// unknown program.
func toolsError(err error) error {
	switch {
	case failure.Unboxed(err):
		return failure.NoSandbox(err)
	case errors.Is(err, agentapi.ErrSandbox):
		return err
	}
	why := err.Error()
	if e, ok := errors.AsType[syscall.Errno](err); ok { // the rest is the place of a file
		why = e.Error() + "; the log of ohgw serve names the file"
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		why = f.Msg + "; " + f.Hint
	}
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent's tools cannot be started: " + why + ".", Err: err}
}

// awaitLoaded waits until the server of the model has loaded it, or until an interrupt.
// Only then the server reports the size of the context, which decides what goes into the
// prompt.
func (r *run) awaitLoaded() {
	if s, ok := r.branch.model.(llm.Sizer); ok {
		_ = r.await(context.Background(), func(j *job) { s.AwaitLoaded(j.ctx, r.announcing(j, nil)) }) // the call says what is wrong
	}
}
