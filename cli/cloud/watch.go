package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/setup/library"
)

// said is something that was said in a conversation.
type said struct {
	ID           string
	Time         time.Time
	Source, Text string
	Final        bool // Text is the result of a run

	Ran    bool // it is of a run
	Over   bool // the run has ended with it: V0 says so in an event
	Failed bool
}

// saidBy is what an event says.
func saidBy(e account.Event) said {
	return said{ID: e.ID, Time: e.Time, Source: e.Source, Text: e.Text, Final: e.Final}
}

// say prints something that was said, with --json as one line.
func (o *options) say(s said) error {
	if !o.JSON {
		return kit.WriteText(o.Stdout, s.Text+"\n")
	}
	kit.WriteJSONLine(o.Stdout, map[string]any{"id": s.ID, "time": kit.TimeOrNull(s.Time), "source": s.Source, "text": s.Text, "final": s.Final})
	return nil
}

// follower reads what is said in a conversation.
type follower interface {
	// next is what was said since the last call, and the status of the run; "" if it
	// is not known.
	next(ctx context.Context) (list []said, status event.Status, err error)
	pause() time.Duration
	close()
}

// follow starts a follower behind the events that are known already. The agent-server
// of a conversation that runs is asked itself: the server learns of events up to 30
// seconds late.
func (o *options) follow(ctx context.Context, acc accounts.Account, conv account.Conversation) (follower, error) {
	if conv.Version == account.V1 && conv.State == account.StateRunning {
		lib, err := o.live(ctx, acc, conv.ID)
		if err == nil {
			f := &liveFollower{lib: lib, id: uuidOf(conv.ID)}
			if err = f.skip(ctx); err == nil {
				return f, nil
			}
			f.close()
		}
		o.Detail("the agent-server of the conversation is not asked: %v", err)
	}
	log := acc.Log(conv.ID)
	_, err := log.Newest(ctx, 1, func(account.Event) bool { return true })
	return &storedFollower{acc: acc, log: log, conv: conv}, err
}

// mark returns a follower from now on. It returns nil if the user neither waits nor
// follows, or if the run cannot be followed.
func (o *sendOptions) mark(ctx context.Context, acc accounts.Account, conv account.Conversation, w waitOptions) follower {
	if !w.Wait && !w.Follow {
		return nil
	}
	if again, err := acc.Get(ctx, conv.ID); err == nil {
		conv = again // It may have been woken.
	}
	f, err := o.follow(ctx, acc, conv)
	if err != nil {
		return nil
	}
	return f
}

// watch follows a run from the beginning of its conversation.
func (o *options) watch(ctx context.Context, acc accounts.Account, conv account.Conversation, w waitOptions) error {
	if lib, err := o.live(ctx, acc, conv.ID); conv.Version == account.V1 && err == nil {
		return o.watchFrom(ctx, acc, conv, w, &liveFollower{lib: lib, id: uuidOf(conv.ID)})
	}
	return o.watchFrom(ctx, acc, conv, w, &storedFollower{acc: acc, log: acc.Log(conv.ID), conv: conv})
}

// patience is how long a run may stay unseen after its message.
const patience = time.Minute

// watchFrom prints what is said until the run ends.
func (o *options) watchFrom(ctx context.Context, acc accounts.Account, conv account.Conversation, w waitOptions, f follower) error {
	if f == nil {
		f = &storedFollower{acc: acc, log: acc.Log(conv.ID), conv: conv}
	}
	defer f.close()
	run := &runSeen{until: o.Now().Add(patience), ran: w.runs}
	for {
		list, status, err := f.next(ctx)
		if err != nil {
			return accounts.Fault(library.Fault(err), acc.Server)
		}
		for _, s := range list {
			run.see(s)
			if w.Follow && s.Source != event.SourceUser && s.Text != "" && (w.lines || !o.JSON) {
				if err := o.say(s); err != nil {
					return err
				}
			}
		}
		if run.ended(status, o.Now()) && !run.expectsReason(status) {
			return o.tellEnd(acc, conv, w, run, status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.pause()):
		}
	}
}

// runSeen is what was seen of a run.
type runSeen struct {
	answer string
	reason string // why it failed
	asked  bool   // for the reason, once more
	over   bool
	failed bool
	begun  bool
	ran    bool // something of the run was seen: a status may be that of the run before
	until  time.Time
}

func (r *runSeen) see(s said) {
	r.over = (r.over || s.Over) && s.Source != event.SourceUser
	r.ran = r.ran || s.Ran || s.Failed
	if s.Failed {
		r.failed, r.reason = true, s.Text
	}
	if s.Source == event.SourceAgent && s.Text != "" {
		r.answer, r.begun = s.Text, true
	}
}

// expectsReason reports whether a run has failed, and its reason is still to come: the
// event with it can follow the change of the status.
func (r *runSeen) expectsReason(status event.Status) bool {
	wait := status == event.Failed && r.reason == "" && !r.asked
	r.asked = r.asked || wait
	return wait
}

// ended reports whether the run is over. A short one is never seen running: an agent
// that is idle, and has said something, has ended it.
func (r *runSeen) ended(status event.Status, now time.Time) bool {
	switch status {
	case event.Running:
		r.ran = true
	case event.Finished, event.Failed, event.Stuck, event.Paused, event.Waiting:
		return r.ran || now.After(r.until)
	case event.Idle:
		return r.begun || now.After(r.until)
	}
	return r.over
}

// cause returns why a run failed; nil if no event gave a reason.
func (r *runSeen) cause() error {
	if r.reason == "" {
		return nil
	}
	return errors.New(r.reason)
}

// tellEnd prints the end of a run.
func (o *options) tellEnd(acc accounts.Account, conv account.Conversation, w waitOptions, r *runSeen, status event.Status) error {
	if status != "" && status != event.Idle && !r.ran {
		return fault.New("no run was seen for the message; the conversation is as it was before: "+string(status), "see what happened: ohgw conversations events "+conv.ID+" --last 20 --server "+shellword.Of(acc.Server.Name), nil)
	}
	if status == "" {
		status = event.Finished
		if r.failed {
			status = event.Failed
		}
	}
	var err error
	switch {
	case o.JSON && !w.lines:
		err = o.PrintJSON(describe(acc, conv, &endJSON{status, r.answer}))
	case !w.Follow && r.answer != "":
		err = kit.WriteText(o.Stdout, r.answer+"\n")
	}
	if err != nil {
		return err
	}
	switch status {
	case event.Failed, event.Stuck:
		return fault.New("the run ended with the status "+string(status), "see what happened: ohgw conversations events "+conv.ID+" --last 20 --server "+shellword.Of(acc.Server.Name), r.cause())
	case event.Waiting:
		o.Note("The agent waits for your confirmation at %s", conv.WebURL)
	case event.Paused:
		o.Note("The run was paused; a message continues it.")
	}
	return nil
}

// storedFollower reads what the server has stored.
type storedFollower struct {
	acc  accounts.Account
	log  *accounts.Log
	conv account.Conversation
}

func (f *storedFollower) pause() time.Duration { return accounts.LogPause }
func (f *storedFollower) close()               {}

// next reads the status first: what is said before a run ends is then in the list, as
// far as the server knows it.
func (f *storedFollower) next(ctx context.Context) ([]said, event.Status, error) {
	conv, err := f.acc.Get(ctx, f.conv.ID)
	if err != nil {
		return nil, "", err
	}
	var list []said
	err = f.log.Next(ctx, func(e account.Event) error {
		s := saidBy(e)
		s.Over, s.Failed = endOfV0(e)
		s.Failed = s.Failed || e.Kind == "ConversationErrorEvent"
		s.Ran = e.Source == event.SourceAgent && (e.Kind == (*event.Message)(nil).Kind() || e.Kind == (*event.Action)(nil).Kind())
		list = append(list, s)
		return nil
	})
	return list, conv.Exec, err
}

// endOfV0 reads the change of state by which V0 ends a run.
func endOfV0(e account.Event) (over, failed bool) {
	var v0 struct {
		Action string `json:"action"`
		Extras struct {
			State string `json:"agent_state"`
		} `json:"extras"`
	}
	if json.Unmarshal(e.Raw, &v0) != nil {
		return false, false
	}
	switch v0.Extras.State {
	case "finished", "awaiting_user_input", "paused", "stopped", "rejected", "awaiting_user_confirmation":
		return true, false
	case "error":
		return true, true
	}
	return v0.Action == "finish", false
}
