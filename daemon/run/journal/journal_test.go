package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/daemon/run/journal"
	"github.com/ohgw/ohgw/daemon/run/journal/journaltest"
)

func testJournal(t *testing.T, d *journaltest.Disk) *journal.Journal {
	t.Helper()
	jl := unread(t, d)
	jl.Counted(0)
	return jl
}

// unread is a journal of which it is not known what earlier processes noted.
func unread(t *testing.T, d *journaltest.Disk) *journal.Journal {
	t.Helper()
	jl := &journal.Journal{
		Path: filepath.Join(t.TempDir(), "j"), Open: d.Open,
		Living: func() []journal.Note { return nil }, Failed: func(err error) { t.Errorf("the rewrite failed: %v", err) },
	}
	t.Cleanup(func() {
		if err := jl.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return jl
}

func notes(t *testing.T, jl *journal.Journal) (ids []string) {
	t.Helper()
	if _, err := jl.Read(-1, func(n journal.Note) { ids = append(ids, n.ID) }); err != nil {
		t.Fatalf("read: %v", err)
	}
	return ids
}

func mustNote(t *testing.T, jl *journal.Journal, id string) journal.Span {
	t.Helper()
	at, err := jl.Write(journal.Note{ID: id}, false)
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
			d := &journaltest.Disk{NoTrim: noTrim}
			jl := testJournal(t, d)
			mustNote(t, jl, "before")
			for _, room := range []int{5, 0, 1} {
				d.Full(room)
				if _, err := jl.Write(journal.Note{ID: "cut"}, false); err == nil {
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
	jl := testJournal(t, &journaltest.Disk{})
	if err := os.WriteFile(jl.Path, []byte(`{"id":"whole"}`+"\n"+`{"id":"ha`), 0o600); err != nil {
		t.Fatal(err)
	}
	mustNote(t, jl, "next")
	if got := fmt.Sprint(notes(t, jl)); got != "[whole next]" {
		t.Errorf("notes %s", got)
	}
}

func TestAFailedRewriteDoesNotSilenceTheJournal(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &journaltest.Disk{})
	dir, away := filepath.Dir(jl.Path), filepath.Dir(jl.Path)+"-away"
	failed := 0
	jl.Failed = func(error) {
		failed++
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
	}
	jl.Living = func() []journal.Note {
		if err := os.Rename(dir, away); err != nil { // nothing can be made there now
			t.Fatal(err)
		}
		return nil
	}
	for i := range journal.MaxLines + 10 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if failed != 1 {
		t.Errorf("%d rewrites failed", failed)
	}
	if got := len(notes(t, jl)); got != journal.MaxLines+10 {
		t.Errorf("%d notes", got)
	}
}

func TestARewriteLeavesTheLiving(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &journaltest.Disk{})
	jl.Living = func() []journal.Note { return []journal.Note{{ID: "alive"}} }
	for i := range journal.MaxLines + 2 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if got, want := fmt.Sprint(notes(t, jl)), fmt.Sprintf("[alive %d]", journal.MaxLines+1); got != want {
		t.Errorf("notes %s, want %s", got, want)
	}
}

func TestOnlyTheLastNoteIsTakenBack(t *testing.T) {
	t.Parallel()
	jl := testJournal(t, &journaltest.Disk{})
	a, b := mustNote(t, jl, "a"), mustNote(t, jl, "b")
	if jl.Undo(a) {
		t.Error("took back a note with another one behind it")
	}
	if !jl.Undo(b) || !jl.Undo(a) {
		t.Error("did not take back the last note")
	}
	mustNote(t, jl, "c")
	if got := fmt.Sprint(notes(t, jl)); got != "[c]" {
		t.Errorf("notes %s", got)
	}
}

func TestWhatIsDurableIsSynced(t *testing.T) {
	t.Parallel()
	d := &journaltest.Disk{}
	jl := testJournal(t, d)
	mustNote(t, jl, "a")
	if d.Syncs() != 0 {
		t.Error("a note that may be lost was synced")
	}
	if _, err := jl.Write(journal.Note{ID: "a", Gone: true}, true); err != nil || d.Syncs() != 1 {
		t.Errorf("%d syncs, %v", d.Syncs(), err)
	}
}

// As long as the notes of earlier processes could not be read, a rewrite would
// lose them.
func TestAJournalThatWasNotReadIsNotRewritten(t *testing.T) {
	t.Parallel()
	jl := unread(t, &journaltest.Disk{})
	for i := range journal.MaxLines + 10 {
		mustNote(t, jl, fmt.Sprint(i))
	}
	if got := len(notes(t, jl)); got != journal.MaxLines+10 {
		t.Errorf("%d notes", got)
	}
	jl.Counted(0)
	mustNote(t, jl, "last")
	if got := len(notes(t, jl)); got != 0 {
		t.Errorf("%d notes after the rewrite", got)
	}
}
