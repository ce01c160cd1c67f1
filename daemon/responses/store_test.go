package responses_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// answered stores a response with this number that has ended.
func answered(t *testing.T, s *responses.Store, number, conversation string, change ...func(*responses.Record)) string {
	t.Helper()
	rec := &responses.Record{Token: "t", Text: "hello", Kept: true}
	for _, f := range change {
		f(rec)
	}
	l := responses.NewLive(responses.Config{
		Store: s, Record: rec, Now: func() time.Time { return noon },
		Conclude: func(res turn.Result, _ error) responses.Ending {
			return responses.Ending{Status: openai.ResponseCompleted, Answer: res.Answer}
		},
	})
	l.Admitted(conversation, "0000000000000000000000000000000"+number, noon)
	if err := l.Begin(turn.Baseline{After: "before"}); err != nil {
		t.Fatal(err)
	}
	l.End(turn.Result{Answer: "hi", Last: "after"}, nil, true)
	return l.ID()
}

func TestAStoredResponseIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := answered(t, responses.Open(dir), "1", "c1")
	rec, err := responses.Open(dir).Load(id)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{rec.Status, rec.Conversation, rec.Text, rec.Answer(), rec.Base.After, rec.Last, rec.Next}
	if diff := cmp.Diff([]string{"completed", "c1", "hello", "hi", "before", "after", ""}, got); diff != "" {
		t.Error(diff)
	}
	next := answered(t, responses.Open(dir), "2", "c1", func(r *responses.Record) { r.Previous = id })
	if rec, err = responses.Open(dir).Load(id); err != nil || rec.Next != next {
		t.Errorf("the next one is %q (%v), want %q", rec.Next, err, next)
	}
}

// A request in the background stores its response while the run may begin, fail and
// end at any moment beside it.
func TestAResponseIsSavedOnceWhateverBecameOfItsRun(t *testing.T) {
	t.Parallel()
	begin := func(l *responses.Live) {
		if err := l.Begin(turn.Baseline{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		before func(*responses.Live) // of the request
		status string                // of an earlier process
		want   error
		stored string // the status on the disk
	}{
		"it waits":                {before: func(*responses.Live) {}, stored: "queued"},
		"it runs":                 {before: begin, stored: "in_progress"},
		"it has ended":            {before: func(l *responses.Live) { begin(l); l.End(turn.Result{}, nil, true) }, stored: "completed"},
		"it could not begin":      {before: func(l *responses.Live) { l.End(turn.Result{}, errors.New("no"), false) }, want: responses.ErrUnsaved},
		"an earlier process runs": {status: "in_progress", before: func(*responses.Live) {}, stored: "in_progress"},
		"an earlier process ran":  {status: "in_progress", before: func(l *responses.Live) { l.End(turn.Result{}, nil, true) }, stored: "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := responses.Open(t.TempDir())
			of := func(rec *responses.Record) *responses.Live {
				l := responses.NewLive(responses.Config{
					Store: s, Record: rec, Now: func() time.Time { return noon },
					Conclude: func(turn.Result, error) responses.Ending {
						return responses.Ending{Status: "completed"}
					},
				})
				l.Admitted("c", "00000000000000000000000000000001", noon)
				return l
			}
			if c.status != "" {
				begin(of(&responses.Record{}))
			}
			l := of(&responses.Record{Status: c.status})
			c.before(l)
			if err := s.Save(l); !errors.Is(err, c.want) {
				t.Fatalf("Save: %v, want %v", err, c.want)
			}
			rec, err := s.Load(l.ID())
			if c.want != nil {
				if !errors.Is(err, responses.ErrNotFound) {
					t.Errorf("Load: %v, want %v", err, responses.ErrNotFound)
				}
				return
			}
			if err != nil || rec.Status != c.stored {
				t.Errorf("stored as %+v (%v), want the status %q", rec, err, c.stored)
			}
		})
	}
}

func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := answered(t, responses.Open(dir), "1", "c1")
	path := filepath.Join(dir, "responses", "00", id+".json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"cut in its last line": {whole[:len(whole)-5], nil},
		"empty":                {nil, responses.ErrDamaged},
		"not JSON":             {[]byte("x"), responses.ErrDamaged},
		"of a newer ohgw":      {[]byte(`{"version":9}`), responses.ErrNewer},
		"of another response":  {[]byte(`{"version":1,"id":"resp_1"}`), responses.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, tc.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := responses.Open(dir).Load(id); !errors.Is(err, tc.want) {
				t.Errorf("Load: %v, want %v", err, tc.want)
			}
		})
	}
}

func TestDamagedFilesAreSweptWhenTheyAreOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := responses.Open(dir)
	kept := map[string]bool{}
	for number, tc := range []struct {
		data    string
		old     bool
		survive bool
	}{
		{"damaged", true, false},
		{"damaged", false, true},
		{`{"version":9}`, true, true},
	} {
		id := answered(t, s, strconv.Itoa(number+1), "c1")
		path := filepath.Join(dir, "responses", "00", id+".json")
		if err := os.WriteFile(path, []byte(tc.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if tc.old {
			if err := os.Chtimes(path, noon, noon); err != nil {
				t.Fatal(err)
			}
		}
		kept[path] = tc.survive
	}
	if err := s.Sweep(t.Context(), noon.Add(time.Hour), func(string) error { return errors.New("a conversation was removed") }); err != nil {
		t.Fatal(err)
	}
	for path, want := range kept {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", filepath.Base(path), err, want)
		}
	}
}

func TestIDsThatAreNoneOfOurs(t *testing.T) {
	t.Parallel()
	s := responses.Open(t.TempDir())
	for _, id := range []string{"", "resp_", "resp_../../../../../../../../../etc/x", "resp_0000000000000000000000000000000G", "msg_00000000000000000000000000000001"} {
		if _, err := s.Load(id); !errors.Is(err, responses.ErrNotFound) {
			t.Errorf("Load(%q): %v, want ErrNotFound", id, err)
		}
		if err := s.Delete(id); !errors.Is(err, responses.ErrNotFound) {
			t.Errorf("Delete(%q): %v, want ErrNotFound", id, err)
		}
	}
}

func TestOldResponsesGoAwayWithTheirConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := responses.Open(dir)
	old := answered(t, s, "1", "c1")
	shared := answered(t, s, "2", "c2")
	young := answered(t, s, "3", "c2")
	copied := answered(t, s, "4", "c3", func(r *responses.Record) { r.Origin = "c4" })
	origin := answered(t, s, "5", "c4")
	foreign := answered(t, s, "6", "c5", func(r *responses.Record) { r.Kept = false })
	for _, id := range []string{old, shared, origin, foreign} {
		path := filepath.Join(dir, "responses", "00", id+".json")
		if err := os.Chtimes(path, noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	var removed []string
	err := s.Sweep(t.Context(), noon.Add(time.Hour), func(c string) error { removed = append(removed, c); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c1"}, removed); diff != "" {
		t.Errorf("removed conversations: %s", diff)
	}
	for id, want := range map[string]bool{old: false, shared: false, young: true, copied: true, origin: false, foreign: false} {
		if _, err := s.Load(id); (err == nil) != want {
			t.Errorf("Load(%s): %v, want it to be there: %v", id, err, want)
		}
	}
}

func TestOnePlaceIsAfterAResponse(t *testing.T) {
	t.Parallel()
	s := responses.Open("")
	rec, err := s.Load(answered(t, s, "1", "c1"))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Claim(rec) || s.Claim(rec) {
		t.Error("a response was not claimed exactly once")
	}
	s.Release(rec.ID)
	if !s.Claim(rec) {
		t.Error("a released response cannot be claimed")
	}
}

func BenchmarkResumeAfterTenThousandEvents(b *testing.B) {
	dir := b.TempDir()
	s := responses.Open(dir)
	l := responses.NewLive(responses.Config{
		Store: s, Record: &responses.Record{}, Steps: true, Now: func() time.Time { return noon },
		Conclude: func(turn.Result, error) responses.Ending {
			return responses.Ending{Status: openai.ResponseCompleted}
		},
	})
	l.Admitted("c", "00000000000000000000000000000001", noon)
	if err := l.Begin(turn.Baseline{}); err != nil {
		b.Fatal(err)
	}
	for range 10_100 {
		l.Update(turn.Update{Kind: turn.Text, Text: "word "})
	}
	l.End(turn.Result{}, nil, true)
	for b.Loop() {
		if events, err := s.Events(l.ID(), 10_000); err != nil || len(events) < 100 {
			b.Fatal(len(events), err)
		}
	}
}
