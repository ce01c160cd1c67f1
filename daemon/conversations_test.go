package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// items is a page of items as a client reads it.
type items struct {
	Object  string           `json:"object"`
	Data    []map[string]any `json:"data"`
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
	HasMore bool             `json:"has_more"`
}

// said is each item in a line: who, and what.
func (l items) said() (lines []string) {
	for _, item := range l.Data {
		switch item["type"] {
		case "message":
			content := item["content"].([]any)[0].(map[string]any)
			lines = append(lines, fmt.Sprint(item["role"], ": ", content["text"]))
		case "reasoning":
			lines = append(lines, fmt.Sprint("thought: ", item["summary"].([]any)[0].(map[string]any)["text"]))
		case "openhands.action":
			lines = append(lines, fmt.Sprint(item["state"], ": ", item["line"]))
		default:
			lines = append(lines, fmt.Sprint(item["type"], ": ", item["message"]))
		}
	}
	return lines
}

func (g *gateway) items(id, query string, header ...string) items {
	g.t.Helper()
	res := g.do(http.MethodGet, "/v1/conversations/"+id+"/items?"+query, "", header...)
	if res.status != http.StatusOK {
		g.t.Fatalf("%d %s", res.status, res.body)
	}
	var l items
	if err := json.Unmarshal([]byte(res.body), &l); err != nil {
		g.t.Fatal(err)
	}
	return l
}

// talked is a conversation of two turns, with actions in the first.
func talked(t *testing.T, change ...func(*daemon.Config)) *gateway {
	t.Helper()
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		if prompt == "one" {
			return []daemontest.Step{
				daemontest.Batch("Let me look.", "ls", "cat x"), daemontest.Finish("First."),
			}
		}
		return []daemontest.Step{daemontest.Finish("Second.")}
	}
	g := serve(t, b, change...)
	completed(t, g.as(key, "openhands_default", "one", conversation))
	completed(t, g.as(key, "openhands_default", "two", conversation))
	return g
}

func TestTheItemsOfAConversationAreWhatWasSaid(t *testing.T) {
	t.Parallel()
	g := talked(t)
	l := g.items(conversation, "order=asc")
	equal(t, "the object", l.Object, "list")
	want := []string{"user: one", "assistant: Let me look.", "assistant: First.", "user: two", "assistant: Second."}
	if got := l.said(); !slices.Equal(got, want) {
		t.Errorf("said %q", got)
	}
	if l.HasMore || *l.FirstID != l.Data[0]["id"] || *l.LastID != l.Data[4]["id"] {
		t.Errorf("%+v", l)
	}
	for _, item := range l.Data {
		equal(t, "the status", item["status"], "completed")
	}
	equal(t, "the phase on the way", l.Data[1]["phase"], "commentary")
	equal(t, "the phase of an answer", l.Data[2]["phase"], "final_answer")
	// OpenAI's own order is the newest first.
	slices.Reverse(want)
	if got := g.items("conv_"+conversation, "").said(); !slices.Equal(got, want) {
		t.Errorf("the newest first: %q", got)
	}
	if n := g.backend.Runs(); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// What the agent thought is listed where it was thought, page by page, too.
func TestReasoningIsAnItem(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Think("Look first.", "ls"), daemontest.Finish("Done."))
	g := serve(t, b)
	completed(t, g.as(key, "openhands_default", "one", conversation))
	want := []string{"user: one", "thought: Look first.", "assistant: Done."}
	equal(t, "the list", fmt.Sprint(g.items(conversation, "order=asc").said()), fmt.Sprint(want))
	res := g.do(http.MethodGet, "/v1/conversations/"+conversation+"/items?order=asc", "")
	valid(t, "response-item-list", []byte(res.body))
	want = []string{"user: one", "thought: Look first.", "done: $ ls", "assistant: Done."}
	for _, order := range []string{"asc", "desc"} {
		var got []string
		for after, more := "", true; more; {
			l := g.items(conversation, "include=openhands.actions&limit=1&order="+order+after)
			got, more, after = append(got, l.said()...), l.HasMore, "&after="+*l.LastID
		}
		if order == "desc" {
			slices.Reverse(got)
		}
		equal(t, order, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// The list has OpenAI's schema, with pictures too: their URLs for who asks.
func TestTheListOfItemsFitsTheSchema(t *testing.T) {
	t.Parallel()
	g := talked(t)
	const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	body := `{"model":"openhands_default","messages":[{"role":"user","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"` + image + `"}}]}]}`
	completed(t, g.chat(body, headerID, conversation))
	for query, shown := range map[string]bool{"": false, "include=message.input_image.image_url": true} {
		res := g.do(http.MethodGet, "/v1/conversations/"+conversation+"/items?order=asc&"+query, "")
		valid(t, "response-item-list", []byte(res.body))
		if strings.Contains(res.body, image) != shown || !strings.Contains(res.body, `"type":"input_image"`) {
			t.Errorf("%q: %s", query, res.body)
		}
	}
}

func TestActionsAreItemsForWhoAsks(t *testing.T) {
	t.Parallel()
	g := talked(t)
	want := []string{
		"user: one", "assistant: Let me look.", "done: $ ls", "done: $ cat x", "assistant: First.", "user: two", "assistant: Second.",
	}
	for _, name := range []string{"include", "include[]"} {
		if got := g.items(conversation, name+"=openhands.actions&order=asc").said(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Page by page, in both directions and of every size, each item comes once.
func TestPagesOfItemsGiveEachOnce(t *testing.T) {
	t.Parallel()
	g := talked(t)
	for _, order := range []string{"asc", "desc"} {
		for _, include := range []string{"", "&include=openhands.actions"} {
			all := g.items(conversation, "limit=100&order="+order+include).said()
			for limit := 1; limit <= len(all)+1; limit++ {
				var got []string
				for after := ""; ; {
					l := g.items(conversation, fmt.Sprintf("limit=%d&order=%s%s%s", limit, order, include, after))
					got = append(got, l.said()...)
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
	g := talked(t)
	last := *g.items(conversation, "order=asc").LastID
	res := g.do(http.MethodGet, "/v1/conversations/"+conversation+"/items?order=asc&after="+last, "")
	equal(t, "the body", strings.TrimSpace(res.body), `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`)
}

func TestItemsThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	g := talked(t)
	for query, param := range map[string]string{
		"order=up": "order", "limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "include=everything": "include", "after=msg_nothing": "after",
	} {
		res := g.do(http.MethodGet, "/v1/conversations/"+conversation+"/items?"+query, "")
		envelope(t, res, http.StatusBadRequest, "invalid_value", param)
	}
	envelope(t, g.do(http.MethodGet, "/v1/conversations/x/items", ""), http.StatusBadRequest, "invalid_conversation_id", "id")
	envelope(t, g.do(http.MethodPut, "/v1/conversations/"+conversation, ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	envelope(t, g.do(http.MethodDelete, "/v1/conversations/"+conversation+"/items", ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	head := g.do(http.MethodHead, "/v1/conversations/"+conversation+"/items", "")
	equal(t, "the status of HEAD", head.status, http.StatusOK)
}

func TestAConversationHasOpenAIsForm(t *testing.T) {
	t.Parallel()
	g := talked(t)
	want := fmt.Sprintf(`{"id":"conv_%s","object":"conversation","created_at":%d,"metadata":{},"ohgw":{"profile":"default"}}`, conversation, daemontest.Began().Unix())
	for _, id := range []string{conversation, "conv_" + conversation, "conv_" + strings.ReplaceAll(conversation, "-", "")} {
		res := g.do(http.MethodGet, "/v1/conversations/"+id, "")
		equal(t, "the body", strings.TrimSpace(res.body), want)
	}
}

func TestADeletedConversationIsGone(t *testing.T) {
	t.Parallel()
	g := talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	res := g.do(http.MethodDelete, "/v1/conversations/"+conversation, "")
	equal(t, "the body", strings.TrimSpace(res.body), `{"id":"conv_`+conversation+`","object":"conversation.deleted","deleted":true}`)
	for _, path := range []string{"", "/items"} {
		envelope(t, g.do(http.MethodGet, "/v1/conversations/"+conversation+path, ""), http.StatusNotFound, "conversation_not_found", "id")
	}
	envelope(t, g.do(http.MethodDelete, "/v1/conversations/"+conversation, ""), http.StatusNotFound, "conversation_not_found", "id")
	// The id has no owner any more: another token may begin a conversation with it.
	completed(t, g.as(otherKey, "openhands_default", "two", conversation))
}

func TestDeletingStopsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Say("So far."), daemontest.Hang()))
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed), headerID, conversation))
		synctest.Wait()
		equal(t, "the status", g.do(http.MethodDelete, "/v1/conversations/"+conversation, "").status, http.StatusOK)
		f := parse(t, g.finish(res))
		equal(t, "the last frame", f.end, "[DONE]")
		if n := g.backend.Interrupts(); n != 1 {
			t.Errorf("%d interrupts", n)
		}
		if got := g.backend.Removed(); len(got) != 1 {
			t.Errorf("removed %v", got)
		}
	})
}

// Another token learns nothing of a conversation and deletes nothing. A token
// for some models has no access to a conversation without an owner.
func TestTheItemsOfAConversationAreItsOwners(t *testing.T) {
	t.Parallel()
	const nobodys = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d00"
	g := talked(t, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	conv, err := g.backend.Open(t.Context(), agentapi.OpenRequest{ID: nobodys, Profile: "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	for bearer := range models() {
		for _, id := range []string{conversation, nobodys} {
			if id == nobodys && bearer == otherKey {
				continue // for all models
			}
			for _, request := range [][2]string{{http.MethodGet, ""}, {http.MethodGet, "/items"}, {http.MethodDelete, ""}} {
				res := g.do(request[0], "/v1/conversations/"+id+request[1], "", "Authorization", "Bearer "+bearer)
				envelope(t, res, http.StatusNotFound, "conversation_not_found", "id")
				unknown := g.do(request[0], "/v1/conversations/0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"+request[1], "", "Authorization", "Bearer "+bearer)
				equal(t, "the answer for an unknown one", unknown.body, res.body)
			}
		}
	}
	if got := g.items(nobodys, "", "Authorization", "Bearer "+otherKey); len(got.Data) != 0 {
		t.Errorf("the items for another token: %v", got.said())
	}
	if len(g.backend.Removed()) != 0 {
		t.Error("something was removed")
	}
	if got := g.items(conversation, ""); len(got.Data) != 5 {
		t.Errorf("the items of the conversation: %v", got.said())
	}
}
