package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// A run may die at any write, and the process that repairs the conversation, too. Who
// follows the run then is told its end, or that there is none.
func TestWhoFollowsARunThatDiedIsToldTheTruth(t *testing.T) {
	t.Parallel()
	const writes, repairs = 18, 6 // of such a run, and of a repair
	for _, confirm := range []agentapi.Confirmation{"", agentapi.ConfirmAlways} {
		for death := firstDeath; death <= firstDeath+writes; death++ {
			for again := range repairs + 1 { // 0: the process that repairs lives
				t.Run(fmt.Sprintf("%s %d %d", confirm, death, again), func(t *testing.T) {
					t.Parallel()
					disk := &mortal{left: death, after: true}
					w := newWorld(t, func(c *engine.Config) { c.Files, c.Confirm = disk, confirm })
					w.llm.On(llmtest.Says("follow me"), terminal("echo 1"), llmtest.Finish("the answer"))
					w.dies(disk)
					if again > 0 {
						w.next(2, &mortal{left: again, after: true})
						_, _ = w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace})
						_ = w.backend.Close() // cannot give the lease back
					}
					w.next(3, nil)
					w.followed()
				})
			}
		}
	}
}

// dies starts a run on a disk and waits until both are at their end.
func (w *world) dies(disk *mortal) {
	w.t.Helper()
	c := w.open()
	s, err := c.Watch(w.ctx(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Send(w.ctx(), agentapi.Message{Text: "follow me"}); err == nil {
		acknowledged(w.ctx(), s, func(event.Event) {})
	}
	disk.die()
	_ = w.backend.Close() // cannot give the lease back
}

// next starts another process, whose disk may be mortal.
func (w *world) next(pid int, disk *mortal) {
	w.t.Helper()
	w.cfg.Files = nil
	if disk != nil {
		w.cfg.Files = disk
	}
	w.cfg.Holder.Instance, w.cfg.Holder.PID = strings.Repeat(string(rune('a'+pid)), 32), pid
	w.cfg.Holder.Alive = func(other int) bool { return other == pid }
	w.start()
}

// followed follows the turn from the beginning of the conversation.
func (w *world) followed() {
	w.t.Helper()
	var logged event.Status
	for _, e := range w.log() {
		if s, ok := e.StatusUpdate(); ok && (s == event.Finished || s == event.Waiting) {
			logged = s
		}
	}
	res, err := turn.Follow(w.ctx(), w.open(), turn.Baseline{After: agentapi.FromStart}, func(turn.Update) {}, nil)
	switch lost := res.Cause != nil && res.Cause.Kind == turn.CauseLost; {
	case err == nil && res.Outcome == turn.Finished && res.Answer == "the answer":
	case err == nil && res.Outcome == turn.Waiting && len(res.Waiting) == 1:
	case logged != "":
		w.t.Errorf("the log says %s, and who follows the run gets %+v, %v", logged, res, err)
	case errors.Is(err, turn.ErrNoTurn) || err == nil && lost:
	default:
		w.t.Errorf("%+v, %v", res, err)
	}
}
