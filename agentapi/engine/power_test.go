package engine_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// losses is in how many ways each point of a run is lost with the power.
const losses = 3

// machine is a world whose machine loses its power after a number of requests to the disk.
func machine(t *testing.T, left int) (*world, *enginetest.Machine) {
	t.Helper()
	disk := enginetest.NewMachine(left)
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	return w, disk
}

// restart starts another process on what the disk has after the power has come back.
func (w *world) restart(disk *enginetest.Machine, seed uint64) {
	w.t.Helper()
	disk.Off()
	_ = w.backend.Close() // cannot give the lease back
	if err := disk.Restart(w.cfg.Dir, rand.New(rand.NewPCG(seed, 1))); err != nil {
		w.t.Fatal(err)
	}
	w.cfg.Files = enginetest.Disk{}
	w.cfg.Holder.Instance, w.cfg.Holder.Alive = "other", func(int) bool { return false }
	w.start()
}

// promised sends a message and returns the events that a client may rely on: those that
// another process must know. State updates are written with the next of them.
func (w *world) promised(c agentapi.Conversation, text string) (seen []string) {
	w.t.Helper()
	s, err := c.Watch(w.ctx(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Send(w.ctx(), agentapi.Message{Text: text}); err != nil {
		if !errors.Is(err, agentapi.ErrUnavailable) {
			w.t.Errorf("Send: %v", err)
		}
		return nil
	}
	acknowledged(w.ctx(), s, func(e event.Event) {
		if _, state := e.Body.(*event.StateUpdate); !state {
			seen = append(seen, e.ID)
		}
	})
	return seen
}

// opens reports whether the conversation can be opened, of which no client knows. If not, the
// error has to say which file is damaged.
func (w *world) opens() bool {
	w.t.Helper()
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace})
	if msg := agentapi.PublicMessage(err, ""); err != nil && (!strings.Contains(msg, ".json") || !strings.Contains(msg, "start a new conversation")) {
		w.t.Errorf("the conversation does not open: %v", err)
	}
	return err == nil
}

// requests counts the requests to the disk that a run of twelve events makes.
func requests(t *testing.T) int {
	t.Helper()
	w, disk := machine(t, -1)
	twelve(w.llm)
	w.promised(w.open(), "twelve")
	return disk.Requests()
}

func TestALossOfPowerLosesNothingThatWasSeen(t *testing.T) {
	t.Parallel()
	all := requests(t)
	if all < 20 {
		t.Fatalf("only %d requests to the disk", all)
	}
	for at := firstDeath; at <= all; at++ {
		for loss := range losses {
			t.Run(strconv.Itoa(at)+"-"+strconv.Itoa(loss), func(t *testing.T) {
				t.Parallel()
				w, disk := machine(t, at)
				twelve(w.llm)
				seen := w.promised(w.open(), "twelve")
				w.restart(disk, uint64(at*losses+loss))
				if len(seen) > 0 || w.opens() {
					w.goesOn(seen)
				}
			})
		}
	}
}

// unkept opens the world's conversation as one that need not outlive a loss of power.
func (w *world) unkept() agentapi.Conversation {
	w.t.Helper()
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace, Once: true, Unkept: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestAnUnkeptConversationDoesNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	w, disk := machine(t, -1)
	twelve(w.llm)
	if seen := w.promised(w.unkept(), "twelve"); len(seen) != 12 {
		t.Errorf("%d events, want 12", len(seen))
	}
	w.close()
	if n := disk.Syncs(); n != 0 {
		t.Errorf("the disk was waited for %d times", n)
	}
	w.goesOn(nil)
}

// A client that comes back may rely on all that it was told before.
func TestAConversationThatIsContinuedIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ closed, restarted bool }{
		"open": {}, "closed": {closed: true}, "in another process": {restarted: true},
	} {
		for loss := range losses {
			t.Run(name+"-"+strconv.Itoa(loss), func(t *testing.T) {
				t.Parallel()
				w, disk := machine(t, -1)
				twelve(w.llm)
				c := w.unkept()
				seen := w.promised(c, "twelve")
				if tt.closed {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					w.awaitClosed()
				}
				if tt.restarted {
					w.close()
					w.start()
				}
				w.open()
				w.restart(disk, uint64(loss))
				w.goesOn(seen)
			})
		}
	}
}

// awaitClosed waits until no process has the world's conversation.
func (w *world) awaitClosed() {
	w.t.Helper()
	waittest.Until(w.t, waittest.Patience, "the conversation is closed", func() (any, bool) {
		lease := mustRead(w.t, filepath.Join(w.dir(), "owner_lease.json"))
		var now struct {
			ExpiresAt float64 `json:"expires_at"`
		}
		return string(lease), json.Unmarshal(lease, &now) == nil && now.ExpiresAt == 0
	})
}

// What the disk has of an unkept conversation is shown or refused, and can be removed.
func TestALossOfPowerLeavesUnkeptConversationsThatCanBeRemoved(t *testing.T) {
	t.Parallel()
	for loss := range 12 * losses {
		t.Run(strconv.Itoa(loss), func(t *testing.T) {
			t.Parallel()
			w, disk := machine(t, -1)
			twelve(w.llm)
			seen := w.promised(w.unkept(), "twelve")
			w.restart(disk, uint64(loss))
			if w.opens() {
				w.goesOn(nil)
			}
			if err := w.backend.Remove(w.ctx(), w.id); err != nil && !errors.Is(err, agentapi.ErrConversationNotFound) {
				t.Errorf("remove: %v", err)
			}
			if w.conv = nil; len(seen) != 12 {
				t.Errorf("%d events were seen, want 12", len(seen))
			}
		})
	}
}
