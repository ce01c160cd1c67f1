package run

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func testJournal(t *testing.T, d *Disk) *journal {
	t.Helper()
	jl := &journal{
		path: filepath.Join(t.TempDir(), "j"), open: d.open, whole: true,
		living: func() []note { return nil }, failed: func(err error) { t.Errorf("rewrite: %v", err) },
	}
	t.Cleanup(func() {
		if err := jl.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return jl
}

func notes(t *testing.T, jl *journal) (ids []string) {
	t.Helper()
	if _, err := jl.read(-1, func(n note) { ids = append(ids, n.ID) }); err != nil {
		t.Fatalf("read: %v", err)
	}
	return ids
}

func mustNote(t *testing.T, jl *journal, id string) span {
	t.Helper()
	at, err := jl.write(note{ID: id}, false)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return at
}

// A disk becomes full in the middle of a line, and has room again: the notes
// before and after are read, whether or not the file can be cut, and by the
// next process, too.
func TestALineThatWasCutOffTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	for _, noTrim := range []bool{false, true} {
		t.Run(fmt.Sprintf("no truncate %v", noTrim), func(t *testing.T) {
			t.Parallel()
			d := &Disk{NoTrim: noTrim}
			jl := testJournal(t, d)
			mustNote(t, jl, "before")
			for _, room := range []int{5, 0, 1} {
				d.Full(room)
				if _, err := jl.write(note{ID: "cut"}, false); err == nil {
					t.Fatal("a write on a full disk has no error")
				}
			}
			d.Free()
			mustNote(t, jl, "after")
			if got := fmt.Sprint(notes(t, jl)); got != "[before after]" {
				t.Errorf("notes %s", got)
			}
		})
	}
}

func TestAJournalThatEndsInHalfALineGoesOn(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &Disk{})
	if err := os.WriteFile(jl.path, []byte(`{"id":"whole"}`+"\n"+`{"id":"ha`), 0o600); err != nil {
		t.Fatal(err)
	}
	mustNote(t, jl, "next")
	if got := fmt.Sprint(notes(t, jl)); got != "[whole next]" {
		t.Errorf("notes %s", got)
	}
}

func TestAFailedRewriteDoesNotSilenceTheJournal(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &Disk{})
	dir, away := filepath.Dir(jl.path), filepath.Dir(jl.path)+"-away"
	failed := 0
	jl.failed = func(error) {
		failed++
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
	}
	jl.living = func() []note {
		if err := os.Rename(dir, away); err != nil { // nothing can be made there now
			t.Fatal(err)
		}
		return nil
	}
	for i := range maxJournal + 10 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if failed != 1 {
		t.Errorf("%d rewrites failed", failed)
	}
	if got := len(notes(t, jl)); got != maxJournal+10 {
		t.Errorf("%d notes", got)
	}
}

func TestARewriteLeavesTheLiving(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &Disk{})
	jl.living = func() []note { return []note{{ID: "alive"}} }
	for i := range maxJournal + 2 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if got, want := fmt.Sprint(notes(t, jl)), fmt.Sprintf("[alive %d]", maxJournal+1); got != want {
		t.Errorf("notes %s, want %s", got, want)
	}
}

func TestOnlyTheLastNoteIsTakenBack(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &Disk{})
	a, b := mustNote(t, jl, "a"), mustNote(t, jl, "b")
	if jl.undo(a) {
		t.Error("took back a note with another one behind it")
	}
	if !jl.undo(b) || !jl.undo(a) {
		t.Error("did not take back the last note")
	}
	mustNote(t, jl, "c")
	if got := fmt.Sprint(notes(t, jl)); got != "[c]" {
		t.Errorf("notes %s", got)
	}
}

func TestWhatIsDurableIsSynced(t *testing.T) {
	t.Parallel()
	d := &Disk{}
	jl := testJournal(t, d)
	mustNote(t, jl, "a")
	if d.Syncs() != 0 {
		t.Error("a note that may be lost was synced")
	}
	if _, err := jl.write(note{ID: "a", Gone: true}, true); err != nil || d.Syncs() != 1 {
		t.Errorf("%d syncs, %v", d.Syncs(), err)
	}
}

// As long as the notes of earlier processes could not be read, a rewrite would
// lose them.
func TestAJournalThatWasNotReadIsNotRewritten(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &Disk{})
	jl.whole = false
	for i := range maxJournal + 10 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if got := len(notes(t, jl)); got != maxJournal+10 {
		t.Errorf("%d notes", got)
	}
	jl.counted(0)
	mustNote(t, jl, "last")
	if got := len(notes(t, jl)); got != 0 {
		t.Errorf("%d notes after the rewrite", got)
	}
}
