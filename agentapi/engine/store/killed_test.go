package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/testkit/crashtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// killedRoot makes the test binary the process that is killed: its value is where the
// conversations are. killedUnkept has it write one that is not kept.
const (
	killedRoot   = "OHGW_STORE_TEST_ROOT"
	killedUnkept = "OHGW_STORE_TEST_UNKEPT"
)

func TestMain(m *testing.M) {
	root := os.Getenv(killedRoot)
	if root == "" {
		os.Exit(m.Run())
	}
	if err := lives(root, os.Getenv(killedUnkept) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lives does to a conversation what a turn does, twice, and closes it.
func lives(root string, unkept bool) error {
	opts := us()
	opts.Files = enginetest.Disk{}
	if unkept {
		opts.Unkept = &store.Unkept{}
	}
	d, err := store.Create(root, store.NewState(id, json.RawMessage(`{"kind":"Agent"}`), "/w"), store.Meta{Created: time.Now()}, opts)
	if err != nil {
		return err
	}
	err = d.Sync()
	d.Rest()
	for range 2 {
		err = errors.Join(err, d.Append(message(uuid.New(), ""), false), d.Append(message(uuid.New(), ""), true))
		d.Rest()
		err = errors.Join(err, d.Append(message(uuid.New(), ""), true), d.AddCalls([]store.Call{{UsageID: "u"}}), d.SaveState(false))
		d.Rest()
		err = errors.Join(err, d.KeepLease(), d.Touch(time.Now(), "a title"), d.Flush())
	}
	return errors.Join(err, d.Close())
}

// TestKilledAtAnyChangeLeavesWholeFiles kills a process after each call that changes a file of
// a conversation. What it leaves is read by other programs, which have not repaired it before.
func TestKilledAtAnyChangeLeavesWholeFiles(t *testing.T) {
	t.Parallel()
	if !crashtest.Available {
		t.Skip("programs are traced on Linux and amd64 only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, unkept := range []string{"", "yes"} {
		t.Run("unkept="+unkept, func(t *testing.T) {
			t.Parallel()
			k := &killed{live: filepath.Join(t.TempDir(), "live"), copies: t.TempDir()}
			env := append(os.Environ(), killedRoot+"="+k.live, killedUnkept+"="+unkept)
			if err := crashtest.Trace([]string{self}, env, func(int) {}, func(call string) { k.keep(t, call) }); err != nil {
				t.Fatal(err)
			}
			if len(k.left) < 40 {
				t.Fatalf("changes of files: only %d", len(k.left))
			}
			for i, at := range k.left {
				if i > 0 && (at.events < k.left[i-1].events || !at.exists && k.left[i-1].exists) {
					t.Errorf("%s: it has lost an event or the conversation", at.call)
				}
				if released := i == len(k.left)-1; at.exists && at.held(t) == released {
					t.Errorf("%s: released is %t, and so is held", at.call, released)
				}
				at.check(t)
			}
		})
	}
}

// killed collects what a process would leave.
type killed struct {
	live, copies string
	left         []remains
}

// keep copies the directory as it is now.
func (k *killed) keep(t *testing.T, call string) {
	if _, err := os.Stat(k.live); err != nil {
		return // before the first change
	}
	at := remains{root: filepath.Join(k.copies, strconv.Itoa(len(k.left))), call: strconv.Itoa(len(k.left)) + ", " + call}
	if err := os.CopyFS(at.root, os.DirFS(k.live)); err != nil {
		t.Error(err)
	}
	at.exists, at.events = store.Exists(at.root, id), len(at.log(t))
	k.left = append(k.left, at)
}

// remains is what a process leaves that is killed after a call.
type remains struct {
	root, call string
	exists     bool // there is a conversation
	events     int
}

func (r remains) dir() string { return store.Path(r.root, id) }

// log is the files of the events.
func (r remains) log(t *testing.T) []string {
	t.Helper()
	events, err := filepath.Glob(filepath.Join(r.dir(), "events", "event-*"))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// held reports whether the lease keeps the processes of other hosts away.
func (r remains) held(t *testing.T) bool {
	t.Helper()
	opts := us()
	opts.Holder = store.Holder{Instance: "far", Host: "far away"}
	err := store.Amend(r.root, id, opts, func(*store.Dir) error { return errUnchanged })
	_, held := errors.AsType[*store.HeldError](err)
	if !held && !errors.Is(err, errUnchanged) {
		t.Errorf("%s: %v", r.call, err)
	}
	return held
}

var errUnchanged = errors.New("nothing is changed")

// check has another process read what is left, and continue it.
func (r remains) check(t *testing.T) {
	t.Helper()
	r.checkFiles(t)
	markers, err := filepath.Glob(filepath.Join(r.dir(), "events", ".eventlog-len-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range markers {
		if want := marker(r.events); filepath.Base(m) != want {
			t.Errorf("%s: the marker %s beside %d events", r.call, filepath.Base(m), r.events)
		}
	}
	opts := us()
	opts.Holder = store.Holder{Instance: "another", Host: "h", PID: 2, Alive: func(pid int) bool { return pid == 2 }}
	if !r.exists {
		if _, err := store.Create(r.root, store.NewState(id, nil, "/w"), store.Meta{}, opts); err != nil {
			t.Errorf("%s: it cannot be made again: %v", r.call, err)
		}
		return
	}
	d, err := store.Open(r.root, id, opts)
	if err != nil {
		t.Errorf("%s: %v", r.call, err)
		return
	}
	if d.Len() != r.events {
		t.Errorf("%s: %d events are read of %d", r.call, d.Len(), r.events)
	}
	appendTo(t, d, 1)
	if _, listed := store.Glance(r.root, id); listed != nil {
		t.Errorf("%s: it is not listed: %v", r.call, listed)
	}
	if err := errors.Join(d.Touch(time.Now(), ""), d.Close(), store.Remove(r.root, id, opts)); err != nil {
		t.Errorf("%s: %v", r.call, err)
	}
}

// checkFiles checks that each file of OpenHands' is whole. Its lease may be empty, as long as
// there is no conversation.
func (r remains) checkFiles(t *testing.T) {
	t.Helper()
	files := r.log(t)
	for _, name := range []string{"base_state.json", "meta.json", "owner_lease.json"} {
		files = append(files, filepath.Join(r.dir(), name))
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		lease := strings.HasSuffix(path, "owner_lease.json")
		if errors.Is(err, os.ErrNotExist) && !lease || lease && !r.exists && len(data) == 0 {
			continue
		}
		if err != nil || !json.Valid(data) {
			t.Errorf("%s: %s is %q, %v", r.call, filepath.Base(path), data, err)
		}
	}
}
