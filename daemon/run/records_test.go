package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
)

func keyed(text string) run.Request {
	req := ask(text)
	req.IdempotencyKey = "k"
	return req
}

func TestKeyIsAnsweredFromItsRun(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.answered(keyed("hi"))
		time.Sleep(23 * time.Hour)
		a := w.submit(keyed("hi"))
		defer a.Close()
		if text, res, err := w.read(a); text != "re: hi" || res.Answer != "re: hi" || err != nil || !a.Replayed() {
			t.Errorf("got %q, %+v, %v, replayed %v", text, res, err, a.Replayed())
		}
		w.wantRuns(1)
	})
}

func TestKeyIsForgottenAfterADay(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.answered(keyed("hi"))
		time.Sleep(25 * time.Hour)
		w.answered(keyed("hi"))
		w.wantRuns(2)
	})
}

func TestKeyOfAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.answered(keyed("hi"))
		for range 2 { // from memory, then from the record
			if _, err := w.m.Submit(w.t.Context(), keyed("other")); !errors.Is(err, run.ErrKeyConflict) {
				t.Errorf("error %v, want ErrKeyConflict", err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestKeysOfTwoTokensAreTwo(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.answered(keyed("hi"))
		req := keyed("hi")
		req.Token = "another"
		w.answered(req)
		w.wantRuns(2)
	})
}

func TestKeySurvivesTheProcess(t *testing.T) {
	t.Parallel()
	cfg := run.Config{OneShotTTL: time.Hour}
	tests := []struct {
		name, text string
		between    func(w *world, id string)
		want       string
		wantErr    error
	}{
		{name: "an answer", text: "hi", want: "re: hi"},
		{name: "a failure", text: "fail"},
		{
			name: "a run that goes on", text: "wait and see", want: "partly done",
			between: func(w *world, id string) {
				go func() {
					time.Sleep(time.Second)
					w.b.conv(id).letGo()
				}()
			},
		},
		{
			name: "a run that ended meanwhile", text: "wait", want: "partly done",
			between: func(w *world, id string) { w.b.conv(id).letGo() },
		},
		{
			name: "a conversation that is gone", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { _ = w.b.Remove(w.t.Context(), id) },
		},
		{ // the log has the message and "running"
			name: "a run that died", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { w.b.conv(id).dies(2, event.Failed) },
		},
		{
			name: "a run that died, and a turn behind it", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) {
				w.b.conv(id).dies(2, event.Failed)
				w.b.conv(id).tell(event.Failed)
				w.b.conv(id).other("second")
			},
		},
		{
			name: "a run that died untold, and a turn behind it", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { w.b.conv(id).dies(2, event.Failed); w.b.conv(id).other("second") },
		},
		{
			name: "a message without a run, in a conversation that has finished", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { w.b.conv(id).dies(1, event.Finished) },
		},
		{
			name: "a message without a run, and a turn behind it", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { w.b.conv(id).dies(1, event.Finished); w.b.conv(id).other("second") },
		},
		{
			name: "a message that never arrived, and a turn in its place", text: "wait", wantErr: run.ErrInterrupted,
			between: func(w *world, id string) { w.b.conv(id).dies(0, event.Idle); w.b.conv(id).other("second") },
		},
		{
			name: "a record that cannot be read", text: "hi", wantErr: run.ErrInterrupted,
			between: func(w *world, _ string) {
				files, err := filepath.Glob(filepath.Join(cfg.StateDir, "idempotency", "*.json"))
				if err != nil || len(files) != 1 {
					t.Fatalf("records: %v, %v", files, err)
				}
				if err := os.WriteFile(files[0], []byte(`{"vers`), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg.StateDir = t.TempDir()
			inBubble(t, cfg, func(w *world) {
				a := w.submit(keyed(tt.text))
				synctest.Wait()
				// A crash: the old manager is just not there any more. It must not
				// interrupt its run, so its own end comes after the test.
				old := w.m
				defer old.Close()
				if tt.between != nil {
					tt.between(w, a.ConversationID())
				}
				w.start(cfg)
				b := w.submit(keyed(tt.text))
				text, _, err := w.read(b)
				if text != tt.want && text != "partly" || tt.wantErr != nil && text != "" && text != "partly" || !errors.Is(err, tt.wantErr) {
					t.Errorf("got %q, %v; want %q, %v", text, err, tt.want, tt.wantErr)
				}
				if a.ConversationID() != b.ConversationID() && tt.wantErr == nil {
					t.Error("another conversation")
				}
				b.Close()
				w.wantRuns(1)
				a.Close()
			})
		})
	}
}

func TestRunIsNotStartedWithoutItsRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, run.Config{StateDir: dir}, func(w *world) {
		// A file where the directory was: every write fails, also for root.
		if err := os.Remove(filepath.Join(dir, "idempotency")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "idempotency"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a := w.submit(keyed("hi"))
		defer a.Close()
		if _, _, err := w.read(a); !errors.Is(err, run.ErrRecord) {
			t.Errorf("error %v, want ErrRecord", err)
		}
		w.wantRuns(0)
	})
}

func TestKeyOfARunThatDidNotStartIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{StateDir: t.TempDir()}, func(w *world) {
		w.b.openErr = errors.New("down")
		a := w.submit(keyed("hi"))
		if _, _, err := w.read(a); err == nil {
			t.Error("a run on a backend that is down has no error")
		}
		a.Close()
		w.b.openErr = nil
		if res := w.answered(keyed("hi")); res.Outcome != turn.Finished {
			t.Errorf("outcome %v", res.Outcome)
		}
		w.wantRuns(1)
	})
}

// theRecord is the only file of a record.
func theRecord(t *testing.T, cfg run.Config) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cfg.StateDir, "idempotency", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("records: %v, %v", files, err)
	}
	return files[0]
}

func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(data))
	if text == string(data) {
		t.Fatalf("nothing to change in %s", data)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAClockThatIsSetForgetsNoKeyAndKeepsNoneForEver(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		name      string
		restart   bool
		clock     time.Duration   // by which it was wrong when the record was made
		stays     []time.Duration // since the start of the process that is asked
		forgotten time.Duration
	}{
		{"set forward", false, -2 * day, []time.Duration{time.Minute, time.Hour, 20 * time.Hour}, 25 * time.Hour},
		{"set back", false, 2000 * day, []time.Duration{time.Minute, 20 * time.Hour}, 25 * time.Hour},
		{"set forward, after a restart", true, -2 * day, []time.Duration{time.Minute, 14 * time.Minute}, 16 * time.Minute},
		{"set back, after a restart", true, 2000 * day, []time.Duration{time.Minute, 20 * time.Hour}, 25 * time.Hour},
		{"right, after a restart", true, 0, []time.Duration{time.Minute, 20 * time.Hour}, 25 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := run.Config{StateDir: t.TempDir()}
			inBubble(t, cfg, func(w *world) {
				w.answered(keyed("hi"))
				synctest.Wait()
				began := time.Now()
				if tt.restart {
					w.stop()
					w.start(cfg)
				}
				if tt.clock != 0 {
					started := regexp.MustCompile(`"started":"[^"]*"`)
					wrong := `"started":"` + began.Add(tt.clock).Format(time.RFC3339) + `"`
					rewrite(t, theRecord(t, cfg), func(s string) string { return started.ReplaceAllString(s, wrong) })
				}
				for _, at := range tt.stays {
					time.Sleep(at - time.Since(began))
					w.answered(keyed("hi"))
					w.wantRuns(1)
				}
				time.Sleep(tt.forgotten - time.Since(began))
				w.answered(keyed("hi"))
				w.wantRuns(2)
			})
		})
	}
}

// The end of a record is cut off by a full disk: the key follows its run, which
// has ended in its conversation.
func TestAnEndThatWasCutOffIsFoundInTheConversation(t *testing.T) {
	t.Parallel()
	cfg := run.Config{StateDir: t.TempDir(), OneShotTTL: time.Hour}
	inBubble(t, cfg, func(w *world) {
		w.answered(keyed("hi"))
		w.stop()
		rewrite(t, theRecord(t, cfg), func(s string) string { return s[:strings.Index(s, `{"end"`)+20] })
		for range 2 { // the second time from the end that was added then
			w.start(cfg)
			if res := w.answered(keyed("hi")); res.Answer != "re: hi" {
				t.Errorf("answer %q", res.Answer)
			}
			w.wantRuns(1)
			w.stop()
		}
		w.start(cfg)
	})
}

func TestARecordOfAnotherBackendWaitsForIt(t *testing.T) {
	t.Parallel()
	cfg := run.Config{StateDir: t.TempDir(), BackendID: "a", OneShotTTL: time.Hour}
	other := cfg
	other.BackendID = "b"
	inBubble(t, cfg, func(w *world) {
		a := w.submit(keyed("wait"))
		defer a.Close()
		synctest.Wait()
		defer w.m.Close() // a crash: it interrupts its run after the test only
		w.start(other)
		b := w.submit(keyed("wait"))
		if _, _, err := w.read(b); !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("at another backend: %v", err)
		}
		b.Close()
		w.stop()
		w.b.conv(a.ConversationID()).letGo()
		w.start(cfg)
		if res := w.answered(keyed("wait")); res.Answer != "partly done" {
			t.Errorf("answer %q", res.Answer)
		}
		w.wantRuns(1)
	})
}

func TestOldRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	cfg := run.Config{StateDir: t.TempDir()}
	dir := filepath.Join(cfg.StateDir, "idempotency")
	inBubble(t, cfg, func(w *world) {
		w.answered(keyed("hi"))
		old := time.Now().Add(-25 * time.Hour)
		for i := range 350 {
			path := filepath.Join(dir, fmt.Sprintf("%064x.json", i))
			if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chtimes(path, old, old)); err != nil {
				t.Fatal(err)
			}
		}
		mine := filepath.Join(dir, "theirs.txt")
		if err := errors.Join(os.WriteFile(mine, nil, 0o600), os.Chtimes(mine, old, old)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 { // the record, the file of another program
			t.Errorf("%d files, %v: %v", len(entries), err, entries)
		}
	})
}
