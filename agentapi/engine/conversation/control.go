package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Run starts a run; the error is agentapi.ErrBusy while one goes on. Actions that
// wait for confirmation are accepted. Where the agent has finished it does nothing
// but tell the state.
func (c *Conversation) Run(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		switch {
		case c.run.goesOn() || c.door.taking != nil && c.door.taking.run:
			return errRunning
		case c.branch.dir.State.Status == event.Finished:
			c.live.send(c.branch.snapshot())
		default:
			c.run.queue()
		}
		return nil
	})
}

var errRunning = &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; wait until it is done, or pause it first."}

// Suspend pauses the run like Pause. An idle conversation gets the status paused, too,
// until a client runs it.
func (c *Conversation) Suspend(ctx context.Context) error {
	return c.door.try(ctx, c.run.suspend)
}

// haltWait is how long Halt waits for the end of a run.
const haltWait = 5 * time.Second

// Halt interrupts the run, and waits a while for its end; without a run it is
// Suspend. It ends a goal, too.
func (c *Conversation) Halt(ctx context.Context) error {
	var over chan struct{}
	err := c.door.try(ctx, func() error {
		c.pursuit.leave()
		err := c.run.suspend()
		switch {
		case c.branch.dir.State.Status == event.Running:
			c.run.stop()
			over = c.run.running
		case c.run.beginning:
			over = c.run.running
		}
		return err
	})
	if err != nil || over == nil {
		return err
	}
	wait := time.NewTimer(haltWait)
	defer wait.Stop()
	select {
	case <-over:
	case <-wait.C:
	case <-c.door.gone:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// SetPolicy replaces the confirmation policy, which must be one that package
// confirm knows.
func (c *Conversation) SetPolicy(ctx context.Context, policy json.RawMessage) error {
	return c.door.try(ctx, func() error {
		return c.branch.replace(keyPolicy, policy)
	})
}

// SetAnalyzer replaces the security analyzer; with nil, actions are not rated.
func (c *Conversation) SetAnalyzer(ctx context.Context, analyzer json.RawMessage) error {
	return c.door.try(ctx, func() error {
		return c.branch.replace(keyAnalyzer, analyzer)
	})
}

// SetTags replaces the tags by what change makes of them. Shown is those of them that
// others are told of.
func (c *Conversation) SetTags(ctx context.Context, change func(now map[string]string) (all, shown map[string]string)) error {
	return c.door.try(ctx, func() error {
		return c.branch.tag(change)
	})
}

// Secrets are secrets that a conversation gets.
type Secrets struct {
	Values map[string]secretenv.Secret
	// Stored are the same as they are kept in the base state.
	Stored map[string]json.RawMessage
	// Added is told the registry of the base state before the next command can use
	// them. May be nil.
	Added func(registry json.RawMessage)
}

// AddSecrets adds secrets, or replaces those with the same names. The next command
// has them.
func (c *Conversation) AddSecrets(ctx context.Context, s Secrets) error {
	return c.door.try(ctx, func() error {
		registry, err := c.branch.storeSecrets(s.Stored)
		if err != nil {
			return err
		}
		c.cfg.Secrets.Set(s.Values)
		if s.Added != nil {
			s.Added(registry)
		}
		return nil
	})
}

// storeSecrets puts the sources of secrets into the state, and gives the registry that they
// are in now.
func (b *branch) storeSecrets(sources map[string]json.RawMessage) (json.RawMessage, error) {
	merged, err := mergeSecrets(b.dir.State.SecretRegistry, sources)
	if err != nil {
		return nil, &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: "The secrets of this conversation cannot be read; repair secret_registry in its base_state.json.",
		}
	}
	return merged, b.amend(func(s *store.State) { s.SecretRegistry = merged })
}

// mergeSecrets puts sources into a stored registry. Whatever else is in it stays.
func mergeSecrets(registry json.RawMessage, sources map[string]json.RawMessage) (json.RawMessage, error) {
	stored, known := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(registry) > 0 {
		if err := json.Unmarshal(registry, &stored); err != nil {
			return nil, fmt.Errorf("decode secrets: %w", err)
		}
	}
	if list := stored["secret_sources"]; len(list) > 0 {
		if err := json.Unmarshal(list, &known); err != nil {
			return nil, fmt.Errorf("decode secrets: %w", err)
		}
	}
	for name, source := range sources {
		known[name] = source
	}
	list, err := plainjson.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	stored["secret_sources"] = list
	return plainjson.Marshal(stored)
}

// Working reports whether the conversation has something to do: a run, or a goal
// that does not wait for a person.
func (c *Conversation) Working(ctx context.Context) (working bool, err error) {
	err = c.door.try(ctx, func() error { working = c.pursuit.busy() && c.branch.dir.State.Status != event.Waiting; return nil })
	return working, err
}

// confirm stores the policy of a mode, and an analyzer if it needs one and there
// is none.
func (b *branch) confirm(mode agentapi.Confirmation) error {
	if err := b.amend(func(s *store.State) {
		s.ConfirmationPolicy = mode.Policy()
		if mode == agentapi.ConfirmRisky && !agentapi.Rated(s.SecurityAnalyzer) {
			s.SecurityAnalyzer = json.RawMessage(agentapi.AnalyzerLLM)
		}
	}); err != nil {
		return err
	}
	return b.update(keyPolicy, b.dir.State.ConfirmationPolicy)
}

// queue asks for a run, with the model as its profile is then.
func (r *run) queue() {
	r.door.requestRun()
	r.stale = true
}

func (r *run) suspend() error {
	r.door.leaveUnanswered()
	switch {
	case r.beginning || r.branch.dir.State.Status == event.Running:
		r.pause()
	case r.branch.dir.State.Status == event.Idle:
		r.door.dropRequest()
		if err := r.branch.pause(false); err != nil {
			return r.branch.storageError(err)
		}
		return r.branch.changed()
	}
	return nil
}

// decide answers what waits for a confirmation.
func (r *run) decide(d agentapi.Decision) error {
	switch {
	case r.goesOn():
		return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; wait until it is done."}
	case r.branch.dir.State.Status != event.Waiting:
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Nothing in this conversation waits for a decision.", Err: agentapi.ErrNothingWaits}
	case d.Accept:
		r.purse.LimitBy(d.Meter)
		r.door.requestRun()
		return nil
	}
	reason := d.Reason
	if reason == "" {
		reason = defaultReason
	}
	for _, e := range slices.Clone(r.branch.open) {
		if err := r.branch.reject(e, reason, "user"); err != nil {
			return r.branch.storageError(err)
		}
	}
	if err := r.branch.setStatus(event.Idle); err != nil {
		return r.branch.storageError(err)
	}
	return r.branch.storageError(r.branch.save(durable))
}
