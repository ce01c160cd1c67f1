package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon/daemontest"
)

// A confirmation that was sent while the agent still worked does not answer
// what the agent asked later: its sender had not seen that question.
func TestAYesFromBeforeTheQuestionAcceptsNothing(t *testing.T) {
	t.Parallel()
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	for name, header := range map[string][]string{
		"in words":    {"X-OpenHands-ServerConversation-ID", id},
		"in a header": {"X-OpenHands-ServerConversation-ID", id, "X-OpenHands-Confirm", "accept"},
		"in a chat":   {"X-Session-Id", "s-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				b := daemontest.New("default")
				b.Script = func(prompt string) []daemontest.Step {
					if prompt == "clean up" {
						return []daemontest.Step{daemontest.Until(gate), daemontest.Confirm("rm -rf build"), daemontest.Finish("deleted")}
					}
					return []daemontest.Step{daemontest.Finish("as you like")}
				}
				g := serve(t, b)
				first := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("clean up", streamed), header[:2]...))
				synctest.Wait()
				second := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("yes", streamed), header...))
				synctest.Wait()
				close(gate)
				g.finish(first)
				answer := parse(t, g.finish(second)).text()
				if decided := b.Decided(); len(decided) != 1 || decided[0].Accept || answer != "as you like" {
					t.Errorf("decided %+v, answered %q", decided, answer)
				}
			})
		})
	}
}

// A token for some models must not speak, decide or read along in what runs on
// another one, whatever id it has come by.
func TestATokenForSomeModelsStaysOutOfTheConversationsOfOthers(t *testing.T) {
	t.Parallel()
	const theirs, own = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e", "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"
	b := daemontest.New("default", "cheap")
	b.Script = func(prompt string) []daemontest.Step {
		if prompt == "clean up" {
			return []daemontest.Step{daemontest.Confirm("rm -rf build"), daemontest.Finish("deleted")}
		}
		return []daemontest.Step{daemontest.Finish("as you like")}
	}
	g := serve(t, b)
	g.chat(ask("clean up"), "X-OpenHands-ServerConversation-ID", theirs)
	limited := func(prompt, id string, header ...string) response {
		body := strings.Replace(ask(prompt), "openhands_default", "openhands_cheap", 1)
		return g.chat(body, append([]string{"Authorization", "Bearer " + limitedKey, "X-OpenHands-ServerConversation-ID", id}, header...)...)
	}
	envelope(t, limited("what was said?", theirs), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	envelope(t, limited("yes", theirs), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	envelope(t, limited("go on", theirs, "X-OpenHands-Confirm", "reject"), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	size(t, "what was decided", b.Decided(), 0)
	equal(t, "the number of runs", b.Runs(), 1)
	for range 2 {
		completed(t, limited("hi", own))
	}
	// What waits still waits, on the model that it was asked with.
	if answer := completed(t, g.chat(ask("yes"), "X-OpenHands-ServerConversation-ID", theirs)).text(); answer != "deleted" {
		t.Errorf("answered %q", answer)
	}
	// A token for all models has no business in the conversations of others, either.
	envelope(t, g.chat(ask("hi"), "X-OpenHands-ServerConversation-ID", own), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
}
