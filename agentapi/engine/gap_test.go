package engine_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// What lies behind a missing event is left out. The person, the model and the log are
// told, once.
func TestAGapInTheLogIsTold(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]int{"near the beginning": 2, "in the middle": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told strings.Builder
			w := newWorld(t, func(c *engine.Config) { c.Log = slog.New(slog.NewTextHandler(&told, nil)) })
			w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
			w.say("first")
			w.say("second")
			w.close()
			files := w.files("events/event-*.json")
			if err := os.Remove(files[missing]); err != nil {
				t.Fatal(err)
			}
			w.start()
			r, err := w.backend.Control().Record(w.ctx(), w.id)
			if want := len(files) - missing - 1; err != nil || r.LeftOut != want {
				t.Errorf("the record has %d events left out, want %d (%v)", r.LeftOut, want, err)
			}
			found, err := w.backend.Control().Search(w.ctx(), w.id, control.EventQuery{Limit: 100})
			if want := len(files) - missing - 1; err != nil || found.LeftOut != want || len(found.Events) != missing {
				t.Errorf("a page has %d events and %d left out, want %d (%v)", len(found.Events), found.LeftOut, want, err)
			}
			numbered, err := w.backend.Control().Numbered(w.ctx(), w.id, 1, 100)
			if want := len(files) - missing - 1; err != nil || numbered.LeftOut != want || numbered.Length != missing || len(numbered.Events) != missing-1 || numbered.Events[0].Number != 1 {
				t.Errorf("the numbers are %+v (%v)", numbered, err)
			}
			for i, text := range []string{"third", "fourth"} {
				w.llm.Reply(llmtest.Text("more"))
				var lines []string
				res := w.play(turn.Input{Message: agentapi.Message{Text: text}, Emit: func(u turn.Update) {
					if u.Kind == turn.Progress {
						lines = append(lines, u.Text)
					}
				}})
				got := strings.Join(lines, " ")
				if said := strings.Contains(got, "is missing on the disk"); said != (i == 0) || res.Answer != "more" {
					t.Errorf("%s: the person was told %q, and %q", text, got, res.Answer)
				}
			}
			if !strings.Contains(told.String(), "is missing on the disk") || !strings.Contains(told.String(), "left_out=") {
				t.Errorf("the log is %s", told.String())
			}
			m := lastOf[*event.Message](t, w.log())
			if event.PlainText(m.LLMMessage.Content) != "more" {
				t.Errorf("the log ends with %+v", m)
			}
		})
	}
}

// A directory with nothing in it is not a conversation.
func TestAnEmptyDirectoryIsTakenForANewConversation(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(w *world) error{
		"empty":         func(w *world) error { return os.MkdirAll(w.dir(), 0o700) },
		"of other mode": func(w *world) error { return os.MkdirAll(w.dir(), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := made(w); err != nil {
				t.Fatal(err)
			}
			w.llm.Reply(llmtest.Text("hello"))
			if res := w.say("hi"); res.Answer != "hello" {
				t.Errorf("result = %+v, want the answer %q", res, "hello")
			}
		})
	}
}

// foreign is a disk whose files belong to another user.
type foreign struct{ enginetest.Disk }

func (foreign) Mkdir(path string) error {
	return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.EACCES}
}

func TestFilesOfAnotherUserAreNotAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Files = foreign{} })
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, New: true, Profile: "main", Workspace: w.workspace})
	msg := agentapi.PublicMessage(err, "")
	if !errors.Is(err, agentapi.ErrUnavailable) || !strings.Contains(msg, "may not read or write") || strings.Contains(msg, "space") || strings.Contains(msg, w.cfg.Dir) {
		t.Errorf("the error of another user's files: %v: %q", err, msg)
	}
}
