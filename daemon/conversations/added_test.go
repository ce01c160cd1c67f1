package conversations_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/clientitems"
)

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func TestACreatedConversationWaitsForItsFirstRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	made := g.Post(apitest.ConversationsPath, `{"metadata":{"topic":"tea"},"items":[`+message("user", "I like tea.")+`]}`)
	id := made["id"].(string)
	path := apitest.ConversationsPath + "/" + id
	if len(made) != 5 || made["object"] != "conversation" || made["created_at"].(float64) < 1 || fmt.Sprint(made["metadata"]) != "map[topic:tea]" {
		t.Errorf("made %v", made)
	}
	apitest.Equal(t, "conversations of agents", len(g.Backend.Opened()), 0)
	g = g.Again(dir) // it survives the process
	for _, name := range []string{id, strings.TrimPrefix(id, "conv_")} {
		res := g.Do(http.MethodGet, apitest.ConversationsPath+"/"+name, "")
		var got map[string]any
		if err := json.Unmarshal([]byte(res.Body), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(made) {
			t.Errorf("%s: conversation = %s, want %v", name, res.Body, made)
		}
	}
	g.Lists(path, "user: I like tea.")
	apitest.Valid(t, "response-item-list", []byte(g.Do(http.MethodGet, path+"/items", "").Body))
	// A chat completion takes the same id, in both forms.
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "one", id))
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "two", strings.TrimPrefix(id, "conv_")))
	apitest.Equal(t, "its id", g.Backend.Opened()[0].ID, strings.TrimPrefix(id, "conv_"))
	g.Lists(path, "user: I like tea.", "user: one", "assistant: Answer to one", "user: two", "assistant: Answer to two")
	got := g.Post(path, `{"metadata":{"a":"b","c":"d"}}`)
	apitest.Equal(t, "the new metadata", fmt.Sprint(got["metadata"]), "map[a:b c:d]")
	apitest.Equal(t, "when it was made", fmt.Sprint(got["created_at"]), fmt.Sprint(made["created_at"]))
	g = g.Again(dir)
	apitest.Contains(t, "the conversation", g.Do(http.MethodGet, path, "").Body, `"metadata":{"a":"b","c":"d"}`)
	apitest.Equal(t, "without metadata", fmt.Sprint(g.Post(path, `{"metadata":null}`)["metadata"]), "map[]")
}

// The agent reads what a client added once, with its next run, and the lists show
// each message as it was sent.
func TestAnAgentReadsWhatWasAddedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	path := g.Create(`{}`)
	ids := g.Add(path, message("developer", "Be brief."), message("user", "I like tea."), message("assistant", "Noted."), message("user", "Forget me."),
		`{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}`)
	apitest.Equal(t, "the status", g.Do(http.MethodDelete, path+"/items/"+ids[3], "").Status, http.StatusOK)
	sent := g.Run(path, "one")
	for _, line := range []string{"> System: Be brief.\n", "> User: I like tea.\n", "> Assistant: Noted.\n"} {
		apitest.Contains(t, "the message", sent, line)
	}
	apitest.Lacks(t, "the message", sent, "Forget me.")
	apitest.Lacks(t, "the message", sent, "look")
	if !strings.HasSuffix(sent, "The new message of the user:\n\none") {
		t.Errorf("sent %q", sent)
	}
	apitest.Equal(t, "the second message", g.Run(path, "two"), "two")
	g.Add(path, message("user", "And milk."))
	g = g.Again(dir)
	sent = g.Run(path, "three")
	apitest.Contains(t, "the message", sent, "> User: And milk.\n")
	apitest.Lacks(t, "the message", sent, "tea")
	apitest.Equal(t, "the last message", g.Run(path, "four"), "four")
	g.Lists(path, "developer: Be brief.", "user: I like tea.", "assistant: Noted.", "function_call: <nil>", "user: one", "assistant: Answer to one",
		"user: two", "assistant: Answer to two", "user: And milk.", "user: three", "assistant: Answer to three", "user: four", "assistant: Answer to four")
	// What was told can be deleted, too.
	apitest.Equal(t, "the status", g.Do(http.MethodDelete, path+"/items/"+ids[1], "").Status, http.StatusOK)
	apitest.Lacks(t, "the list", g.Do(http.MethodGet, path+"/items?limit=100", "").Body, "I like tea")
}

// A run that did not begin has told nothing.
func TestWhatWasNotSentIsToldLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Echoing(t)
		path := g.Create(`{"items":[` + message("user", "I like tea.") + `,` + message("user", "one") + `]}`)
		down := &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down"}
		body := apitest.Input("one", `"conversation":"`+strings.TrimPrefix(path, apitest.ConversationsPath+"/")+`"`)
		g.Backend.FailSend(down)
		apitest.Equal(t, "the status", g.Respond(body).Status, http.StatusServiceUnavailable)
		g.Backend.FailSend(nil)
		g.Lists(path, "user: I like tea.", "user: one")
		time.Sleep(time.Hour)
		apitest.Contains(t, "the message", g.Run(path, "one"), "> User: I like tea.\n")
		apitest.Equal(t, "the next message", g.Run(path, "two"), "two")
	})
}

// Clients that keep a history add what was said after each turn, or before it: the
// list does not have it twice, and the agent does not read it.
func TestWhatIsAddedAgainIsNotDoubled(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	path := g.Create(`{}`)
	id := strings.TrimPrefix(path, apitest.ConversationsPath+"/")
	want := []string{}
	for _, prompt := range []string{"one", "two", "one"} { // also what was said before
		m := apitest.Responded(t, g.Respond(apitest.Input(prompt, `"conversation":"`+id+`"`)))
		apitest.Equal(t, "the message", g.Backend.Prompts()[len(g.Backend.Prompts())-1].Text, prompt)
		var whole struct{ Output []json.RawMessage }
		if err := json.Unmarshal([]byte(g.Do(http.MethodGet, "/v1/responses/"+m.ID, "").Body), &whole); err != nil {
			t.Fatal(err)
		}
		added := []string{message("user", prompt)}
		for _, item := range whole.Output {
			added = append(added, string(item))
		}
		if prompt == "two" { // without their ids, as the Agents SDK does
			added[len(added)-1] = message("assistant", m.Text())
		}
		g.Add(path, added...)
		want = append(want, "user: "+prompt, "assistant: Answer to "+prompt)
		g.Lists(path, want...)
	}
	// A second time, it was said again.
	g.Add(path, message("user", "one"))
	g.Lists(path, append(want, "user: one")...)
	// What is added first and then sent is one message.
	apitest.Equal(t, "the message", g.Run(path, "one"), "one")
	want = append(want, "user: one", "assistant: Answer to one")
	g.Lists(path, want...)
	g.Add(path, message("user", "a"), message("user", "b"))
	apitest.Equal(t, "the message", g.Run(path, "a\n\nb"), "a\n\nb")
	g.Lists(path, append(want, "user: a\n\nb", "assistant: Answer to b")...)
	// Ids of the list, and references to them.
	first := g.Items(id, "order=asc&limit=100").Data
	for _, item := range first {
		g.Add(path, fmt.Sprintf(`{"type":"item_reference","id":%q}`, item["id"]))
	}
	apitest.Equal(t, "how many there are", len(g.Items(id, "limit=100").Data), len(first))
}

// Some clients give all their items one id. Each of them is an item, and one that
// comes again is the same, also after a restart.
func TestItemsThatShareAnIDAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	named := func(name, role, text string) string {
		return fmt.Sprintf(`{"id":%q,"type":"message","role":%q,"content":%q}`, name, role, text)
	}
	for _, name := range []string{"__fake_id__", "msg_0", "x"} {
		path := g.Create("{}")
		first := g.Add(path, named(name, "user", "one"), named(name, "assistant", "two"))
		second := g.Add(path, named(name, "user", "three"), named(name, "user", "one"), `{"id":"`+name+`","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`)
		want := []string{"user: one", "assistant: two", "user: three"}
		g.Lists(path, want...)
		apitest.Equal(t, "the first keeps its id", first[0], name)
		apitest.Equal(t, "the one that came again", second[1], name)
		if all := append(first, second[0], second[2]); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 4 {
			t.Errorf("the ids are %q", all)
		}
		g = g.Again(dir)
		again := g.Add(path, named(name, "assistant", "two"), `{"status":"completed","role":"user","content":[{"type":"input_text","text":"three"}],"id":"`+name+`","type":"message"}`)
		apitest.Equal(t, "the ones that came again", fmt.Sprint(again), fmt.Sprint([]string{first[1], second[0]}))
		g.Lists(path, want...)
		want = append(want, "thought: hm") // which g.lists leaves out
		for n, id := range append(first, second[0], second[2]) {
			res := g.Do(http.MethodGet, path+"/items/"+id, "")
			if _, text, _ := strings.Cut(want[n], ": "); res.Status != http.StatusOK || !strings.Contains(res.Body, text) {
				t.Errorf("%s: status = %d, want 200, body = %s", id, res.Status, res.Body)
			}
		}
		// A reference has no content to compare.
		apitest.Equal(t, "the reference", g.Add(path, fmt.Sprintf(`{"type":"item_reference","id":%q}`, name))[0], name)
	}
}

func TestItemsAreRetrievedOneByOne(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	path := g.Create(`{"items":[` + message("user", "I like tea.") + `]}`)
	g.Run(path, "one")
	g.Add(path, `{"id":"rs_of-mine_1","type":"reasoning","summary":[],"encrypted_content":"x"}`)
	g.Run(path, "two")
	for _, include := range []string{"", "&include=openhands.actions"} {
		var list struct{ Data []json.RawMessage }
		res := g.Do(http.MethodGet, path+"/items?limit=100"+include, "")
		if err := json.Unmarshal([]byte(res.Body), &list); err != nil || len(list.Data) < 8 {
			t.Fatalf("%d items are listed, %v", len(list.Data), err)
		}
		for _, item := range list.Data {
			var named struct{ ID string }
			if err := json.Unmarshal(item, &named); err != nil {
				t.Fatal(err)
			}
			got := g.Do(http.MethodGet, path+"/items/"+named.ID, "")
			apitest.Equal(t, named.ID, strings.TrimSpace(got.Body), string(item))
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		for _, name := range []string{"msg_nothing", "x", "rs_of-mine_2"} {
			apitest.Envelope(t, g.Do(method, path+"/items/"+name, ""), http.StatusNotFound, "item_not_found", "item_id")
		}
	}
}

// An agent's own items leave the lists of this API; its log is not edited. What is
// added again comes back.
func TestAnAgentsItemsAreHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	path := g.Create(`{}`)
	g.Run(path, "one")
	g.Run(path, "two")
	last := g.Items(strings.TrimPrefix(path, apitest.ConversationsPath+"/"), "limit=1").Data[0]["id"].(string)
	res := g.Do(http.MethodDelete, path+"/items/"+last, "")
	apitest.Contains(t, "the answer", res.Body, `"object":"conversation"`)
	g = g.Again(dir)
	g.Lists(path, "user: one", "assistant: Answer to one", "user: two")
	apitest.Envelope(t, g.Do(http.MethodGet, path+"/items/"+last, ""), http.StatusNotFound, "item_not_found", "item_id")
	apitest.Equal(t, "the id", g.Add(path, message("assistant", "Answer to two"))[0], last)
	g.Lists(path, "user: one", "assistant: Answer to one", "user: two", "assistant: Answer to two")
	apitest.Equal(t, "the message", g.Run(path, "three"), "three")
}

// Page by page, in both directions and of every size, each item comes once,
// wherever clients added theirs and whatever they deleted.
func TestPagesWithItemsOfClientsGiveEachOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	random := rand.New(rand.NewPCG(1, 2))
	path := g.Create(`{"items":[` + message("user", "a") + `,` + message("user", "b") + `]}`)
	id := strings.TrimPrefix(path, apitest.ConversationsPath+"/")
	for n := range 4 {
		g.Run(path, fmt.Sprint("prompt ", n))
		for i := range random.IntN(4) {
			g.Add(path, message("user", fmt.Sprint("after ", n, " ", i)), message("assistant", "and more"))
		}
		all := g.Items(id, "limit=100").Data
		g.Do(http.MethodDelete, path+"/items/"+all[random.IntN(len(all))]["id"].(string), "")
	}
	for _, include := range []string{"", "&include=openhands.actions"} {
		want := g.Items(id, "order=asc&limit=100"+include).Said()
		for _, order := range []string{"asc", "desc"} {
			for limit := 1; limit <= len(want)+1; limit += 1 + limit/4 {
				var got []string
				for after, more := "", true; more; {
					l := g.Items(id, fmt.Sprintf("limit=%d&order=%s%s%s", limit, order, include, after))
					got, more = append(got, l.Said()...), l.HasMore
					if more {
						after = "&after=" + *l.LastID
					}
				}
				if order == "desc" {
					slices.Reverse(got)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s%s, %d at a time: %q, want %q", order, include, limit, got, want)
				}
			}
		}
	}
}

// Another token learns nothing of a conversation, in no way.
func TestAddedItemsAreTheirOwners(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	unusedOne := g.Create(`{"items":[` + message("user", "I like tea.") + `]}`)
	used := g.Create(`{"items":[` + message("user", "I like tea.") + `]}`)
	g.Run(used, "one")
	name := g.Items(strings.TrimPrefix(used, apitest.ConversationsPath+"/"), "order=asc").Data[0]["id"].(string)
	unknown := apitest.ConversationsPath + "/conv_0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"
	for bearer := range apitest.Models() {
		for _, request := range [][3]string{
			{http.MethodGet, "", ""},
			{http.MethodPost, "", `{"metadata":{}}`},
			{http.MethodDelete, "", ""},
			{http.MethodGet, "/items", ""},
			{http.MethodPost, "/items", `{"items":[` + message("user", "x") + `]}`},
			{http.MethodGet, "/items/" + name, ""},
			{http.MethodDelete, "/items/" + name, ""},
		} {
			want := g.Do(request[0], unknown+request[1], request[2], "Authorization", "Bearer "+bearer)
			apitest.Envelope(t, want, http.StatusNotFound, "conversation_not_found", "id")
			for _, path := range []string{unusedOne, used} {
				res := g.Do(request[0], path+request[1], request[2], "Authorization", "Bearer "+bearer)
				apitest.Equal(t, fmt.Sprint(request), res.Body, want.Body)
			}
		}
		id := strings.TrimPrefix(unusedOne, apitest.ConversationsPath+"/conv_")
		apitest.Refused(t, g.As(bearer, apitest.Models()[bearer], "one", id))
	}
	g.Lists(unusedOne, "user: I like tea.")
	g.Lists(used, "user: I like tea.", "user: one", "assistant: Answer to one")
}

func TestWhatCannotBeAdded(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	path := g.Create(`{}`)
	many := strings.TrimSuffix(strings.Repeat(message("user", "x")+",", 21), ",")
	pairs := map[string]string{}
	for i := range 17 {
		pairs[fmt.Sprint(i)] = ""
	}
	tooMany, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string][2]string{
		`{"items":[` + many + `]}`:                  {"array_above_max_length", "items"},
		`{"items":"x"}`:                             {"invalid_type", "items"},
		`{"items":["x"]}`:                           {"invalid_type", "items[0]"},
		`{"items":[{}]}`:                            {"missing_required_parameter", "items[0].type"},
		`{"items":[{"type":1}]}`:                    {"invalid_type", "items[0].type"},
		`{"items":[{"type":"message"}]}`:            {"missing_required_parameter", "items[0].role"},
		`{"items":[{"role":"user"}]}`:               {"missing_required_parameter", "items[0].content"},
		`{"items":[{"role":"tool","content":"x"}]}`: {"invalid_value", "items[0].role"},
		`{"items":[{"role":"king","content":"x"}]}`: {"invalid_value", "items[0].role"},
		`{"items":[{"role":"user","content":1}]}`:   {"invalid_type", "items[0].content"},
		`{"items":[` + message("user", "x") + `,{"role":"user","content":[1]}]}`: {"invalid_type", "items[1].content[0]"},
		`{"items":[{"role":"user","content":"x","id":"a/b"}]}`:                   {"invalid_value", "items[0].id"},
		`{"items":[{"role":"user","content":"x","id":1}]}`:                       {"invalid_type", "items[0].id"},
		`{"items":[{"type":"item_reference"}]}`:                                  {"missing_required_parameter", "items[0].id"},
		`{"items":[{"type":"item_reference","id":"msg_1"}]}`:                     {"invalid_value", "items[0].id"},
		`{"items":[{"type":"openhands.action","id":"x"}]}`:                       {"invalid_value", "items[0].type"},
		`{"metadata":` + string(tooMany) + `}`:                                   {"invalid_value", "metadata"},
		`{"metadata":{"` + strings.Repeat("k", 65) + `":""}}`:                    {"invalid_value", "metadata"},
		`{"metadata":{"k":"` + strings.Repeat("v", 513) + `"}}`:                  {"invalid_value", "metadata.k"},
		`{"metadata":{"k":1}}`:                                                   {"invalid_type", "metadata.k"},
		`{"metadata":[]}`:                                                        {"invalid_type", "metadata"},
		`[]`:                                                                     {"invalid_type", ""},
		`{`:                                                                      {"invalid_json", ""},
	} {
		apitest.Envelope(t, g.Do(http.MethodPost, apitest.ConversationsPath, body), http.StatusBadRequest, want[0], want[1])
		at := path + "/items"
		if strings.Contains(body, "metadata") {
			at = path
		}
		apitest.Envelope(t, g.Do(http.MethodPost, at, body), http.StatusBadRequest, want[0], want[1])
	}
	apitest.Envelope(t, g.Do(http.MethodPost, path, `{}`), http.StatusBadRequest, "missing_required_parameter", "metadata")
	apitest.Envelope(t, g.Do(http.MethodPost, path+"/items", `{}`), http.StatusBadRequest, "missing_required_parameter", "items")
	apitest.Envelope(t, g.Do(http.MethodPost, path+"/items", `{"items":[]}`), http.StatusBadRequest, "empty_array", "items")
	apitest.Envelope(t, g.Do(http.MethodPost, path+"/items?include=all", `{"items":[]}`), http.StatusBadRequest, "invalid_value", "include")
	apitest.Envelope(t, g.Do(http.MethodGet, path+"/items?after=msg_1", ""), http.StatusBadRequest, "invalid_value", "after")
	apitest.Envelope(t, g.Do(http.MethodPost, apitest.ConversationsPath+"/x", `{}`), http.StatusBadRequest, "invalid_conversation_id", "id")
	apitest.Envelope(t, g.Do(http.MethodGet, apitest.ConversationsPath, ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	g.Lists(path)
}

// A deleted conversation leaves nothing: no items, no metadata, no owner.
func TestADeletedConversationLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	for _, runs := range []bool{false, true} {
		path := g.Create(`{"items":[` + message("user", "I like tea.") + `]}`)
		if runs {
			g.Run(path, "one")
		}
		res := g.Do(http.MethodDelete, path, "")
		apitest.Equal(t, "the answer", strings.TrimSpace(res.Body), `{"id":"`+strings.TrimPrefix(path, apitest.ConversationsPath+"/")+`","object":"conversation.deleted","deleted":true}`)
		for _, at := range []string{"", "/items"} {
			apitest.Envelope(t, g.Do(http.MethodGet, path+at, ""), http.StatusNotFound, "conversation_not_found", "id")
		}
		apitest.Envelope(t, g.Do(http.MethodDelete, path, ""), http.StatusNotFound, "conversation_not_found", "id")
	}
	left, err := filepath.Glob(filepath.Join(dir, "client-items", "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("the files of deleted conversations: %v, %v", left, err)
	}
}

// A conversation of an agent gets metadata and items, too; with the agent's they go.
func TestAnyConversationTakesItems(t *testing.T) {
	t.Parallel()
	g := apitest.Echoing(t)
	path := apitest.ConversationsPath + "/conv_" + apitest.Conversation
	apitest.Completed(t, g.As(apitest.Key, "openhands_default", "one", apitest.Conversation))
	g.Add(path, message("user", "I like tea."))
	apitest.Contains(t, "the conversation", fmt.Sprint(g.Post(path, `{"metadata":{"a":"b"}}`)), "map[a:b]")
	g.Lists(path, "user: one", "assistant: Answer to one", "user: I like tea.")
	apitest.Contains(t, "the message", g.Run(path, "two"), "> User: I like tea.\n")
	if err := g.Backend.Remove(t.Context(), apitest.Conversation); err != nil { // by another client of the backend
		t.Fatal(err)
	}
	apitest.Envelope(t, g.Do(http.MethodGet, path, ""), http.StatusNotFound, "conversation_not_found", "id")
}

// A conversation that was created and never used goes away; one that is used stays.
func TestUnusedConversationsGoAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		g := apitest.Echoing(t, apitest.StateIn(dir), func(c *daemon.Config) { c.ResponsesTTL = 24 * time.Hour })
		unusedOne, used := g.Create(`{}`), g.Create(`{}`)
		apitest.Completed(t, g.As(apitest.Key, "openhands_default", "one", strings.TrimPrefix(used, apitest.ConversationsPath+"/")))
		// The clock of files is not the one of the bubble.
		files, err := filepath.Glob(filepath.Join(dir, "client-items", "*", "*"))
		if err != nil || len(files) != 2 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			if err := os.Chtimes(f, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Hour)
		apitest.Equal(t, "the status", g.Do(http.MethodGet, unusedOne, "").Status, http.StatusOK)
		time.Sleep(20 * time.Hour)
		apitest.Equal(t, "the status of the unused one", g.Do(http.MethodGet, unusedOne, "").Status, http.StatusNotFound)
		apitest.Equal(t, "the status of the used one", g.Do(http.MethodGet, used, "").Status, http.StatusOK)
	})
}

// A file that cannot be read is told, and nothing is lost or run on a guess.
func TestAFileOfItemsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"newer": `{"version":2}`, "damaged": `{"version`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			g := apitest.Echoing(t, apitest.StateIn(dir))
			path := g.Create(`{}`)
			files, err := filepath.Glob(filepath.Join(dir, "client-items", "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := os.WriteFile(files[0], []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, res := range []apitest.Response{
				g.Do(http.MethodGet, path, ""), g.Do(http.MethodGet, path+"/items", ""), g.Do(http.MethodPost, path, `{"metadata":{}}`),
				g.Do(http.MethodPost, path+"/items", `{"items":[`+message("user", "x")+`]}`),
				g.As(apitest.Key, "openhands_default", "one", strings.TrimPrefix(path, apitest.ConversationsPath+"/")),
			} {
				e := apitest.Envelope(t, res, http.StatusInternalServerError, "internal_error", "")
				apitest.Contains(t, "the message", fmt.Sprint(e["message"]), name)
			}
			apitest.Equal(t, "runs", g.Backend.Runs(), 0)
			if data, err := os.ReadFile(files[0]); err != nil || string(data) != content {
				t.Errorf("the file = %q, %v", data, err)
			}
			apitest.Equal(t, "the status of DELETE", g.Do(http.MethodDelete, path, "").Status, http.StatusOK)
		})
	}
}

func TestAFullConversationOfClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Echoing(t, apitest.StateIn(dir))
	path := g.Create(`{}`)
	id := strings.TrimPrefix(path, apitest.ConversationsPath+"/conv_")
	err := clientitems.Open(dir).Change(id, func(*clientitems.Record) (c clientitems.Change, _ error) {
		for n := range clientitems.MaxItems {
			c.Add = append(c.Add, clientitems.Item{ID: fmt.Sprint(n), Data: []byte(message("user", "x"))})
		}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	res := g.Do(http.MethodPost, path+"/items", `{"items":[`+message("user", "x")+`]}`)
	apitest.Envelope(t, res, http.StatusBadRequest, "array_above_max_length", "items")
}
