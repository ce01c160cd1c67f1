package run_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

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
				if text != tt.want && text != "partly" || !errors.Is(err, tt.wantErr) {
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
