package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The base state and meta.json are replaced again and again without waiting for the disk. One
// of both is always there, so that the other can be made again.
func TestALossOfPowerLeavesTheStateOrWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	for seed := range 40 {
		for name, change := range map[string]func(d *store.Dir) error{
			"state, then meta": func(d *store.Dir) error {
				return errors.Join(d.SaveState(false), d.Touch(time.Now(), "a title"))
			},
			"meta, then state": func(d *store.Dir) error {
				return errors.Join(d.Touch(time.Now(), "a title"), d.SaveState(false))
			},
		} {
			root, disk := t.TempDir(), enginetest.NewMachine(-1)
			opts := us()
			opts.Files = disk
			d := create(t, root, opts)
			first := message(uuid.New(), "")
			if err := errors.Join(d.Append(first, true), change(d)); err != nil {
				t.Fatal(err)
			}
			if err := disk.Restart(root, rand.New(rand.NewPCG(uint64(seed), 2))); err != nil {
				t.Fatal(err)
			}
			d, err := store.Open(root, id, us())
			if err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
				continue
			}
			if got := ids(d.Events()); len(got) != 1 || got[0] != first.ID {
				t.Errorf("%s, seed %d: the log has %q, want %s", name, seed, got, first.ID)
			}
		}
	}
}

// A process that is killed in a one-shot leaves no meta.json. It is there again before the base
// state is on its way to the disk.
func TestAOneShotOfAKilledProcessIsKeptWhenItIsContinued(t *testing.T) {
	t.Parallel()
	for seed := range 40 {
		root, disk := t.TempDir(), enginetest.NewMachine(-1)
		opts := us()
		opts.Files, opts.Unkept = disk, &store.Unkept{}
		first, second := message(uuid.New(), ""), message(uuid.New(), "")
		killed := create(t, root, opts)
		if err := killed.Append(first, true); err != nil {
			t.Fatal(err)
		}
		killed.Rest() // The system takes the locks of a process that is killed.
		if _, err := os.Stat(filepath.Join(store.Path(root, id), "meta.json")); err == nil {
			t.Fatal("meta.json is written already")
		}
		next := us()
		next.Files = disk
		next.Holder = store.Holder{Instance: "next", Host: "h", PID: 2, Alive: func(pid int) bool { return pid == 2 }}
		d := reopen(t, root, next)
		if err := errors.Join(d.Append(second, true), d.SaveState(false)); err != nil {
			t.Fatal(err)
		}
		if err := disk.Restart(root, rand.New(rand.NewPCG(uint64(seed), 3))); err != nil {
			t.Fatal(err)
		}
		next.Files, next.Holder.Instance, next.Holder.Alive = nil, "last", func(int) bool { return false }
		if got := ids(reopen(t, root, next).Events()); len(got) != 2 || got[0] != first.ID || got[1] != second.ID {
			t.Errorf("seed %d: the log has %q", seed, got)
		}
	}
}

// An event that reaches the disk takes along what was written before it without waiting. Where
// that is damaged, no client has got the event as stored. Other damage is older.
func TestWhatFollowsADamagedEvent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		log  string // of messages (m), state updates (u), and the same damaged (M, U)
		want int    // events in the log; negative: it is refused
	}{
		"nothing":                       {"mM", 1},
		"a state update":                {"mMu", 1},
		"its own answer":                {"mMm", -1},
		"its own answer after updates":  {"mMuum", -1},
		"a message behind an update":    {"mUm", 1},
		"a message between updates":     {"muUumuU", 2},
		"two messages behind an update": {"mUmm", -1},
		"the first message":             {"Mm", 0},
		"an answer to the first":        {"Mmum", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			d := create(t, root, us())
			parent := ""
			for i, kind := range tt.log {
				e := message(uuid.New(), cmp.Or(parent, store.Root))
				if kind == 'u' || kind == 'U' {
					e = event.New(e.ID, e.Timestamp, event.SourceEnvironment, e.ParentID, &event.StateUpdate{Key: "stats", Value: json.RawMessage(`{}`)})
				} else {
					parent = e.ID
				}
				if err := d.Append(e, false); err != nil {
					t.Fatal(err)
				}
				if kind == 'm' || kind == 'u' {
					continue
				}
				if err := os.Truncate(filepath.Join(d.Path(), "events", fmt.Sprintf("event-%05d-%s.json", i, e.ID)), 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d, err := store.Open(root, id, us())
			if tt.want < 0 {
				if _, ok := errors.AsType[*store.DamageError](err); !ok {
					t.Errorf("error %v, want a damage", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Len(); got != tt.want {
				t.Errorf("the log has %d events, want %d", got, tt.want)
			}
		})
	}
}

// losing is a disk beside which a file is removed with each of the first syncs.
type losing struct {
	store.Disk
	t    *testing.T
	left int
}

func (l *losing) Sync(paths []string) error {
	if l.left--; l.left >= 0 {
		for _, path := range paths {
			if strings.HasSuffix(path, fmt.Sprintf("output-%d", l.left)) {
				if err := os.Remove(path); err != nil {
					l.t.Error(err)
				}
			}
		}
	}
	return l.Disk.Sync(paths)
}

// An agent that works removes files of its own while its conversation is put on the disk.
func TestAConversationIsKeptWhileFilesVanish(t *testing.T) {
	t.Parallel()
	for removed, kept := range map[int]bool{3: true, 30: false} {
		opts := us()
		opts.Files, opts.Unkept = &losing{t: t, left: removed}, &store.Unkept{}
		d := create(t, t.TempDir(), opts)
		if err := d.Append(message(uuid.New(), store.Root), true); err != nil {
			t.Fatal(err)
		}
		for i := range removed {
			if err := os.WriteFile(filepath.Join(d.Path(), fmt.Sprintf("output-%d", i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := opts.Unkept.Keep(); (err == nil) != kept {
			t.Errorf("%d files that are removed: %v, want it kept: %t", removed, err, kept)
		}
		if _, err := os.Stat(filepath.Join(d.Path(), ".ohgw-unkept")); (err == nil) == kept {
			t.Errorf("%d files that are removed: the mark that it is not kept: %v", removed, err)
		}
	}
}
