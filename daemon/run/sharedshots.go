package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

const (
	// dueAgain is when a gateway looks again for one-shots whose time has come.
	dueAgain = 5 * time.Second
	// maxSharedRemovals is how many a gateway removes at the same time: each holds a
	// connection to what the gateways share.
	maxSharedRemovals = 2
	// maxTries is after how many failures a one-shot is kept: with the pauses between
	// them after about giveUp.
	maxTries = 40
)

// shots are the conversations that nobody asked to keep: those of this process and its
// state directory, or those of all gateways.
type shots interface {
	// add notes one that is about to be made; undo takes that back.
	add(id string) (undo func(), err error)
	ended(id string, began bool)
	keep(id string) error
	hold(id string) error
	removed(id string)
	close() error
}

// sharedShots are those of all gateways. Each gateway removes some of those whose time
// has come; ledger.Shots sees to it that none is in use then, at any gateway.
type sharedShots struct {
	cfg    Config
	remove func(ctx context.Context, id string) error
	clear  func(id string) (release func(), ok bool)
	due    chan struct{} // gets something when one is due at once

	wg   sync.WaitGroup
	life context.Context
	end  context.CancelFunc
}

func openSharedShots(cfg Config, remove func(context.Context, string) error, clear func(string) (func(), bool)) *sharedShots { //nolint:predeclared // the word for it
	o := &sharedShots{cfg: cfg, remove: remove, clear: clear, due: make(chan struct{}, 1)}
	o.life, o.end = context.WithCancel(context.Background())
	for range maxSharedRemovals {
		o.wg.Go(o.sweep)
	}
	return o
}

// ask asks what the gateways share.
func (o *sharedShots) ask(f func(context.Context, ledger.Shots) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
	defer cancel()
	if err := f(ctx, o.cfg.Shots); err != nil {
		return fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return nil
}

func (o *sharedShots) add(id string) (undo func(), err error) {
	err = o.ask(func(ctx context.Context, s ledger.Shots) error { return s.Add(ctx, id) })
	return func() { o.removed(id) }, err
}

func (o *sharedShots) keep(id string) error {
	return o.ask(func(ctx context.Context, s ledger.Shots) error { return s.Keep(ctx, id) })
}

func (o *sharedShots) hold(id string) error {
	return o.ask(func(ctx context.Context, s ledger.Shots) error { return s.Hold(ctx, id) })
}

// ended starts the time of a one-shot whose run is over. Where that cannot be noted, it
// stays for orphanTTL.
func (o *sharedShots) ended(id string, began bool) {
	after := time.Duration(0)
	if began {
		after = o.cfg.OneShotTTL
	}
	err := o.ask(func(ctx context.Context, s ledger.Shots) error { return s.Ends(ctx, id, after) })
	if err != nil {
		o.cfg.Logger.Warn("cannot record the end of a one-shot conversation", "conversation_id", id, "err", err)
	}
	if after == 0 {
		select {
		case o.due <- struct{}{}:
		default:
		}
	}
}

func (o *sharedShots) removed(id string) {
	err := o.ask(func(ctx context.Context, s ledger.Shots) error { return s.Forget(ctx, id) })
	if err != nil { // it is removed again then, which finds nothing
		o.cfg.Logger.Warn("cannot record the removal of a one-shot conversation", "conversation_id", id, "err", err)
	}
}

// sweep removes one-shots until life ends. While the backend cannot be reached it rests.
func (o *sharedShots) sweep() {
	ticker := time.NewTicker(dueAgain)
	defer ticker.Stop()
	pause := time.Duration(0)
	for {
		select {
		case <-o.due:
		case <-ticker.C:
		case <-o.life.Done():
			return
		}
		o.cfg.guard("", func() {
			for o.life.Err() == nil {
				found, away := o.expire()
				if !away && !found {
					break
				}
				if pause = nextPause(pause, away); away {
					break
				}
			}
		})
		if pause > 0 && !rest(o.life, pause) {
			return
		}
	}
}

// nextPause is how long nothing is removed after a failure of the backend, longer each
// time.
func nextPause(last time.Duration, away bool) time.Duration {
	if !away {
		return 0
	}
	return min(max(removeAgain, 2*last), restMost)
}

// expire removes one that is due; away says that the backend does not answer.
func (o *sharedShots) expire() (found, away bool) {
	found, err := o.cfg.Shots.Due(o.life, max(o.cfg.OneShotTTL, orphanTTL), func(ctx context.Context, id string, tries int) (again time.Duration) {
		again, away = o.expireOne(ctx, id, tries)
		return again
	})
	if err != nil {
		if o.life.Err() == nil {
			o.cfg.Logger.Debug("cannot look for one-shot conversations whose time has come", "err", err)
		}
		return false, away
	}
	return found, away
}

// expireOne removes a one-shot; it is tried again after again, if that is not 0.
func (o *sharedShots) expireOne(ctx context.Context, id string, tries int) (again time.Duration, away bool) {
	release, ok := o.clear(id)
	if !ok {
		return busyAgain, false
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	err := o.remove(ctx, id)
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, agentapi.ErrUnavailable) || errors.Is(err, agentapi.ErrUnauthorized):
		o.cfg.Logger.Warn("one-shot conversations are not removed; the backend does not answer", "err", err)
		return removeAgain, true
	case tries >= maxTries:
		o.cfg.Logger.Warn("one-shot conversation is kept; it cannot be removed", "conversation_id", id, "err", err)
		return 0, false
	}
	again = backoff(tries)
	o.cfg.Logger.Warn("cannot remove one-shot conversation; trying again later", "conversation_id", id, "err", err, "again_in", again.String())
	return again, false
}

// close stops removing. What is left is for the other gateways.
func (o *sharedShots) close() error {
	o.end()
	o.wg.Wait()
	return nil
}

// alone calls f with the queue of a conversation, at all gateways if there are several.
// It is false where a run goes on or waits.
func (m *Manager) alone(ctx context.Context, id string, f func(context.Context) error) (ok bool, err error) {
	here := func(ctx context.Context) error {
		release, free := m.clear(id)
		if ok = free; !ok {
			return nil
		}
		defer release()
		return f(ctx)
	}
	if m.cfg.Shots == nil {
		err = here(ctx)
		return ok, err
	}
	if alone, err := m.cfg.Shots.Alone(ctx, id, here); err != nil || !alone {
		return false, err
	}
	return ok, nil
}
