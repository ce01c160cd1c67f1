package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// unattended are the runs that this state directory's gateways have started
// and have not seen the end of: those of a process that died, and those whose
// backend was lost. They may go on at the backend. Each is a small file named
// after its conversation, written before the run starts and removed at its
// end. It is not synced and its loss is harmless: the next request of the
// conversation then waits for the run in place of stopping it. Runs that end
// with this process have no file.
type unattended struct {
	dir  string // empty: in memory only
	ends bool   // runs end with this process
	log  *slog.Logger

	mu   sync.Mutex
	runs map[string]runMark // by conversation
}

// runMark says whose run it is.
type runMark struct {
	Token  string `json:"token"`
	Detach bool   `json:"detach,omitempty"`
	// Turn tells the run from others in the conversation: it may have ended unseen,
	// and another client may have started the one that is at work.
	Turn  turn.Baseline `json:"turn"`
	filed bool          // there is a file
}

// keepMarks is how long a run may go on for a mark to be believed.
const keepMarks = 24 * time.Hour

func openUnattended(cfg Config) (*unattended, error) {
	u := &unattended{ends: cfg.InProcess, log: cfg.Logger, runs: make(map[string]runMark)}
	if cfg.StateDir == "" || cfg.Ledger != nil { // a run of a gateway that died is in the ledger
		return u, nil
	}
	u.dir = filepath.Join(cfg.StateDir, "running")
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of running turns: %w", err)
	}
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return nil, fmt.Errorf("list running turns: %w", err)
	}
	for _, e := range entries {
		u.load(e, cfg.Now())
	}
	return u, nil
}

// load reads a mark. One that is old, cannot be read or names no turn says nothing.
func (u *unattended) load(e fs.DirEntry, now time.Time) {
	path := filepath.Join(u.dir, e.Name())
	var mark runMark
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &mark)
	}
	if info, infoErr := e.Info(); err == nil && infoErr == nil && mark.Turn.After != "" && now.Sub(info.ModTime()) < keepMarks {
		mark.filed = true
		u.runs[e.Name()] = mark
		return
	}
	_ = os.Remove(path) // the next start tries again
}

// begin notes that j's run is about to start, with the turn behind b.
func (u *unattended) begin(j *job, b turn.Baseline) {
	mark := runMark{Token: j.req.Token, Detach: j.delivery.isDetached(), Turn: b, filed: u.dir != "" && !u.ends}
	u.mu.Lock()
	mark.filed = mark.filed || u.runs[j.id].filed
	u.runs[j.id] = mark
	u.mu.Unlock()
	if u.dir == "" || u.ends {
		return
	}
	data, err := json.Marshal(mark)
	if err == nil {
		err = os.WriteFile(filepath.Join(u.dir, j.id), data, 0o600)
	}
	if err != nil {
		u.log.Warn("cannot record a running turn", "conversation_id", j.id, "err", err)
	}
}

// end notes that no run of the conversation goes on.
func (u *unattended) end(conversation string) {
	u.mu.Lock()
	filed := u.runs[conversation].filed
	delete(u.runs, conversation)
	u.mu.Unlock()
	if !filed {
		return
	}
	if err := os.Remove(filepath.Join(u.dir, conversation)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		u.log.Warn("cannot record the end of a turn", "conversation_id", conversation, "err", err)
	}
}

// settle notes what the end of a turn says of its run.
func (u *unattended) settle(conversation string, err error) {
	if goesOn(err) {
		return
	}
	u.end(conversation)
}

// of is the run of the token that may go on in the conversation; an empty token
// means any.
func (u *unattended) of(conversation, token string) (mark runMark, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	mark, known = u.runs[conversation]
	return mark, known && (token == "" || mark.Token == token)
}

// busy is called when the conversation has a run that is not a job of this
// process. It reports whether to stop that run: the request takes its place, as it
// would of a run of this process that no client reads any more. The request waits
// for every other run, also for one that cannot be identified.
func (j *job) busy(ctx context.Context, conv agentapi.Conversation) (stop bool) {
	mark, known := j.m.unattended.of(j.id, j.req.Token)
	if known && mark.Token == j.req.Token && !mark.Detach {
		limited, cancel := context.WithTimeout(ctx, unattendedTime)
		defer cancel()
		stop, _ = turn.Goes(limited, conv, mark.Turn)
	}
	if stop {
		j.publish(turn.Update{Kind: turn.Progress, Text: "Stopping the earlier run of this conversation"})
		return true
	}
	j.publish(turn.Update{Kind: turn.Progress, Text: "Waiting for a run of this conversation that another client started"})
	return false
}
