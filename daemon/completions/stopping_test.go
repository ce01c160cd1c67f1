package completions_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// slowToStop answers with what it was told. The first time a message begins
// with "long" it works for ever, and obeys no interrupt for 15 s.
func slowToStop() *daemontest.Backend {
	b := daemontest.New("default")
	slow := true
	b.Script = func(prompt string) []daemontest.Step {
		text := prompt[strings.LastIndex(prompt, "\n")+1:]
		if !strings.HasPrefix(text, "long") || !slow {
			return []daemontest.Step{daemontest.Finish("You said: " + text)}
		}
		slow = false
		deaf := func(*daemontest.Run) bool { time.Sleep(15 * time.Second); return true }
		return []daemontest.Step{daemontest.Delta("so far"), deaf, daemontest.Hang()}
	}
	return b
}

// A message that is sent while its abandoned run is being stopped gets its own
// run: in a one-shot, in a conversation and in a chat, the same message and
// another one, after the grace and after a stop.
func TestAMessageWhileARunIsBeingStoppedIsAnswered(t *testing.T) {
	t.Parallel()
	for where, header := range map[string][]string{
		"one-shot": nil, "conversation": {"X-OpenHands-ServerConversation-ID", apitest.Conversation}, "chat": {chatID, "c-1"},
	} {
		for _, next := range []string{"long work", "something else"} {
			for _, how := range []string{"after the grace", "after an interrupt"} {
				t.Run(where+", "+next+", "+how, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := slowToStop()
						g := apitest.Serve(t, b)
						w := openWindow(g, header...)
						w.say("hello")
						first := w.conversation()
						w.stop("long work", 1)
						if how == "after an interrupt" {
							time.Sleep(9 * time.Second)
							for _, o := range b.Opened() {
								g.Do(http.MethodPost, "/v1/conversations/"+o.ID+"/interrupt", "")
							}
							time.Sleep(4 * time.Second)
						} else {
							time.Sleep(13 * time.Second) // the grace is over, and the run goes on
						}
						if next == "long work" {
							w.shows = w.shows[:len(w.shows)-2]
						}
						if got := w.say(next); got != "You said: "+next {
							t.Errorf("status = %d, text = %q, body = %s", w.last.Status, got, w.last.Body)
						}
						if w.last.Header.Get("X-OpenHands-Replayed") != "" {
							t.Error("it was given the run that is being stopped")
						}
						if where == "conversation" && w.conversation() != first {
							t.Errorf("the conversation is %s, want %s", w.conversation(), first)
						}
						if b.Runs() != 3 {
							t.Errorf("%d runs, want 3", b.Runs())
						}
					})
				})
			}
		}
	}
}
