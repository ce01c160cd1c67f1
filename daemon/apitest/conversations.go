package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const (
	// HeaderID names the conversation of a request.
	HeaderID = "X-OpenHands-ServerConversation-ID"
	// HeaderConfirmation has the confirmation mode of a new conversation.
	HeaderConfirmation = "X-OpenHands-Confirmation"

	// Conversation is the id of a conversation.
	Conversation = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	// ConversationsPath is below which the conversations are.
	ConversationsPath = "/v1/conversations"
)

// ItemPage is a page of items as a client reads it.
type ItemPage struct {
	Object  string           `json:"object"`
	Data    []map[string]any `json:"data"`
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
	HasMore bool             `json:"has_more"`
}

// Said returns a line for each item: who, and what.
func (l ItemPage) Said() (lines []string) {
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

// Items reads a page of the items of a conversation.
func (g *Gateway) Items(id, query string, header ...string) ItemPage {
	g.T.Helper()
	res := g.Do(http.MethodGet, "/v1/conversations/"+id+"/items?"+query, "", header...)
	if res.Status != http.StatusOK {
		g.T.Fatalf("status = %d, want 200, body = %s", res.Status, res.Body)
	}
	var l ItemPage
	if err := json.Unmarshal([]byte(res.Body), &l); err != nil {
		g.T.Fatal(err)
	}
	return l
}

// Echoing answers with the last line of each message.
func Echoing(t testing.TB, change ...func(*daemon.Config)) *Gateway {
	t.Helper()
	b := daemontest.New("default", "cheap")
	b.Script = func(prompt string) []daemontest.Step {
		last := prompt[strings.LastIndex(prompt, "\n")+1:]
		return []daemontest.Step{daemontest.Think("Hm.", "ls"), daemontest.Finish("Answer to " + last)}
	}
	return Serve(t, b, append([]func(*daemon.Config){StateIn(t.TempDir())}, change...)...)
}

// Talked serves a conversation of two turns, with actions in the first.
func Talked(t *testing.T, change ...func(*daemon.Config)) *Gateway {
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
	g := Serve(t, b, change...)
	Completed(t, g.As(Key, "openhands_default", "one", Conversation))
	Completed(t, g.As(Key, "openhands_default", "two", Conversation))
	return g
}

// Post sends a body that has to be accepted, and returns what came back.
func (g *Gateway) Post(path, body string, header ...string) map[string]any {
	g.T.Helper()
	res := g.Do(http.MethodPost, path, body, header...)
	if res.Status != http.StatusOK {
		g.T.Fatalf("%s: status = %d, want 200, body = %s", path, res.Status, res.Body)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(res.Body), &v); err != nil {
		g.T.Fatal(err)
	}
	return v
}

// Create makes a conversation and returns its path.
func (g *Gateway) Create(body string) string {
	g.T.Helper()
	made := g.Post(ConversationsPath, body)
	Equal(g.T, "the object", made["object"], any("conversation"))
	return ConversationsPath + "/" + made["id"].(string)
}

// Add adds items and returns their ids.
func (g *Gateway) Add(path string, items ...string) (ids []string) {
	g.T.Helper()
	list := g.Post(path+"/items", `{"items":[`+strings.Join(items, ",")+`]}`)
	for _, item := range list["data"].([]any) {
		id := item.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	if len(ids) == 0 || list["first_id"] != ids[0] || list["last_id"] != ids[len(ids)-1] || list["object"] != "list" || list["has_more"] != false {
		g.T.Errorf("the list of added items: %v", list)
	}
	return ids
}

// Lists checks what is listed, oldest first; reasoning is left out.
func (g *Gateway) Lists(path string, want ...string) {
	g.T.Helper()
	got := g.Items(strings.TrimPrefix(path, ConversationsPath+"/"), "order=asc&limit=100").Said()
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "thought: ") })
	if !slices.Equal(got, want) {
		g.T.Errorf("listed %q, want %q", got, want)
	}
}

// Run asks in a conversation, and returns what the agent was sent.
func (g *Gateway) Run(path, prompt string) (sent string) {
	g.T.Helper()
	id := strings.TrimPrefix(path, ConversationsPath+"/")
	m := Responded(g.T, g.Respond(Input(prompt, `"conversation":"`+id+`"`)))
	Equal(g.T, "the conversation", m.Conversation.ID, id)
	prompts := g.Backend.Prompts()
	return prompts[len(prompts)-1].Text
}

// Condense condenses the history of the conversation.
func (g *Gateway) Condense(header ...string) Response {
	g.T.Helper()
	return g.Do(http.MethodPost, "/v1/conversations/"+Conversation+"/condense", "", header...)
}

// Runs lists the runs as a client sees them.
func (g *Gateway) Runs(bearer string) []conversations.Run {
	g.T.Helper()
	res := g.Do(http.MethodGet, "/v1/runs", "", "Authorization", "Bearer "+bearer)
	Equal(g.T, "the status", res.Status, http.StatusOK)
	var list conversations.RunList
	if err := json.Unmarshal([]byte(res.Body), &list); err != nil {
		g.T.Fatal(err)
	}
	Equal(g.T, "list.Object", list.Object, "list")
	if list.Data == nil {
		g.T.Errorf("data is null in %s", res.Body)
	}
	return list.Data
}

// Speak says something in the conversation by one of the APIs.
func (g *Gateway) Speak(api, bearer string, header ...string) Response {
	g.T.Helper()
	header = append([]string{"Authorization", "Bearer " + bearer, "X-OpenHands-Repeat", "run"}, header...)
	if api == "responses" {
		return g.Respond(Input("hi", `"conversation":"`+Conversation+`"`), header...)
	}
	return g.Chat(Ask("hi"), append(header, HeaderID, Conversation)...)
}
