package conversation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// accepted appends a message while a step goes on; it must not wait for the step. Its
// client goes with the answer.
func (w *world) accepted(text string) {
	w.t.Helper()
	ctx, gone := context.WithCancel(w.t.Context())
	defer gone()
	over := make(chan error, 1)
	go func() { over <- w.conv.Append(ctx, []event.Content{event.Text(text)}, "", true) }()
	synctest.Wait()
	select {
	case err := <-over:
		if err != nil {
			w.t.Fatal(err)
		}
	default:
		w.t.Fatalf("%q waits for the step", text)
	}
}

// saidIn counts the messages of the user with a text in the log.
func (w *world) saidIn(text string) (n int) {
	w.t.Helper()
	log, err := w.conv.Log(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		e, rest, more, err := log.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		if !more {
			return n
		}
		log = rest
		if m, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser && event.PlainText(m.LLMMessage.Content) == text {
			n++
		}
	}
}

// A message is accepted at once, whatever a step takes, and follows it in the log.
func TestAMessageDuringAStepIsAcceptedAtOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(w *world, asked, answering chan struct{}) []reply{
		"a call of the model": func(_ *world, asked, answering chan struct{}) []reply {
			return []reply{asking(asked, answering, answer("r1", "One.")), answer("r2", "Two.")}
		},
		"a tool": func(w *world, asked, answering chan struct{}) []reply {
			w.look = func(context.Context) (string, error) {
				close(asked)
				<-answering
				return "seen", nil
			}
			return []reply{answer("r1", "", look("c1")), answer("r2", "Two.")}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked, answering := make(chan struct{}), make(chan struct{})
			w := open(t, &model{}, nil)
			w.model.todo = script(w, asked, answering)
			w.add("one", true)
			<-asked
			w.accepted("two")
			w.accepted("three")
			close(answering)
			if all := strings.Join(lines(w.rest()), "\n"); !strings.Contains(all, "user says two\nuser says three") || !strings.HasSuffix(all, "agent says Two.\nstatus finished") {
				t.Errorf("%s: events = %s, want both messages before one answer", name, all)
			}
			w.reopen()
			if two, three := w.saidIn("two"), w.saidIn("three"); two != 1 || three != 1 {
				t.Errorf("%s: the log has the messages %d and %d times", name, two, three)
			}
		})
	}
}

// What a process accepted before it died is in the log of the next one, once.
func TestAnAcceptedMessageOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(files *loseWaiting){
		"before it is in the log": func(*loseWaiting) {},
		"behind it":               func(files *loseWaiting) { files.lost = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			asked, answering := make(chan struct{}), make(chan struct{})
			files := &loseWaiting{}
			w := openOn(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, files, nil)
			w.add("one", true)
			<-asked
			w.accepted("two")
			lose(files)
			if files.lost { // the log has it, and the list as well
				w.model.todo = append(w.model.todo, answer("r2", "Two."))
				close(answering)
				w.rest()
			}
			w.reopen()
			synctest.Wait()
			if n := w.saidIn("two"); n != 1 {
				t.Errorf("%s: the log has the message %d times", name, n)
			}
			w.reopen()
			synctest.Wait()
			if n := w.saidIn("two"); n != 1 {
				t.Errorf("%s: after one more start, the log has the message %d times", name, n)
			}
		})
	}
}

// A message that cannot be kept is not accepted.
func TestAMessageOnAFullDiskIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, answering := make(chan struct{}), make(chan struct{})
		files := &loseWaiting{}
		w := openOn(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, files, nil)
		w.add("one", true)
		<-asked
		files.full = true
		if err := w.conv.Append(t.Context(), []event.Content{event.Text("two")}, "", true); !errors.Is(err, agentapi.ErrUnavailable) {
			t.Errorf("the message: %v, want ErrUnavailable", err)
		}
		close(answering)
		want(t, w.rest(), "SystemPromptEvent", "user says one", "status running", "agent says One.", "status finished")
	})
}

// loseWaiting is a disk that loses or refuses the list of messages that wait.
type loseWaiting struct {
	store.Disk
	lost, full bool
}

func (f *loseWaiting) Write(path string, data []byte, sync bool) error {
	if strings.Contains(filepath.Base(path), "waiting") {
		switch {
		case f.full:
			return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		case f.lost:
			return nil
		}
	}
	return f.Disk.Write(path, data, sync)
}
