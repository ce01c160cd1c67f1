package daemon_test

import (
	"encoding/json"
	"errors"
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
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const conversationsPath = "/v1/conversations"

// echoing answers with the last line of each message.
func echoing(t testing.TB, change ...func(*daemon.Config)) *gateway {
	t.Helper()
	b := daemontest.New("default", "cheap")
	b.Script = func(prompt string) []daemontest.Step {
		last := prompt[strings.LastIndex(prompt, "\n")+1:]
		return []daemontest.Step{daemontest.Think("Hm.", "ls"), daemontest.Finish("Answer to " + last)}
	}
	return serve(t, b, append([]func(*daemon.Config){stateIn(t.TempDir())}, change...)...)
}

func stateIn(dir string) func(*daemon.Config) {
	return func(c *daemon.Config) { c.StateDir = dir }
}

// again is another process on the same state directory and the same agents.
func (g *gateway) again(dir string) *gateway {
	g.t.Helper()
	if err := errors.Join(g.stop(), g.daemon.Close()); err != nil {
		g.t.Fatal(err)
	}
	return serve(g.t, g.backend, stateIn(dir))
}

// post sends a body that has to be accepted, and returns what came back.
func (g *gateway) post(path, body string, header ...string) map[string]any {
	g.t.Helper()
	res := g.do(http.MethodPost, path, body, header...)
	if res.status != http.StatusOK {
		g.t.Fatalf("%s: %d %s", path, res.status, res.body)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(res.body), &v); err != nil {
		g.t.Fatal(err)
	}
	return v
}

// create makes a conversation and returns its path.
func (g *gateway) create(body string) string {
	g.t.Helper()
	made := g.post(conversationsPath, body)
	equal(g.t, "the object", made["object"], any("conversation"))
	return conversationsPath + "/" + made["id"].(string)
}

// add adds items and returns their ids.
func (g *gateway) add(path string, items ...string) (ids []string) {
	g.t.Helper()
	list := g.post(path+"/items", `{"items":[`+strings.Join(items, ",")+`]}`)
	for _, item := range list["data"].([]any) {
		id := item.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	if len(ids) == 0 || list["first_id"] != ids[0] || list["last_id"] != ids[len(ids)-1] || list["object"] != "list" || list["has_more"] != false {
		g.t.Errorf("the list of added items: %v", list)
	}
	return ids
}

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

// lists checks what is listed, oldest first; reasoning is left out.
func (g *gateway) lists(path string, want ...string) {
	g.t.Helper()
	got := g.items(strings.TrimPrefix(path, conversationsPath+"/"), "order=asc&limit=100").said()
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "thought: ") })
	if !slices.Equal(got, want) {
		g.t.Errorf("listed %q, want %q", got, want)
	}
}

// run asks in a conversation, and returns what the agent was sent.
func (g *gateway) run(path, prompt string) (sent string) {
	g.t.Helper()
	id := strings.TrimPrefix(path, conversationsPath+"/")
	m := responded(g.t, g.respond(input(prompt, `"conversation":"`+id+`"`)))
	equal(g.t, "the conversation", m.Conversation.ID, id)
	prompts := g.backend.Prompts()
	return prompts[len(prompts)-1].Text
}

func TestACreatedConversationWaitsForItsFirstRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	made := g.post(conversationsPath, `{"metadata":{"topic":"tea"},"items":[`+message("user", "I like tea.")+`]}`)
	id := made["id"].(string)
	path := conversationsPath + "/" + id
	if len(made) != 5 || made["object"] != "conversation" || made["created_at"].(float64) < 1 || fmt.Sprint(made["metadata"]) != "map[topic:tea]" {
		t.Errorf("made %v", made)
	}
	equal(t, "conversations of agents", len(g.backend.Opened()), 0)
	g = g.again(dir) // it survives the process
	for _, name := range []string{id, strings.TrimPrefix(id, "conv_")} {
		res := g.do(http.MethodGet, conversationsPath+"/"+name, "")
		var got map[string]any
		if err := json.Unmarshal([]byte(res.body), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(made) {
			t.Errorf("%s: %s", name, res.body)
		}
	}
	g.lists(path, "user: I like tea.")
	valid(t, "response-item-list", []byte(g.do(http.MethodGet, path+"/items", "").body))
	// A chat completion takes the same id, in both forms.
	completed(t, g.as(key, "openhands_default", "one", id))
	completed(t, g.as(key, "openhands_default", "two", strings.TrimPrefix(id, "conv_")))
	equal(t, "its id", g.backend.Opened()[0].ID, strings.TrimPrefix(id, "conv_"))
	g.lists(path, "user: I like tea.", "user: one", "assistant: Answer to one", "user: two", "assistant: Answer to two")
	got := g.post(path, `{"metadata":{"a":"b","c":"d"}}`)
	equal(t, "the new metadata", fmt.Sprint(got["metadata"]), "map[a:b c:d]")
	equal(t, "when it was made", fmt.Sprint(got["created_at"]), fmt.Sprint(made["created_at"]))
	g = g.again(dir)
	contains(t, "the conversation", g.do(http.MethodGet, path, "").body, `"metadata":{"a":"b","c":"d"}`)
	equal(t, "without metadata", fmt.Sprint(g.post(path, `{"metadata":null}`)["metadata"]), "map[]")
}

// The agent reads what a client added once, with its next run, and the lists show
// each message as it was sent.
func TestAnAgentReadsWhatWasAddedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	path := g.create(`{}`)
	ids := g.add(path, message("developer", "Be brief."), message("user", "I like tea."), message("assistant", "Noted."), message("user", "Forget me."),
		`{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}`)
	equal(t, "the status", g.do(http.MethodDelete, path+"/items/"+ids[3], "").status, http.StatusOK)
	sent := g.run(path, "one")
	for _, line := range []string{"> System: Be brief.\n", "> User: I like tea.\n", "> Assistant: Noted.\n"} {
		contains(t, "the message", sent, line)
	}
	lacks(t, "the message", sent, "Forget me.")
	lacks(t, "the message", sent, "look")
	if !strings.HasSuffix(sent, "The new message of the user:\n\none") {
		t.Errorf("sent %q", sent)
	}
	equal(t, "the second message", g.run(path, "two"), "two")
	g.add(path, message("user", "And milk."))
	g = g.again(dir)
	sent = g.run(path, "three")
	contains(t, "the message", sent, "> User: And milk.\n")
	lacks(t, "the message", sent, "tea")
	equal(t, "the last message", g.run(path, "four"), "four")
	g.lists(path, "developer: Be brief.", "user: I like tea.", "assistant: Noted.", "function_call: <nil>", "user: one", "assistant: Answer to one",
		"user: two", "assistant: Answer to two", "user: And milk.", "user: three", "assistant: Answer to three", "user: four", "assistant: Answer to four")
	// What was told can be deleted, too.
	equal(t, "the status", g.do(http.MethodDelete, path+"/items/"+ids[1], "").status, http.StatusOK)
	lacks(t, "the list", g.do(http.MethodGet, path+"/items?limit=100", "").body, "I like tea")
}

// A run that did not begin has told nothing.
func TestWhatWasNotSentIsToldLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := echoing(t)
		path := g.create(`{"items":[` + message("user", "I like tea.") + `,` + message("user", "one") + `]}`)
		down := &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "down"}
		body := input("one", `"conversation":"`+strings.TrimPrefix(path, conversationsPath+"/")+`"`)
		g.backend.FailSend(down)
		equal(t, "the status", g.respond(body).status, http.StatusServiceUnavailable)
		g.backend.FailSend(nil)
		g.lists(path, "user: I like tea.", "user: one")
		time.Sleep(time.Hour)
		contains(t, "the message", g.run(path, "one"), "> User: I like tea.\n")
		equal(t, "the next message", g.run(path, "two"), "two")
	})
}

// Clients that keep a history add what was said after each turn, or before it: the
// list does not have it twice, and the agent does not read it.
func TestWhatIsAddedAgainIsNotDoubled(t *testing.T) {
	t.Parallel()
	g := echoing(t)
	path := g.create(`{}`)
	id := strings.TrimPrefix(path, conversationsPath+"/")
	want := []string{}
	for _, prompt := range []string{"one", "two", "one"} { // also what was said before
		m := responded(t, g.respond(input(prompt, `"conversation":"`+id+`"`)))
		equal(t, "the message", g.backend.Prompts()[len(g.backend.Prompts())-1].Text, prompt)
		var whole struct{ Output []json.RawMessage }
		if err := json.Unmarshal([]byte(g.do(http.MethodGet, "/v1/responses/"+m.ID, "").body), &whole); err != nil {
			t.Fatal(err)
		}
		added := []string{message("user", prompt)}
		for _, item := range whole.Output {
			added = append(added, string(item))
		}
		if prompt == "two" { // without their ids, as the Agents SDK does
			added[len(added)-1] = message("assistant", m.text())
		}
		g.add(path, added...)
		want = append(want, "user: "+prompt, "assistant: Answer to "+prompt)
		g.lists(path, want...)
	}
	// A second time, it was said again.
	g.add(path, message("user", "one"))
	g.lists(path, append(want, "user: one")...)
	// What is added first and then sent is one message.
	equal(t, "the message", g.run(path, "one"), "one")
	want = append(want, "user: one", "assistant: Answer to one")
	g.lists(path, want...)
	g.add(path, message("user", "a"), message("user", "b"))
	equal(t, "the message", g.run(path, "a\n\nb"), "a\n\nb")
	g.lists(path, append(want, "user: a\n\nb", "assistant: Answer to b")...)
	// Ids of the list, and references to them.
	first := g.items(id, "order=asc&limit=100").Data
	for _, item := range first {
		g.add(path, fmt.Sprintf(`{"type":"item_reference","id":%q}`, item["id"]))
	}
	equal(t, "how many there are", len(g.items(id, "limit=100").Data), len(first))
}

// Some clients give all their items one id. Each of them is an item, and one that
// comes again is the same, also after a restart.
func TestItemsThatShareAnIDAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	named := func(name, role, text string) string {
		return fmt.Sprintf(`{"id":%q,"type":"message","role":%q,"content":%q}`, name, role, text)
	}
	for _, name := range []string{"__fake_id__", "msg_0", "x"} {
		path := g.create("{}")
		first := g.add(path, named(name, "user", "one"), named(name, "assistant", "two"))
		second := g.add(path, named(name, "user", "three"), named(name, "user", "one"), `{"id":"`+name+`","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`)
		want := []string{"user: one", "assistant: two", "user: three"}
		g.lists(path, want...)
		equal(t, "the first keeps its id", first[0], name)
		equal(t, "the one that came again", second[1], name)
		if all := append(first, second[0], second[2]); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 4 {
			t.Errorf("the ids are %q", all)
		}
		g = g.again(dir)
		again := g.add(path, named(name, "assistant", "two"), `{"status":"completed","role":"user","content":[{"type":"input_text","text":"three"}],"id":"`+name+`","type":"message"}`)
		equal(t, "the ones that came again", fmt.Sprint(again), fmt.Sprint([]string{first[1], second[0]}))
		g.lists(path, want...)
		want = append(want, "thought: hm") // which g.lists leaves out
		for n, id := range append(first, second[0], second[2]) {
			res := g.do(http.MethodGet, path+"/items/"+id, "")
			if _, text, _ := strings.Cut(want[n], ": "); res.status != http.StatusOK || !strings.Contains(res.body, text) {
				t.Errorf("%s: %d %s", id, res.status, res.body)
			}
		}
		// A reference has no content to compare.
		equal(t, "the reference", g.add(path, fmt.Sprintf(`{"type":"item_reference","id":%q}`, name))[0], name)
	}
}

func TestItemsAreRetrievedOneByOne(t *testing.T) {
	t.Parallel()
	g := echoing(t)
	path := g.create(`{"items":[` + message("user", "I like tea.") + `]}`)
	g.run(path, "one")
	g.add(path, `{"id":"rs_of-mine_1","type":"reasoning","summary":[],"encrypted_content":"x"}`)
	g.run(path, "two")
	for _, include := range []string{"", "&include=openhands.actions"} {
		var list struct{ Data []json.RawMessage }
		res := g.do(http.MethodGet, path+"/items?limit=100"+include, "")
		if err := json.Unmarshal([]byte(res.body), &list); err != nil || len(list.Data) < 8 {
			t.Fatalf("%d, %v", len(list.Data), err)
		}
		for _, item := range list.Data {
			var named struct{ ID string }
			if err := json.Unmarshal(item, &named); err != nil {
				t.Fatal(err)
			}
			got := g.do(http.MethodGet, path+"/items/"+named.ID, "")
			equal(t, named.ID, strings.TrimSpace(got.body), string(item))
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		for _, name := range []string{"msg_nothing", "x", "rs_of-mine_2"} {
			envelope(t, g.do(method, path+"/items/"+name, ""), http.StatusNotFound, "item_not_found", "item_id")
		}
	}
}

// An agent's own items leave the lists of this API; its log is not edited. What is
// added again comes back.
func TestAnAgentsItemsAreHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	path := g.create(`{}`)
	g.run(path, "one")
	g.run(path, "two")
	last := g.items(strings.TrimPrefix(path, conversationsPath+"/"), "limit=1").Data[0]["id"].(string)
	res := g.do(http.MethodDelete, path+"/items/"+last, "")
	contains(t, "the answer", res.body, `"object":"conversation"`)
	g = g.again(dir)
	g.lists(path, "user: one", "assistant: Answer to one", "user: two")
	envelope(t, g.do(http.MethodGet, path+"/items/"+last, ""), http.StatusNotFound, "item_not_found", "item_id")
	equal(t, "the id", g.add(path, message("assistant", "Answer to two"))[0], last)
	g.lists(path, "user: one", "assistant: Answer to one", "user: two", "assistant: Answer to two")
	equal(t, "the message", g.run(path, "three"), "three")
}

// Page by page, in both directions and of every size, each item comes once,
// wherever clients added theirs and whatever they deleted.
func TestPagesWithItemsOfClientsGiveEachOnce(t *testing.T) {
	t.Parallel()
	g := echoing(t)
	random := rand.New(rand.NewPCG(1, 2))
	path := g.create(`{"items":[` + message("user", "a") + `,` + message("user", "b") + `]}`)
	id := strings.TrimPrefix(path, conversationsPath+"/")
	for n := range 4 {
		g.run(path, fmt.Sprint("prompt ", n))
		for i := range random.IntN(4) {
			g.add(path, message("user", fmt.Sprint("after ", n, " ", i)), message("assistant", "and more"))
		}
		all := g.items(id, "limit=100").Data
		g.do(http.MethodDelete, path+"/items/"+all[random.IntN(len(all))]["id"].(string), "")
	}
	for _, include := range []string{"", "&include=openhands.actions"} {
		want := g.items(id, "order=asc&limit=100"+include).said()
		for _, order := range []string{"asc", "desc"} {
			for limit := 1; limit <= len(want)+1; limit += 1 + limit/4 {
				var got []string
				for after, more := "", true; more; {
					l := g.items(id, fmt.Sprintf("limit=%d&order=%s%s%s", limit, order, include, after))
					got, more = append(got, l.said()...), l.HasMore
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
	g := echoing(t)
	unusedOne := g.create(`{"items":[` + message("user", "I like tea.") + `]}`)
	used := g.create(`{"items":[` + message("user", "I like tea.") + `]}`)
	g.run(used, "one")
	name := g.items(strings.TrimPrefix(used, conversationsPath+"/"), "order=asc").Data[0]["id"].(string)
	unknown := conversationsPath + "/conv_0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"
	for bearer := range models() {
		for _, request := range [][3]string{
			{http.MethodGet, "", ""},
			{http.MethodPost, "", `{"metadata":{}}`},
			{http.MethodDelete, "", ""},
			{http.MethodGet, "/items", ""},
			{http.MethodPost, "/items", `{"items":[` + message("user", "x") + `]}`},
			{http.MethodGet, "/items/" + name, ""},
			{http.MethodDelete, "/items/" + name, ""},
		} {
			want := g.do(request[0], unknown+request[1], request[2], "Authorization", "Bearer "+bearer)
			envelope(t, want, http.StatusNotFound, "conversation_not_found", "id")
			for _, path := range []string{unusedOne, used} {
				res := g.do(request[0], path+request[1], request[2], "Authorization", "Bearer "+bearer)
				equal(t, fmt.Sprint(request), res.body, want.body)
			}
		}
		id := strings.TrimPrefix(unusedOne, conversationsPath+"/conv_")
		refused(t, g.as(bearer, models()[bearer], "one", id))
	}
	g.lists(unusedOne, "user: I like tea.")
	g.lists(used, "user: I like tea.", "user: one", "assistant: Answer to one")
}

func TestWhatCannotBeAdded(t *testing.T) {
	t.Parallel()
	g := echoing(t)
	path := g.create(`{}`)
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
		envelope(t, g.do(http.MethodPost, conversationsPath, body), http.StatusBadRequest, want[0], want[1])
		at := path + "/items"
		if strings.Contains(body, "metadata") {
			at = path
		}
		envelope(t, g.do(http.MethodPost, at, body), http.StatusBadRequest, want[0], want[1])
	}
	envelope(t, g.do(http.MethodPost, path, `{}`), http.StatusBadRequest, "missing_required_parameter", "metadata")
	envelope(t, g.do(http.MethodPost, path+"/items", `{}`), http.StatusBadRequest, "missing_required_parameter", "items")
	envelope(t, g.do(http.MethodPost, path+"/items", `{"items":[]}`), http.StatusBadRequest, "empty_array", "items")
	envelope(t, g.do(http.MethodPost, path+"/items?include=all", `{"items":[]}`), http.StatusBadRequest, "invalid_value", "include")
	envelope(t, g.do(http.MethodGet, path+"/items?after=msg_1", ""), http.StatusBadRequest, "invalid_value", "after")
	envelope(t, g.do(http.MethodPost, conversationsPath+"/x", `{}`), http.StatusBadRequest, "invalid_conversation_id", "id")
	envelope(t, g.do(http.MethodGet, conversationsPath, ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
	g.lists(path)
}

// A deleted conversation leaves nothing: no items, no metadata, no owner.
func TestADeletedConversationLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	for _, runs := range []bool{false, true} {
		path := g.create(`{"items":[` + message("user", "I like tea.") + `]}`)
		if runs {
			g.run(path, "one")
		}
		res := g.do(http.MethodDelete, path, "")
		equal(t, "the answer", strings.TrimSpace(res.body), `{"id":"`+strings.TrimPrefix(path, conversationsPath+"/")+`","object":"conversation.deleted","deleted":true}`)
		for _, at := range []string{"", "/items"} {
			envelope(t, g.do(http.MethodGet, path+at, ""), http.StatusNotFound, "conversation_not_found", "id")
		}
		envelope(t, g.do(http.MethodDelete, path, ""), http.StatusNotFound, "conversation_not_found", "id")
	}
	left, err := filepath.Glob(filepath.Join(dir, "client-items", "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("the files of deleted conversations: %v, %v", left, err)
	}
}

// A conversation of an agent gets metadata and items, too; with the agent's they go.
func TestAnyConversationTakesItems(t *testing.T) {
	t.Parallel()
	g := echoing(t)
	path := conversationsPath + "/conv_" + conversation
	completed(t, g.as(key, "openhands_default", "one", conversation))
	g.add(path, message("user", "I like tea."))
	contains(t, "the conversation", fmt.Sprint(g.post(path, `{"metadata":{"a":"b"}}`)), "map[a:b]")
	g.lists(path, "user: one", "assistant: Answer to one", "user: I like tea.")
	contains(t, "the message", g.run(path, "two"), "> User: I like tea.\n")
	if err := g.backend.Remove(t.Context(), conversation); err != nil { // by another client of the backend
		t.Fatal(err)
	}
	envelope(t, g.do(http.MethodGet, path, ""), http.StatusNotFound, "conversation_not_found", "id")
}

// A conversation that was created and never used goes away; one that is used stays.
func TestUnusedConversationsGoAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		g := echoing(t, stateIn(dir), func(c *daemon.Config) { c.ResponsesTTL = 24 * time.Hour })
		unusedOne, used := g.create(`{}`), g.create(`{}`)
		completed(t, g.as(key, "openhands_default", "one", strings.TrimPrefix(used, conversationsPath+"/")))
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
		equal(t, "the status", g.do(http.MethodGet, unusedOne, "").status, http.StatusOK)
		time.Sleep(20 * time.Hour)
		equal(t, "the status of the unused one", g.do(http.MethodGet, unusedOne, "").status, http.StatusNotFound)
		equal(t, "the status of the used one", g.do(http.MethodGet, used, "").status, http.StatusOK)
	})
}

// A file that cannot be read is told, and nothing is lost or run on a guess.
func TestAFileOfItemsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"newer": `{"version":2}`, "damaged": `{"version`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			g := echoing(t, stateIn(dir))
			path := g.create(`{}`)
			files, err := filepath.Glob(filepath.Join(dir, "client-items", "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := os.WriteFile(files[0], []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, res := range []response{
				g.do(http.MethodGet, path, ""), g.do(http.MethodGet, path+"/items", ""), g.do(http.MethodPost, path, `{"metadata":{}}`),
				g.do(http.MethodPost, path+"/items", `{"items":[`+message("user", "x")+`]}`),
				g.as(key, "openhands_default", "one", strings.TrimPrefix(path, conversationsPath+"/")),
			} {
				e := envelope(t, res, http.StatusInternalServerError, "internal_error", "")
				contains(t, "the message", fmt.Sprint(e["message"]), name)
			}
			equal(t, "runs", g.backend.Runs(), 0)
			if data, err := os.ReadFile(files[0]); err != nil || string(data) != content {
				t.Errorf("%q, %v", data, err)
			}
			equal(t, "the status of DELETE", g.do(http.MethodDelete, path, "").status, http.StatusOK)
		})
	}
}

func TestAFullConversationOfClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := echoing(t, stateIn(dir))
	path := g.create(`{}`)
	id := strings.TrimPrefix(path, conversationsPath+"/conv_")
	err := clientitems.Open(dir).Change(id, func(*clientitems.Record) (c clientitems.Change, _ error) {
		for n := range clientitems.MaxItems {
			c.Add = append(c.Add, clientitems.Item{ID: fmt.Sprint(n), Data: []byte(message("user", "x"))})
		}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	res := g.do(http.MethodPost, path+"/items", `{"items":[`+message("user", "x")+`]}`)
	envelope(t, res, http.StatusBadRequest, "array_above_max_length", "items")
}
