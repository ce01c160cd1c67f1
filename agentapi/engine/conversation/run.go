package conversation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/stuck"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/fault"
)

// ready has everything at hand that a run needs: the workspace, the tools, the
// model as its profile is now.
func (c *Conversation) ready(ctx context.Context) error {
	dir := c.branch.dir.State.Workspace.WorkingDir
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &agentapi.Error{
			Kind: agentapi.ErrRefused,
			Msg:  "The workspace of this conversation no longer exists; create its directory again, or start a new conversation.",
			Err:  errors.Join(fmt.Errorf("the workspace %s is not a directory", dir), err),
		}
	}
	var err error
	if left := c.await(ctx, func(j *job) { err = c.prepare(j) }); left != nil {
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The conversation's tools do not start in time; try again.", Err: left}
	}
	return err
}

// prepare runs outside the conversation's goroutine, which waits for it.
func (c *Conversation) prepare(j *job) error {
	model, err := c.cfg.Models.Model(j.ctx, c.agent.choice)
	if err != nil {
		return err
	}
	if s, ok := model.(llm.Sizer); ok {
		s.FindSize(j.ctx)
	}
	j.post(func() { c.agent.setModel(model) })
	if c.agent.tools != nil {
		return nil
	}
	tools, err := c.cfg.Tools(j.ctx, c)
	if err != nil {
		return toolsError(err)
	}
	box, err := newToolbox(tools, c.cfg.Schemas)
	if err == nil {
		box.vision = model.Info().Vision
	}
	if err != nil || !j.call(func() { c.agent.tools = box }) {
		return errors.Join(err, closeAll(tools))
	}
	return nil
}

// toolsError is why tools could not be made, without the places of files. Their
// own words for people come without the cause, which may be the output of a
// stranger's program.
func toolsError(err error) error {
	switch {
	case unboxed(err):
		return noSandbox(err)
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

// outcome is what a step leaves to do.
type outcome int

const (
	more     outcome = iota // another step
	finished                // the agent has answered
	waiting                 // actions wait for a person
)

// run is one run: steps until the agent has answered or something ends it. At
// its end the state is on the disk and everybody knows it.
func (c *Conversation) run() {
	c.pausing, c.door.wanted, c.nudged, c.refused, c.tooLong, c.cuts = false, false, "", 0, 0, 0
	c.costBefore = c.branch.stats.cost()
	c.running = make(chan struct{})
	defer close(c.running)
	for _, b := range c.door.blocks.begin() {
		c.branch.publishBlock(b)
	}
	defer c.door.blocks.end()
	err := c.begin()
	if err == nil {
		err = c.loop()
	}
	if err != nil && c.door.lost == nil {
		c.failed(err)
	}
	if c.door.lost != nil {
		return
	}
	// A process that dies leaves this, a machine that does the log, which has
	// the answer. So nobody has to wait for the disk once more.
	if err = c.branch.save(lazily); err != nil {
		c.cfg.Log.Error("save conversation", "conversation", c.branch.id, "err", err)
	}
	c.door.blocks.end() // what comes now is for the next run
	c.door.watchers.publish(c.branch.snapshot())
	c.branch.settle.Reset(settleAfter)
}

// begin says that the run runs. The log has that, which is enough for us until
// there is an action: see execute.
func (c *Conversation) begin() error {
	if c.branch.model == nil || c.agent.tools == nil || c.agent.stale {
		if err := c.ready(context.Background()); err != nil {
			return err
		}
	}
	c.saved, c.agent.stale = false, false
	if err := errors.Join(c.branch.answerOpen(), c.agent.introduce(), c.beginSession()); err != nil {
		return err
	}
	if err := c.branch.setStatus(event.Running); err != nil {
		return err
	}
	c.awaitLoaded()
	c.agent.fitPrompt()
	return nil
}

// awaitLoaded waits while the server of the model loads it, which an interrupt ends. Only
// then it tells the size of its context, and that decides what the model is told.
func (c *Conversation) awaitLoaded() {
	if s, ok := c.branch.model.(llm.Sizer); ok {
		_ = c.await(context.Background(), func(j *job) { s.AwaitLoaded(j.ctx, c.announcing(j, nil)) }) // the call says what is wrong
	}
}

func (c *Conversation) loop() error {
	if c.branch.replied {
		c.branch.replied = false
		return c.branch.setStatus(event.Finished)
	}
	for iteration := 1; ; iteration++ {
		if stop, err := c.detectStuck(); stop || err != nil {
			return err
		}
		was := c.branch.stats.calls
		next, err := c.step()
		if c.stopping {
			return errors.Join(c.interrupted(), c.branch.updateStats(was))
		}
		if err != nil {
			return errors.Join(err, c.branch.updateStats(was))
		}
		over, err := c.between(next, &iteration)
		if err := errors.Join(err, c.branch.updateStats(was)); over || err != nil {
			return err
		}
		if err := c.saveRunning(); err != nil {
			return err
		}
	}
}

// saveRunning leaves a base state to a process that dies that says so: others
// would run actions again that have no result, were it not for a run that died.
func (c *Conversation) saveRunning() error {
	c.saved = true
	return c.branch.save(lazily)
}

// between decides what follows a step. Messages that came during it are
// answered by this run.
func (c *Conversation) between(next outcome, iteration *int) (over bool, err error) {
	switch {
	case next == waiting: // also for somebody who pauses: nothing runs, and nothing is approved
		c.door.refuseInbox()
		c.takeUnanswered()
		return true, c.branch.setStatus(event.Waiting)
	case c.pausing:
		c.branch.replied = next == finished
		if err := c.branch.setStatus(event.Paused); err != nil {
			return true, err
		}
		_, err := c.branch.append(event.SourceUser, &event.Pause{}, durable)
		return true, err
	}
	if took, err := c.takeMeanwhile(); took || err != nil {
		*iteration = 0
		return false, err
	}
	if next == finished {
		return c.finish(*iteration)
	}
	err = c.limited(*iteration)
	return err != nil, err
}

// finish ends a run whose agent has answered, unless a hook makes it go on. At the
// last step allowed no hook is asked.
func (c *Conversation) finish(iteration int) (over bool, err error) {
	if limit := c.branch.dir.State.MaxIterations; limit <= 0 || iteration < limit {
		if goOn, err := c.mustGoOn(); goOn || err != nil {
			return false, err
		}
	}
	return true, c.branch.setStatus(event.Finished)
}

// limited is the limit that a run has reached; nil for none.
func (c *Conversation) limited(iteration int) error {
	if limit := c.cfg.MaxCost; limit > 0 && c.branch.stats.cost() >= limit {
		return &limitError{"MaxBudgetReached", fmt.Sprintf("The conversation has cost %.2f of the %.2f US dollars allowed; raise the limit to continue.", c.branch.stats.cost(), limit)}
	}
	if limit, spent := c.cfg.MaxRunCost, c.branch.stats.cost()-c.costBefore; limit > 0 && spent >= limit {
		return &limitError{"MaxBudgetReached", fmt.Sprintf("The run has cost %.2f of the %.2f US dollars that its agent may spend in one run; send another message to continue.", spent, limit)}
	}
	if limit := c.branch.dir.State.MaxIterations; limit > 0 && iteration >= limit {
		return &limitError{"MaxIterationsReached", fmt.Sprintf("The agent has taken the %d steps allowed in one run; send another message to continue.", limit)}
	}
	return nil
}

// takeMeanwhile appends the messages that came during the step.
func (c *Conversation) takeMeanwhile() (took bool, err error) {
	for len(c.door.inbox) > 0 {
		d := c.door.next()
		if d.ctx.Err() != nil {
			d.taken <- d.ctx.Err()
			continue
		}
		if err := c.tooLarge(d); err != nil {
			d.taken <- err
			continue
		}
		err := c.take(d)
		d.taken <- c.branch.storageError(err)
		if err != nil {
			return took, err
		}
		took = true
	}
	return took, nil
}

// takeUnanswered takes the messages that came before the run ended in a way in
// which nothing answers them.
func (c *Conversation) takeUnanswered() {
	for len(c.door.inbox) > 0 { // taking one runs hooks, and others come meanwhile
		d := c.door.next()
		d.taken <- c.branch.storageError(c.take(d))
	}
}

// interrupted ends a run that somebody interrupted.
func (c *Conversation) interrupted() error {
	c.door.refuseInbox()
	if c.door.lost != nil {
		return nil //nolint:nilerr // there is nobody to tell any more
	}
	if err := errors.Join(c.branch.repair(stopped), c.keepShown()); err != nil {
		return err
	}
	if err := c.branch.setStatus(event.Paused); err != nil {
		return err
	}
	if _, err := c.branch.append(event.SourceUser, &event.Interrupt{}, durable); err != nil {
		return err
	}
	c.takeUnanswered()
	return nil
}

// limitError is a limit of the run that was reached.
type limitError struct{ code, detail string }

func (e *limitError) Error() string { return e.code + ": " + e.detail }

// failed ends a run with an error. Where even that cannot be stored, it is
// published all the same: whoever waits for an answer must hear of it.
func (c *Conversation) failed(err error) {
	c.cfg.Log.Warn("run failed", "conversation", c.branch.id, "err", c.cfg.Secrets.Mask(err.Error()))
	body := conversationError(err)
	if err := c.keepShown(); err != nil {
		c.cfg.Log.Warn("keep what was shown of an answer", "conversation", c.branch.id, "err", err)
	}
	status := c.branch.setStatus(event.Failed)
	_, told := c.branch.append(event.SourceEnvironment, body, durable)
	if status != nil || told != nil {
		c.door.watchers.publish(c.branch.unstored(event.SourceEnvironment, masked(c.cfg.Secrets, body)))
	}
}

// invalidKey is the whole detail in OpenHands, by which clients know a refused key.
const invalidKey = "Your LLM API key appears to be invalid or has expired."

func conversationError(err error) *event.ConversationError {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		class, detail := e.Classification, e.Detail
		if e.Code == llm.CodeAuthentication && e.Status != 0 {
			detail = invalidKey + " " + detail
		}
		return &event.ConversationError{Code: e.Code, Detail: detail, Classification: &class}
	}
	class := &event.Classification{Kind: "internal", UserAction: "none"}
	if e, ok := errors.AsType[*limitError](err); ok {
		class.Kind = "agent_action"
		return &event.ConversationError{Code: e.code, Detail: e.detail, Classification: class}
	}
	if e, ok := errors.AsType[*agentapi.Error](err); ok {
		class.Kind, class.UserAction = "config", "settings"
		if errors.Is(e, agentapi.ErrSandbox) {
			return &event.ConversationError{Code: agentapi.CodeSandbox, Detail: e.Msg, Classification: class}
		}
		return &event.ConversationError{Code: "ConversationRunError", Detail: e.Msg, Classification: class}
	}
	return &event.ConversationError{Code: "ConversationRunError", Detail: internalDetail(err), Classification: class}
}

// internalDetail says what kept the engine from going on, without the places of
// files: who reads it may be far from this machine.
func internalDetail(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return "The conversation cannot be written to the disk of ohgw serve: " + e.Error() + ". Free disk space or make ohgw's state directory writable, then send another message."
	}
	return "The engine could not continue: " + err.Error()
}

// detectStuck looks for an agent that goes round in circles.
func (c *Conversation) detectStuck() (stop bool, err error) {
	if !c.branch.dir.State.StuckDetection {
		return false, nil
	}
	verdict, cause := c.branch.trace.Verdict()
	switch {
	case verdict == stuck.Fine || verdict != stuck.Stuck && cause == c.nudged:
		return false, nil
	case verdict == stuck.Stuck:
		return true, c.branch.setStatus(event.Stuck)
	}
	c.nudged = cause
	if verdict == stuck.Repeat {
		return false, c.branch.notifyAgent(repeatText)
	}
	return false, c.branch.notifyAgent(nudgeText)
}

const repeatText = "None of your last 50 calls was new. If you wait for something, wait longer in one call. " +
	"If it does not come, do something else, or say what stands in the way: the run ends after 100 such calls."

const nudgeText = "This call has failed three times in the same way. Do not repeat it as it is: " +
	"read the error, then change the call, use another tool, or say what stands in the way."
