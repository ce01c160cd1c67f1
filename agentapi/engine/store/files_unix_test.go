//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
		t.Fatalf("%v\n%s", err, out)
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
