package conversations_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestTheItemsOfAConversationAreWhatWasSaid(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	l := g.Items(apitest.Conversation, "order=asc")
	apitest.Equal(t, "the object", l.Object, "list")
	want := []string{"user: one", "assistant: Let me look.", "assistant: First.", "user: two", "assistant: Second."}
	if got := l.Said(); !slices.Equal(got, want) {
		t.Errorf("said %q", got)
	}
	if l.HasMore || *l.FirstID != l.Data[0]["id"] || *l.LastID != l.Data[4]["id"] {
		t.Errorf("the list = %+v", l)
	}
	for _, item := range l.Data {
		apitest.Equal(t, "the status", item["status"], "completed")
	}
	apitest.Equal(t, "the phase on the way", l.Data[1]["phase"], "commentary")
	apitest.Equal(t, "the phase of an answer", l.Data[2]["phase"], "final_answer")
	// OpenAI's own order is the newest first.
	slices.Reverse(want)
	if got := g.Items("conv_"+apitest.Conversation, "").Said(); !slices.Equal(got, want) {
		t.Errorf("the newest first: %q", got)
	}
	if n := g.Backend.Runs(); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// What the agent thought is listed where it was thought, page by page, too.
func TestReasoningIsAnItem(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Think("Look first.", "ls"), daemontest.Finish("Done."))
	g := apitest.Serve(t, b)
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "one", apitest.Conversation))
	want := []string{"user: one", "thought: Look first.", "assistant: Done."}
	apitest.Equal(t, "the list", fmt.Sprint(g.Items(apitest.Conversation, "order=asc").Said()), fmt.Sprint(want))
	res := g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+"/items?order=asc", "")
	apitest.Valid(t, "response-item-list", []byte(res.Body))
	want = []string{"user: one", "thought: Look first.", "done: $ ls", "assistant: Done."}
	for _, order := range []string{"asc", "desc"} {
		var got []string
		for after, more := "", true; more; {
			l := g.Items(apitest.Conversation, "include=openhands.actions&limit=1&order="+order+after)
			got, more, after = append(got, l.Said()...), l.HasMore, "&after="+*l.LastID
		}
		if order == "desc" {
			slices.Reverse(got)
		}
		apitest.Equal(t, order, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// The list has OpenAI's schema, with pictures too: their URLs for who asks.
func TestTheListOfItemsFitsTheSchema(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	body := `{"model":"openhands_default","messages":[{"role":"user","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"` + image + `"}}]}]}`
	apitest.Completed(t, g.Chat(body, apitest.HeaderID, apitest.Conversation))
	for query, shown := range map[string]bool{"": false, "include=message.input_image.image_url": true} {
		res := g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+"/items?order=asc&"+query, "")
		apitest.Valid(t, "response-item-list", []byte(res.Body))
		if strings.Contains(res.Body, image) != shown || !strings.Contains(res.Body, `"type":"input_image"`) {
			t.Errorf("%q: items = %s", query, res.Body)
		}
	}
}

func TestActionsAreItemsForWhoAsks(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	want := []string{
		"user: one", "assistant: Let me look.", "done: $ ls", "done: $ cat x", "assistant: First.", "user: two", "assistant: Second.",
	}
	for _, name := range []string{"include", "include[]"} {
		if got := g.Items(apitest.Conversation, name+"=openhands.actions&order=asc").Said(); !slices.Equal(got, want) {
			t.Errorf("%s: items say %q, want %q", name, got, want)
		}
	}
}

// Page by page, in both directions and of every size, each item comes once.
func TestPagesOfItemsGiveEachOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	for _, order := range []string{"asc", "desc"} {
		for _, include := range []string{"", "&include=openhands.actions"} {
			all := g.Items(apitest.Conversation, "limit=100&order="+order+include).Said()
			for limit := 1; limit <= len(all)+1; limit++ {
				var got []string
				for after := ""; ; {
					l := g.Items(apitest.Conversation, fmt.Sprintf("limit=%d&order=%s%s%s", limit, order, include, after))
					got = append(got, l.Said()...)
					if !l.HasMore {
						break
					}
					after = "&after=" + *l.LastID
				}
				if !slices.Equal(got, all) {
					t.Errorf("%s%s, %d at a time: %q, want %q", order, include, limit, got, all)
				}
			}
		}
	}
}

func TestAnEmptyPageHasNoIDs(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	last := *g.Items(apitest.Conversation, "order=asc").LastID
	res := g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+"/items?order=asc&after="+last, "")
	apitest.Equal(t, "the body", strings.TrimSpace(res.Body), `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`)
}

func TestItemsThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	for query, param := range map[string]string{
		"order=up": "order", "limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "include=everything": "include", "after=msg_nothing": "after",
	} {
		res := g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+"/items?"+query, "")
		apitest.Envelope(t, res, http.StatusBadRequest, "invalid_value", param)
	}
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/conversations/x/items", ""), http.StatusBadRequest, "invalid_conversation_id", "id")
	apitest.Envelope(t, g.Do(http.MethodPut, "/v1/conversations/"+apitest.Conversation, ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	apitest.Envelope(t, g.Do(http.MethodDelete, "/v1/conversations/"+apitest.Conversation+"/items", ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	head := g.Do(http.MethodHead, "/v1/conversations/"+apitest.Conversation+"/items", "")
	apitest.Equal(t, "the status of HEAD", head.Status, http.StatusOK)
}

func TestAConversationHasOpenAIsForm(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t)
	want := fmt.Sprintf(`{"id":"conv_%s","object":"conversation","created_at":%d,"metadata":{},"ohgw":{"profile":"default"}}`, apitest.Conversation, daemontest.Began().Unix())
	for _, id := range []string{apitest.Conversation, "conv_" + apitest.Conversation, "conv_" + strings.ReplaceAll(apitest.Conversation, "-", "")} {
		res := g.Do(http.MethodGet, "/v1/conversations/"+id, "")
		apitest.Equal(t, "the body", strings.TrimSpace(res.Body), want)
	}
}

func TestADeletedConversationIsGone(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	res := g.Do(http.MethodDelete, "/v1/conversations/"+apitest.Conversation, "")
	apitest.Equal(t, "the body", strings.TrimSpace(res.Body), `{"id":"conv_`+apitest.Conversation+`","object":"conversation.deleted","deleted":true}`)
	for _, path := range []string{"", "/items"} {
		apitest.Envelope(t, g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+path, ""), http.StatusNotFound, "conversation_not_found", "id")
	}
	apitest.Envelope(t, g.Do(http.MethodDelete, "/v1/conversations/"+apitest.Conversation, ""), http.StatusNotFound, "conversation_not_found", "id")
	// The id has no owner any more: another token may begin a conversation with it.
	apitest.Completed(t, g.As(apitest.OtherKey, "openhands_default", "two", apitest.Conversation))
}

func TestDeletingStopsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Hang()))
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), apitest.HeaderID, apitest.Conversation))
		synctest.Wait()
		apitest.Equal(t, "the status", g.Do(http.MethodDelete, "/v1/conversations/"+apitest.Conversation, "").Status, http.StatusOK)
		f := apitest.Parse(t, g.Finish(res))
		apitest.Equal(t, "the last frame", f.End, "[DONE]")
		if n := g.Backend.Interrupts(); n != 1 {
			t.Errorf("%d interrupts", n)
		}
		if got := g.Backend.Removed(); len(got) != 1 {
			t.Errorf("removed %v", got)
		}
	})
}

// Another token learns nothing of a conversation and deletes nothing. A token
// for some models has no access to a conversation without an owner.
func TestTheItemsOfAConversationAreItsOwners(t *testing.T) {
	t.Parallel()
	const nobodys = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d00"
	g := apitest.Talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	conv, err := g.Backend.Open(t.Context(), agentapi.OpenRequest{ID: nobodys, Profile: "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	for bearer := range apitest.Models() {
		for _, id := range []string{apitest.Conversation, nobodys} {
			if id == nobodys && bearer == apitest.OtherKey {
				continue // for all models
			}
			for _, request := range [][2]string{{http.MethodGet, ""}, {http.MethodGet, "/items"}, {http.MethodDelete, ""}} {
				res := g.Do(request[0], "/v1/conversations/"+id+request[1], "", "Authorization", "Bearer "+bearer)
				apitest.Envelope(t, res, http.StatusNotFound, "conversation_not_found", "id")
				unknown := g.Do(request[0], "/v1/conversations/0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"+request[1], "", "Authorization", "Bearer "+bearer)
				apitest.Equal(t, "the answer for an unknown one", unknown.Body, res.Body)
			}
		}
	}
	if got := g.Items(nobodys, "", "Authorization", "Bearer "+apitest.OtherKey); len(got.Data) != 0 {
		t.Errorf("the items for another token: %v", got.Said())
	}
	if len(g.Backend.Removed()) != 0 {
		t.Error("something was removed")
	}
	if got := g.Items(apitest.Conversation, ""); len(got.Data) != 5 {
		t.Errorf("the items of the conversation: %v", got.Said())
	}
}
