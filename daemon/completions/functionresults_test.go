package completions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const (
	giveParameters = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	giveChat       = `"tools":[{"type":"function","function":{"name":"give","parameters":` + giveParameters + `}}]`
	forceGiveChat  = `"tool_choice":{"type":"function","function":{"name":"give"}}`
	giveResponse   = `"tools":[{"type":"function","name":"give","parameters":` + giveParameters + `}]`
	forceGive      = `"tool_choice":{"type":"function","name":"give"}`
	automatic      = `"tool_choice":"auto"`
	oslo           = `{"city":"Oslo"}`

	city      = "Look which city has the worst weather."
	cityAsked = `{"role":"user","content":"` + city + `"}`
)

// callIn is the id of the call in a chat completion, streamed or not.
func callIn(t testing.TB, res apitest.Response) string {
	t.Helper()
	_, after, ok := strings.Cut(res.Body, `"id":"call_`)
	id, _, end := strings.Cut(after, `"`)
	if !ok || !end {
		t.Fatalf("no call: %s", res.Body)
	}
	return "call_" + id
}

// calling is the assistant's message with a call, and what its function returned.
func calling(id, result string) string {
	return fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"give","arguments":"{\"city\": \"Oslo\"}"}}]},{"role":"tool","tool_call_id":%q,"content":%s}`,
		id, id, result)
}

// prompted is what the agent was told in each run.
func prompted(b *daemontest.Backend) (texts []string) {
	for _, p := range b.Prompts() {
		texts = append(texts, p.Text)
	}
	return texts
}

// The result of the function that an answer called is the next message of its
// conversation; the task is not done again.
func TestTheResultOfAFunctionContinuesItsConversation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result, after string
		first, second []string // more fields
		header        []string
		want          string
	}{
		"text":               {result: `"rain"`, want: "The function give returned:\n\nrain"},
		"parts":              {result: `[{"type":"text","text":"rain"},{"type":"text","text":"and wind"}]`, want: "The function give returned:\n\nrain\nand wind"},
		"nothing":            {result: `""`, want: "The function give returned nothing."},
		"null":               {result: `null`, want: "The function give returned nothing."},
		"yes":                {result: `"yes"`, want: "The function give returned:\n\nyes"},
		"a message after it": {result: `"rain"`, after: `,{"role":"user","content":"And Bergen?"}`, want: "The function give returned:\n\nrain\n\nAnd Bergen?"},
		"streams":            {result: `"rain"`, first: []string{apitest.Streamed}, second: []string{apitest.Streamed}, want: "The function give returned:\n\nrain"},
		"a named chat":       {result: `"rain"`, header: []string{chatID, "c-1"}, want: "The function give returned:\n\nrain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apitest.Script(daemontest.Tool("date"), daemontest.Finish(oslo))
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
			first := g.Chat(apitest.Messages(cityAsked, append(tc.first, giveChat, forceGiveChat)...), tc.header...)
			second := g.Chat(apitest.Messages(cityAsked+calling(callIn(t, first), tc.result)+tc.after, append(tc.second, giveChat, automatic)...), tc.header...)
			apitest.Equal(t, "status", second.Status, http.StatusOK)
			apitest.Equal(t, "conversation", second.Header.Get(apitest.HeaderID), first.Header.Get(apitest.HeaderID))
			if texts := prompted(b); len(texts) != 2 || texts[1] != tc.want {
				t.Errorf("the agent was told %q", texts)
			}
		})
	}
}

func TestEachResultOfAFunctionIsToldOnce(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish(oslo))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	list := cityAsked
	var conversations []string
	for i, result := range []string{`"rain"`, `"snow"`, `"fog"`} {
		res := g.Chat(apitest.Messages(list, giveChat, forceGiveChat))
		conversations = append(conversations, res.Header.Get(apitest.HeaderID))
		if i > 0 && callIn(t, res) == "" {
			t.Fatal(res.Body)
		}
		list += calling(callIn(t, res), result)
	}
	g.Chat(apitest.Messages(list))
	apitest.Equal(t, "conversations", strings.Count(strings.Join(conversations, " "), conversations[0]), 3)
	var texts []string
	for _, text := range prompted(b)[1:] {
		text, _, _ = strings.Cut(text, "\n\nYour final answer")
		texts = append(texts, strings.TrimPrefix(text, "The function give returned:\n\n"))
	}
	for i, want := range []string{"rain", "snow", "fog"} {
		if !strings.HasPrefix(texts[i], want) {
			t.Errorf("message %d is %q", i, texts[i])
		}
	}
}

// A one-shot stays a one-shot. Where it is gone, the result does not begin its task again.
func TestTheResultForAConversationThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Finish(oslo))
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Minute })
		first := g.Chat(apitest.Messages(cityAsked, giveChat, forceGiveChat))
		time.Sleep(50 * time.Second)
		body := apitest.Messages(cityAsked + calling(callIn(t, first), `"rain"`))
		second := g.Chat(body)
		apitest.Equal(t, "conversation", second.Header.Get(apitest.HeaderID), first.Header.Get(apitest.HeaderID))
		time.Sleep(50 * time.Second)
		apitest.Equal(t, "conversations that were removed", len(b.Removed()), 0)
		time.Sleep(2 * time.Minute)
		apitest.Equal(t, "conversations that were removed", len(b.Removed()), 1)
		late := g.Chat(body, "X-OpenHands-Repeat", "run")
		if late.Header.Get(apitest.HeaderID) == first.Header.Get(apitest.HeaderID) {
			t.Error("a conversation that is gone was made again")
		}
		texts := prompted(b)
		if last := texts[len(texts)-1]; !strings.HasSuffix(last, "\n\nThe function give returned:\n\nrain") || !strings.Contains(last, "> User: "+city) || !strings.Contains(last, "> Assistant: "+oslo) {
			t.Errorf("the agent was told %q", last)
		}
	})
}

// Calls that ohgw did not make say nothing of its conversations.
func TestTheResultOfAnotherCallIsNoMessage(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("rain"))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	conversation := g.Chat(apitest.Ask("one")).Header.Get(apitest.HeaderID)
	for _, id := range []string{"call_1", "", "toolu_01", "call_" + strings.Repeat("0", 31), "call_" + strings.ReplaceAll(conversation, "-", "") + "_xyz", "CALL_" + strings.Repeat("0", 32)} {
		g.Chat(apitest.Messages(cityAsked+calling(id, `"rain"`)), "X-OpenHands-Repeat", "run")
		texts := prompted(b)
		if last := texts[len(texts)-1]; last != city {
			t.Errorf("%s: the agent was told %q", id, last)
		}
	}
}

func TestTheResultOfAFunctionContinuesItsResponse(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]func(m apitest.Made, call string) string{
		"items": func(m apitest.Made, call string) string {
			return `"input":[` + cityAsked + `,{"type":"function_call","id":"` + m.Output[len(m.Output)-1].ID + `",` + call + `,"name":"give","arguments":"{}"},{"type":"function_call_output",` + call + `,"output":"rain"}]`
		},
		"items without ids": func(_ apitest.Made, call string) string {
			return `"input":[` + cityAsked + `,{"type":"function_call",` + call + `,"name":"give","arguments":"{}"},{"type":"function_call_output",` + call + `,"output":[{"type":"input_text","text":"rain"}]}]`
		},
		"the response before": func(m apitest.Made, call string) string {
			return `"previous_response_id":"` + m.ID + `","input":[{"type":"function_call_output",` + call + `,"output":"rain"}]`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apitest.Script(daemontest.Tool("date"), daemontest.Finish(oslo))
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
			res := g.Respond(`{"model":"openhands_default","input":[` + cityAsked + `],` + giveResponse + `,` + forceGive + `}`)
			first := apitest.Responded(t, res)
			call := `"call_id":"` + strings.Replace(first.ID, "resp_", "call_", 1) + `"`
			if !strings.Contains(res.Body, call) {
				t.Fatal(res.Body)
			}
			next := g.Respond(`{"model":"openhands_default",` + input(first, call) + `,` + giveResponse + `}`)
			apitest.Equal(t, "previous", apitest.Responded(t, next).Previous, first.ID)
			apitest.Equal(t, "conversation", next.Header.Get(apitest.HeaderID), res.Header.Get(apitest.HeaderID))
			want := "The function give returned:\n\nrain"
			if name == "the response before" {
				want = "The function of your last answer returned:\n\nrain"
			}
			if texts := prompted(b); len(texts) != 2 || texts[1] != want {
				t.Errorf("the agent was told %q", texts)
			}
			listed := g.Do(http.MethodGet, "/v1/responses/"+apitest.Responded(t, next).ID+"/input_items?order=asc", "").Body
			var items struct {
				Data []map[string]any `json:"data"`
			}
			if err := json.Unmarshal([]byte(listed), &items); err != nil {
				t.Fatal(err)
			}
			last := items.Data[len(items.Data)-1]
			delete(last, "id")
			wantItem := map[string]any{"type": "function_call_output", "status": "completed", "call_id": strings.Replace(first.ID, "resp_", "call_", 1), "output": "rain"}
			if diff := cmp.Diff(wantItem, last); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The id of a call opens no conversation to another token.
func TestACallIsItsOwners(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish(oslo))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL, c.StateDir = time.Hour, t.TempDir() })
	first := g.Chat(apitest.Messages(cityAsked, giveChat, forceGiveChat))
	for bearer, model := range apitest.Models() {
		body := strings.Replace(apitest.Messages(cityAsked+calling(callIn(t, first), `"rain"`)), "openhands_default", model, 1)
		res := g.Chat(body, "Authorization", "Bearer "+bearer)
		if id := res.Header.Get(apitest.HeaderID); res.Status != http.StatusOK || id == "" || id == first.Header.Get(apitest.HeaderID) {
			t.Errorf("%s: %d in %s", model, res.Status, id)
		}
	}
}
