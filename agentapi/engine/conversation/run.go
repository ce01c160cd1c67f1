package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/asks"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/engine/spending"
	"github.com/ohgw/ohgw/agentapi/engine/stuck"
	"github.com/ohgw/ohgw/agentapi/event"
)

// run is what goes on in a conversation: the steps until the agent has answered, and
// whatever else takes time. It has at most one job at a time, and takes commands while
// it waits for it.
type run struct {
	cfg     *Config
	host    Host // for tools
	door    *door
	live    *live
	shelf   *shelf
	notices *notices
	lease   *lease
	branch  *branch
	agent   *agent
	asks    *asks.Set
	purse   *spending.Purse // what the run may take

	job     *job
	running chan struct{} // closed at the end of the run; nil: there was none

	phase phase

	// These are not phases: each may be true or false in all of them.
	beginning bool // it was asked for, and its status is still the one before
	saved     bool // the base state says that this run runs
	session   bool // the hooks for the beginning have run
	stale     bool // the model is to be asked for again when a run begins

	greeting string            // what the hooks for the beginning say, until the model is told
	added    map[string]string // what hooks say to the model with the results of actions, by their ids
	nudged   string            // the event for which the agent was nudged
	refused  int               // answers in a row that could not be used
	cuts     int               // answers in a row that were cut off before they could be used
	tooLong  int               // calls in a row that exceeded the context
	shown    strings.Builder   // what was published of an answer that is not in the log
	item     string            // the id of the event for what the model writes; "" as long as it has written nothing
	attempt  int               // of the model's at that text, from 1; 0 before its first delta
	order    int               // of the attempt's next delta
}

// outcome is what a step leaves to do.
type outcome int

const (
	more     outcome = iota // another step
	finished                // the agent has answered
	waiting                 // actions wait for a person
)

// toEnd carries out one run: it takes steps until the agent has answered or something
// ends it. Then it saves the state and publishes it to all streams.
func (r *run) toEnd() {
	r.nudged, r.refused, r.tooLong, r.cuts = "", 0, 0, 0
	r.purse.Begin(r.cfg.MaxRun)
	r.running = make(chan struct{})
	defer close(r.running)
	r.door.dropRequest()
	r.live.beginRun()
	defer r.live.endRun()
	r.beginning = true
	err := r.begin()
	r.beginning = false
	switch {
	case err != nil:
	case r.phase == pausing:
		err = r.branch.pause(false)
	default:
		err = r.loop()
	}
	r.purse.End()
	if err != nil && r.door.lost == nil {
		r.failed(err)
	}
	if r.door.lost != nil {
		return
	}
	// If the process dies, this state survives. If the machine dies, the log survives, and
	// it has the answer. So the run need not wait for the disk once more.
	if err = r.branch.save(lazily); err != nil {
		r.cfg.Log.Error("save conversation", "conversation", r.branch.id, "err", err)
	}
	r.live.endRun() // what comes now is for the next run
	r.branch.publishState()
}

// begin says that the run runs. The log has that, which is enough for us until
// there is an action: see execute.
func (r *run) begin() error {
	if r.branch.model == nil || r.agent.tools == nil || r.stale {
		if err := r.ready(context.Background()); err != nil {
			return err
		}
	}
	r.saved, r.stale = false, false
	if err := errors.Join(r.branch.answerOpen(), r.agent.introduce(), r.beginSession()); err != nil {
		return err
	}
	if err := r.branch.setStatus(event.Running); err != nil {
		return err
	}
	r.awaitLoaded()
	r.agent.fitPrompt()
	return nil
}

func (r *run) loop() error {
	if replied, err := r.branch.finishReplied(); replied || err != nil {
		return err
	}
	if err := overBudget(r.purse.Reached()); err != nil {
		return err // a token, or a parent, may have nothing left
	}
	for iteration := 1; ; iteration++ {
		if stop, err := r.detectStuck(); stop || err != nil {
			return err
		}
		was := r.branch.stats.Calls()
		next, err := r.step()
		if r.phase == stopping {
			return errors.Join(r.interrupted(), r.branch.updateStats(was))
		}
		if err != nil {
			return errors.Join(err, r.branch.updateStats(was))
		}
		over, err := r.between(next, &iteration)
		if err := errors.Join(err, r.branch.updateStats(was)); over || err != nil {
			return err
		}
		if err := r.saveRunning(); err != nil {
			return err
		}
	}
}

// saveRunning leaves a base state to a process that dies that says so: others
// would run actions again that have no result, were it not for a run that died.
func (r *run) saveRunning() error {
	r.saved = true
	return r.branch.save(lazily)
}

// between decides what follows a step. Messages that came during it are
// answered by this run.
func (r *run) between(next outcome, iteration *int) (over bool, err error) {
	switch {
	case next == waiting: // also after a pause: nothing runs, and nothing is approved
		r.door.refuseInbox()
		r.takeUnanswered()
		return true, r.branch.setStatus(event.Waiting)
	case r.phase == pausing:
		return true, r.branch.pause(next == finished)
	}
	if took, err := r.takeMeanwhile(); took || err != nil {
		*iteration = 0
		return false, err
	}
	if next == finished {
		return r.finish(*iteration)
	}
	err = r.limited(*iteration)
	return err != nil, err
}

// goesOn reports whether there is a run, or one was asked for.
func (r *run) goesOn() bool {
	return r.branch.dir.State.Status == event.Running || r.beginning || r.door.wanted
}

// finish ends a run whose agent has answered, unless a hook makes it go on. At the
// last step allowed no hook is asked.
func (r *run) finish(iteration int) (over bool, err error) {
	if limit := r.branch.dir.State.MaxIterations; limit <= 0 || iteration < limit {
		if goOn, err := r.mustGoOn(); goOn || err != nil {
			return false, err
		}
	}
	return true, r.branch.setStatus(event.Finished)
}

// limited returns the error of the limit that a run has reached; nil below all limits.
func (r *run) limited(iteration int) error {
	if limit := r.cfg.MaxCost; limit > 0 && r.branch.stats.Cost() >= limit {
		return &failure.LimitError{Code: agentapi.CodeBudget, Detail: fmt.Sprintf("The conversation has cost %.2f of the %.2f US dollars allowed; raise the limit to continue.", r.branch.stats.Cost(), limit)}
	}
	if err := overBudget(r.purse.Reached()); err != nil {
		return err
	}
	if limit := r.branch.dir.State.MaxIterations; limit > 0 && iteration >= limit {
		return &failure.LimitError{Code: "MaxIterationsReached", Detail: fmt.Sprintf("The agent has taken the %d steps allowed in one run; send another message to continue.", limit)}
	}
	return nil
}

// overBudget returns the error of a limit of money or tokens; nil without a reason.
func overBudget(why string) error {
	if why == "" {
		return nil
	}
	return &failure.LimitError{Code: agentapi.CodeBudget, Detail: why}
}

// takeMeanwhile appends the messages that came during the step.
func (r *run) takeMeanwhile() (took bool, err error) {
	for len(r.door.inbox) > 0 {
		d := r.door.next()
		if d.ctx.Err() != nil {
			d.taken <- d.ctx.Err()
			continue
		}
		if err := r.tooLarge(d); err != nil {
			d.taken <- err
			continue
		}
		err := r.take(d)
		d.taken <- r.branch.storageError(err)
		if err != nil {
			return took, err
		}
		took = true
	}
	return took, nil
}

// takeUnanswered takes the messages that came before the run ended in a way in
// which nothing answers them.
func (r *run) takeUnanswered() {
	for len(r.door.inbox) > 0 { // taking one runs hooks, and others come meanwhile
		d := r.door.next()
		d.taken <- r.branch.storageError(r.take(d))
	}
}

// failed ends a run with an error. Where even that cannot be stored, it is
// published all the same: whoever waits for an answer must hear of it.
func (r *run) failed(err error) {
	r.cfg.Log.Warn("run failed", "conversation", r.branch.id, "err", r.cfg.Secrets.Mask(err.Error()))
	body := failure.Event(err)
	if err := r.keepShown(); err != nil {
		r.cfg.Log.Warn("keep what was shown of an answer", "conversation", r.branch.id, "err", err)
	}
	status := r.branch.setStatus(event.Failed)
	_, told := r.branch.append(event.SourceEnvironment, body, durable)
	if status != nil || told != nil {
		r.live.publish(event.SourceEnvironment, masked.Body(r.cfg.Secrets, body))
	}
}

// interrupted ends a run that a client interrupted.
func (r *run) interrupted() error {
	r.door.refuseInbox()
	if r.door.lost != nil {
		return nil //nolint:nilerr // the log belongs to another process, and nothing more is written to it
	}
	if err := errors.Join(r.branch.repair(stopped), r.keepShown()); err != nil {
		return err
	}
	if err := r.branch.setStatus(event.Paused); err != nil {
		return err
	}
	if _, err := r.branch.append(event.SourceUser, &event.Interrupt{}, durable); err != nil {
		return err
	}
	r.takeUnanswered()
	return nil
}

// detectStuck looks for an agent that goes round in circles.
func (r *run) detectStuck() (stop bool, err error) {
	if !r.branch.dir.State.StuckDetection {
		return false, nil
	}
	verdict, cause := r.branch.trace.Verdict()
	switch {
	case verdict == stuck.Fine || verdict != stuck.Stuck && cause == r.nudged:
		return false, nil
	case verdict == stuck.Stuck:
		return true, r.branch.setStatus(event.Stuck)
	}
	r.nudged = cause
	if verdict == stuck.Repeat {
		return false, r.branch.notifyAgent(repeatText)
	}
	return false, r.branch.notifyAgent(nudgeText)
}

const repeatText = "None of your last 50 calls was new. If you wait for something, wait longer in one call. " +
	"If it does not come, do something else, or say what stands in the way: the run ends after 100 such calls."

const nudgeText = "This call has failed three times in the same way. Do not repeat it as it is: " +
	"read the error, then change the call, use another tool, or say what stands in the way."
