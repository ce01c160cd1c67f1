package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon/apitest"
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
				g := apitest.Serve(t, b)
				first := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("clean up", apitest.Streamed), header[:2]...))
				synctest.Wait()
				second := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("yes", apitest.Streamed), header...))
				synctest.Wait()
				close(gate)
				g.Finish(first)
				answer := apitest.Parse(t, g.Finish(second)).Text()
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
	g := apitest.Serve(t, b)
	g.Chat(apitest.Ask("clean up"), "X-OpenHands-ServerConversation-ID", theirs)
	limited := func(prompt, id string, header ...string) apitest.Response {
		body := strings.Replace(apitest.Ask(prompt), "openhands_default", "openhands_cheap", 1)
		return g.Chat(body, append([]string{"Authorization", "Bearer " + apitest.LimitedKey, "X-OpenHands-ServerConversation-ID", id}, header...)...)
	}
	apitest.Envelope(t, limited("what was said?", theirs), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	apitest.Envelope(t, limited("yes", theirs), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	apitest.Envelope(t, limited("go on", theirs, "X-OpenHands-Confirm", "reject"), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
	apitest.Size(t, "what was decided", b.Decided(), 0)
	apitest.Equal(t, "the number of runs", b.Runs(), 1)
	for range 2 {
		apitest.Completed(t, limited("hi", own))
	}
	// What waits still waits, on the model that it was asked with.
	if answer := apitest.Completed(t, g.Chat(apitest.Ask("yes"), "X-OpenHands-ServerConversation-ID", theirs)).Text(); answer != "deleted" {
		t.Errorf("answered %q", answer)
	}
	// A token for all models has no business in the conversations of others, either.
	apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "X-OpenHands-ServerConversation-ID", own), http.StatusNotFound, "conversation_not_found", "X-OpenHands-ServerConversation-ID")
}
