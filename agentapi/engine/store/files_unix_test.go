//go:build unix

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// noRoomVariable makes the test binary a process that writes an event without
// room for it.
const noRoomVariable = "OHGW_TEST_EVENT_WITHOUT_ROOM"

// A process that dies between making a file and filling it leaves no event:
// OpenHands does not open a conversation that has an empty one. A limit of 0 for
// the size of files stops a write at the same place.
func TestAnEventIsThereInWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(noRoomVariable); path != "" {
		if err := (Disk{}).Write(path, []byte("{}"), false); err == nil {
			t.Error("the event was written")
		}
		return
	}
	conversation := t.TempDir()
	events := filepath.Join(conversation, "events")
	if err := os.Mkdir(events, 0o700); err != nil {
		t.Fatal(err)
	}
	// The limit is the child's alone. The test's output goes through a pipe, which has no limit.
	child := exec.Command("sh", "-c", `ulimit -f 0; exec "$0" -test.run='^TestAnEventIsThereInWholeOrNotAtAll$'`, os.Args[0])
	child.Env = append(os.Environ(), noRoomVariable+"="+filepath.Join(events, "event-00000-6eb31384.json"))
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("the child process: %v\n%s", err, out)
	}
	for _, dir := range []string{conversation, events} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				t.Errorf("%s is left in %s", e.Name(), filepath.Base(dir))
			}
		}
	}
}

// OpenHands and programs that list conversations read the files at any time. On Windows a
// file that another process reads cannot be replaced.
func TestAReaderNeverSeesHalfAFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	d, err := Create(root, NewState(id, json.RawMessage(`{"kind":"Agent","text":"`+strings.Repeat("long", 16<<10)+`"}`), "/w"), Meta{}, Options{Holder: Holder{Instance: "ours"}})
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 60
	over := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(over)
		title := strings.Repeat("title", 1<<10)
		for i := range rounds {
			e := event.New(fmt.Sprintf("%08d", i), "", event.SourceHook, "", &event.HookExecution{Stdout: strings.Repeat("out", 16<<10)})
			if err := errors.Join(d.Append(e, false), d.SaveState(false), d.Touch(time.Unix(int64(i), 0), title)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	read := 0
	for done := false; !done; {
		select {
		case <-over:
			done = true
		default:
		}
		for _, pattern := range []string{"base_state.json", "meta.json", "owner_lease.json", "events/event-*.json"} {
			found, err := filepath.Glob(filepath.Join(d.Path(), pattern))
			if err != nil || pattern[0] != 'e' && len(found) != 1 {
				t.Errorf("%s: files = %q, error %v", pattern, found, err)
			}
			for _, path := range found[max(0, len(found)-3):] { // the newest events
				data, err := os.ReadFile(path)
				if err != nil || !json.Valid(data) {
					t.Errorf("%s has %d bytes that are not JSON, %v", filepath.Base(path), len(data), err)
				}
				read++
			}
		}
	}
	all.Wait()
	if len(d.log) != rounds || read < rounds {
		t.Errorf("%d events, %d files were read", len(d.log), read)
	}
}
