package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const headerHow = "X-OpenHands-Reconciled"

// resending is a client of the Responses API that sends its whole chat each time.
type resending struct {
	t      testing.TB
	g      *apitest.Gateway
	header []string
	more   []string // fields of each request
	items  []string // the chat, as JSON
	// keep makes of an answer what the client sends back.
	keep func(m apitest.Made, object string) []string

	last apitest.Response
	made apitest.Made
}

// asText keeps what was said, as one message without an id.
func asText(m apitest.Made, _ string) []string {
	return []string{fmt.Sprintf(`{"role":"assistant","content":%q}`, m.Text())}
}

// asItems keeps the items as they came.
func asItems(_ apitest.Made, object string) []string {
	var whole struct {
		Output []json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal([]byte(object), &whole); err != nil {
		panic(err)
	}
	var items []string
	for _, item := range whole.Output {
		items = append(items, string(item))
	}
	return items
}

// asReferences keeps the ids of the messages alone, as the AI SDK does.
func asReferences(m apitest.Made, _ string) []string {
	var items []string
	for _, item := range m.Output {
		items = append(items, fmt.Sprintf(`{"type":"item_reference","id":%q}`, item.ID))
	}
	return items
}

// say adds a message to the chat and sends all of it; how is the header that says
// what became of it.
func (c *resending) say(text, how string, more ...string) apitest.Made {
	c.t.Helper()
	c.items = append(c.items, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	return c.send(how, more...)
}

func (c *resending) send(how string, more ...string) apitest.Made {
	c.t.Helper()
	fields := append(append([]string{`"input":[` + strings.Join(c.items, ",") + `]`, `"model":"openhands_default"`}, c.more...), more...)
	c.last = c.g.Respond(`{`+strings.Join(fields, ",")+`}`, c.header...)
	object := c.last.Body
	if strings.HasPrefix(object, "event:") {
		events := apitest.EventsOf(c.t, object)
		object = string(events[len(events)-1].Response)
		c.last.Body = object
	}
	c.made = apitest.Responded(c.t, c.last)
	apitest.Equal(c.t, headerHow, c.last.Header.Get(headerHow), how)
	c.items = append(c.items, c.keep(c.made, object)...)
	return c.made
}

func (c *resending) conversation() string {
	return c.last.Header.Get("X-OpenHands-ServerConversation-ID")
}

// back forgets what came after so many items.
func (c *resending) back(items int) { c.items = c.items[:items:items] }

func stepsAndEnd() []daemontest.Step {
	return []daemontest.Step{daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("There are two.")}
}

// Whatever a client keeps of an answer, the chat that it sends again goes on in its
// conversation, and the agent gets the new message alone.
func TestAChatThatIsSentAgainGoesOn(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(apitest.Made, string) []string{"as text": asText, "as items": asItems, "as references": asReferences} {
		for _, more := range [][]string{nil, {apitest.Streamed}, {`"store":false`}, {`"store":false`, apitest.Streamed}} {
			t.Run(name+" "+strings.Join(more, " "), func(t *testing.T) {
				t.Parallel()
				b := apitest.Script(stepsAndEnd()...)
				g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = t.TempDir(), time.Minute })
				c := &resending{t: t, g: g, more: more, keep: keep}
				c.say("one", "")
				first := c.conversation()
				for i, text := range []string{"two", "three"} {
					previous := c.made.ID
					m := c.say(text, "continued")
					apitest.Equal(t, "conversation", c.conversation(), first)
					apitest.Equal(t, "message", b.Prompts()[i+1].Text, text)
					if len(more) == 0 {
						apitest.Equal(t, "previous", m.Previous, previous)
					}
				}
				apitest.Equal(t, "ignored", c.last.Header.Get("X-OpenHands-Ignored"), "")
			})
		}
	}
}

// A message that is asked again, or changed, goes on in a copy; the answers of both
// go on from there.
func TestAnEarlierPlaceOfAChatThatIsSentAgainForks(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(apitest.Made, string) []string{"as text": asText, "as items": asItems} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default")
			b.Script = func(prompt string) []daemontest.Step {
				return []daemontest.Step{daemontest.Finish("answer to " + prompt)}
			}
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
			c := &resending{t: t, g: g, keep: keep}
			c.say("one", "")
			start, first := len(c.items), c.conversation()
			c.say("two", "continued")
			old := c.items
			c.back(start)
			c.say("two, but better", "forked")
			second := c.conversation()
			if second == first {
				t.Fatal("the changed message is in the same conversation")
			}
			c.say("three", "continued")
			apitest.Equal(t, "conversation of the copy", c.conversation(), second)
			c.items = old
			c.say("three", "continued")
			apitest.Equal(t, "conversation of the origin", c.conversation(), first)
			apitest.Equal(t, "copies", len(b.Forked()), 1)
			envelopeOf := g.Respond(`{"model":"openhands_default","input":[`+strings.Join(append(old[:start:start], `{"role":"user","content":"x"}`), ",")+`]}`, "X-OpenHands-Branch", "reject")
			apitest.Envelope(t, envelopeOf, http.StatusBadRequest, "previous_response_not_latest", "previous_response_id")
		})
	}
}

func TestAForkThatTheBackendCannotMakeIsToldTheChat(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	b.NoFork = true
	c := &resending{t: t, g: apitest.Serve(t, b), keep: asText}
	c.say("one", "")
	start := len(c.items)
	c.say("two", "continued")
	c.back(start)
	c.say("two again", "quoted")
	apitest.Contains(t, "message", b.Prompts()[2].Text, "> User: one\n\n> Assistant: done\n")
}

// What stands in the chat after the last answer of the conversation was not said in
// it.
func TestAnotherModelsAnswersAreTold(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	c := &resending{t: t, g: apitest.Serve(t, b), keep: asItems}
	c.say("one", "")
	c.items = append(c.items, `{"role":"user","content":"elsewhere"}`, `{"role":"assistant","content":"answered elsewhere"}`)
	c.say("two", "continued")
	got := b.Prompts()[1].Text
	apitest.Contains(t, "message", got, "new to you:\n\n> User: elsewhere\n\n> Assistant: answered elsewhere\n")
	apitest.Lacks(t, "message", got, "> User: one")
	if !strings.HasSuffix(got, "The new message of the user:\n\ntwo") {
		t.Errorf("message %q", got)
	}
}

func TestNewInstructionsOfAChatThatIsSentAgain(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	c := &resending{t: t, g: apitest.Serve(t, b), keep: asText}
	c.say("one", "", `"instructions":"be brief"`)
	c.say("two", "continued", `"instructions":"be brief"`)
	apitest.Equal(t, "message", b.Prompts()[1].Text, "two")
	c.say("three", "continued", `"instructions":"be long"`)
	apitest.Equal(t, "message", b.Prompts()[2].Text, "New instructions for this task:\n\nbe long\n\nThe task:\n\nthree")
	apitest.Equal(t, "ignored", c.last.Header.Get("X-OpenHands-Ignored"), "")
}

func TestWhatDoesNotGoOn(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("a long answer which nobody gives by chance"))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = t.TempDir(), time.Minute })
	for name, tc := range map[string]struct {
		keep   func(apitest.Made, string) []string
		header []string
		change func(*resending)
		more   []string
	}{
		"another token, as text":  {asText, []string{"Authorization", "Bearer " + apitest.OtherKey}, nil, nil},
		"another token, as items": {asItems, []string{"Authorization", "Bearer " + apitest.OtherKey}, nil, nil},
		"another answer": {asText, nil, func(c *resending) {
			c.items = []string{c.items[0], `{"role":"assistant","content":"something else"}`}
		}, nil},
		"another question": {asText, nil, func(c *resending) {
			c.items[0] = `{"role":"user","content":"what is this?"}`
		}, nil},
		"a cut chat without ids": {asText, nil, func(c *resending) { c.items = c.items[1:] }, nil},
		"another model":          {asText, nil, nil, []string{`"model":"openhands_cheap"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &resending{t: t, g: g, keep: tc.keep}
			c.say("the question of "+name, "")
			first := c.conversation()
			if tc.change != nil {
				tc.change(c)
			}
			c.header = tc.header
			c.say("two", "quoted", tc.more...)
			if c.conversation() == first {
				t.Error("it went on in the conversation")
			}
		})
	}
}

func TestRequestsWithoutAChatStayNew(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	seen := map[string]bool{}
	for range 3 {
		res := g.Respond(apitest.Input("the same"))
		apitest.Equal(t, headerHow, res.Header.Get(headerHow), "")
		seen[apitest.Responded(t, res).Conversation.ID] = true
	}
	apitest.Equal(t, "conversations", len(seen), 3)
}

// An item's id finds its conversation after a restart, too; words do not, and are
// told to a new conversation.
func TestAChatThatIsSentAgainAfterARestart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keep func(apitest.Made, string) []string
		how  string
	}{"as items": {asItems, "continued"}, "as text": {asText, "quoted"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			b := apitest.Script(daemontest.Finish("done"))
			config := func(c *daemon.Config) { c.StateDir = state }
			c := &resending{t: t, g: apitest.Serve(t, b, config), keep: tc.keep}
			c.say("one", "")
			if err := c.g.Stop(); err != nil {
				t.Fatal(err)
			}
			c.g = apitest.Serve(t, b, config)
			c.say("two", tc.how)
		})
	}
}

func TestADeletedResponseIsNotGoneOnFrom(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(apitest.Made, string) []string{"as text": asText, "as items": asItems} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &resending{t: t, g: apitest.Serve(t, apitest.Script(daemontest.Finish("done"))), keep: keep}
			c.say("one", "")
			c.g.Do(http.MethodDelete, "/v1/responses/"+c.made.ID, "").AsDeleted(t, c.made.ID)
			c.say("two", "quoted")
		})
	}
}

// A client that names its chat is known by that name, its edits included.
func TestAChatWithANameIsKnownByIt(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	c := &resending{t: t, g: apitest.Serve(t, b), keep: asText, header: []string{"Originator", "codex_cli_rs"}, more: []string{`"store":false`, `"prompt_cache_key":"thread-1"`}}
	c.say("one", "new")
	first := c.conversation()
	c.say("two", "continued")
	apitest.Equal(t, "conversation", c.conversation(), first)
	apitest.Equal(t, "message", b.Prompts()[1].Text, "two")
}

// The conversation of responses that are not stored goes away after its time, and
// that begins again with each of them.
func TestTheConversationOfAnUnstoredChatGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Finish("done"))
		c := &resending{t: t, g: apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = 10 * time.Minute }), keep: asText, more: []string{`"store":false`}}
		c.say("one", "")
		first := c.conversation()
		for _, text := range []string{"two", "three"} {
			time.Sleep(9 * time.Minute)
			c.say(text, "continued")
			apitest.Equal(t, "conversation", c.conversation(), first)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		apitest.Equal(t, "removed", len(b.Removed()), 1)
		c.say("four", "quoted")
	})
}

// Of two chats with the same words each goes on in one conversation.
func TestTwoChatsWithTheSameWords(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	one, two := &resending{t: t, g: g, keep: asText}, &resending{t: t, g: g, keep: asText}
	one.say("hi", "")
	two.say("hi", "")
	one.say("and now?", "continued")
	two.say("and then?", "continued")
	if one.conversation() == two.conversation() {
		t.Error("both chats are one conversation")
	}
}
