package completions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestYesAndNoInTheChatDecide(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		accepted bool
		prompt   string // what the agent is told after it
	}{
		"yes": {accepted: true, prompt: "clean up"}, " Yes. ": {accepted: true, prompt: "clean up"}, "YES!": {accepted: true, prompt: "clean up"},
		"no": {prompt: "no"}, "No.": {prompt: "No."},
		"y": {prompt: "y"}, "yes please": {prompt: "yes please"}, "yes, but gently": {prompt: "yes, but gently"}, "no way": {prompt: "no way"}, "ok": {prompt: "ok"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default")
			b.Script = func(prompt string) []daemontest.Step {
				if prompt == "clean up" {
					return []daemontest.Step{daemontest.Confirm("rm -rf build"), daemontest.Finish("done")}
				}
				return []daemontest.Step{daemontest.Finish("as you like")}
			}
			w := openWindow(apitest.Serve(t, b), chatID, "c-1")
			notice := w.say("clean up")
			for _, word := range []string{"$ rm -rf build", `"yes"`, `"no"`, "single word"} {
				if !strings.Contains(notice, word) {
					t.Errorf("the notice has no %s: %q", word, notice)
				}
			}
			answer := w.say(text)
			decided := b.Decided()
			apitest.Size(t, "decided", decided, 1)
			apitest.Equal(t, "decided[0].Accept", decided[0].Accept, want.accepted)
			apitest.Equal(t, "what the agent was told", told(b), want.prompt)
			if w.wants(t, "continued"); want.accepted && answer != "done" {
				t.Errorf("answer %q", answer)
			}
		})
	}
}

func TestYesToNothingIsAMessage(t *testing.T) {
	t.Parallel()
	b := echo()
	w := openWindow(apitest.Serve(t, b), chatID, "c-1")
	w.say("shall I?")
	if answer := w.say("yes"); len(b.Decided()) != 0 || answer != "You said: yes" {
		t.Errorf("decided %+v, answered %q", b.Decided(), answer)
	}
}

func TestAnAnswerGoesOn(t *testing.T) {
	t.Parallel()
	b := echo()
	w := openWindow(apitest.Serve(t, b), chatID, "c-1")
	w.say("one")
	// The button that lets an answer go on sends the chat with the answer last,
	// and shows what comes behind it.
	w.last = w.g.Chat(w.body(apitest.Streamed), w.header...)
	more := apitest.Parse(t, w.last).Text()
	if w.wants(t, "continued"); !strings.HasPrefix(told(b), "Continue your last answer") {
		t.Errorf("told %q", told(b))
	}
	w.shows[1].Content += more
	w.say("two")
	w.wants(t, "continued")
	apitest.Equal(t, "what the agent was told", told(b), "two")
	apitest.Equal(t, "the number of forks", len(b.Forked()), 0)
	w.edit(0, "uno")
	w.wants(t, "new")
}

func TestUserNamesAChatForTokensThatSaySo(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	for field, tokenKey := range map[string]string{"user": apitest.OtherKey, "prompt_cache_key": apitest.OtherKey} {
		body := func(prompt string) string { return apitest.Ask(prompt, fmt.Sprintf("%q:%q", field, "u-1")) }
		mine, theirs := g.Chat(body("one"), "Authorization", "Bearer "+tokenKey), g.Chat(body("one"))
		if mine.Header.Get("X-OpenHands-Reconciled") != "new" || theirs.Header.Get("X-OpenHands-Reconciled") != "" {
			t.Errorf("%s: %q for the token that says so, %q for another", field, mine.Header.Get("X-OpenHands-Reconciled"), theirs.Header.Get("X-OpenHands-Reconciled"))
		}
	}
	// Open WebUI's pipelines send an object there.
	if res := g.Chat(apitest.Ask("one", `"user":{"id":"u-1"}`), "Authorization", "Bearer "+apitest.OtherKey); res.Status != http.StatusOK || res.Header.Get("X-OpenHands-Reconciled") != "" {
		t.Errorf("a user that is an object: %d, %s", res.Status, res.Header.Get("X-OpenHands-Reconciled"))
	}
}

func TestADirectoryForEachChat(t *testing.T) {
	t.Parallel()
	state, root := t.TempDir(), t.TempDir()
	for name, base := range map[string]string{"given": root, "": filepath.Join(state, "workspaces")} {
		b := echo()
		b.NoFork = true
		g := apitest.Serve(t, b, func(c *daemon.Config) {
			c.StateDir, c.WorkspacePerChat = state, true
			if name != "" {
				c.Workspace = root
			}
		})
		w := openWindow(g, chatID, "dir-"+name)
		w.say("one")
		w.edit(0, "uno")
		g.Chat(strings.Replace(w.body(), "openhands_default", "openhands_cheap", 1), w.header...)
		openWindow(g, chatID, "another-"+name).say("one")
		places := map[string]int{}
		for _, o := range b.Opened() {
			apitest.Equal(t, "filepath.Dir(o.Workspace)", filepath.Dir(o.Workspace), base)
			apitest.Begins(t, "filepath.Base(o.Workspace)", filepath.Base(o.Workspace), "chat-")
			places[o.Workspace]++
		}
		if len(places) != 2 {
			t.Errorf("two chats have the directories %v", places)
		}
	}
}

func TestImagesThatTheModelCannotSeeAreToldOf(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, echo(), func(c *daemon.Config) {
		c.Sees = func(model string) (bool, bool) { return model == "provider/default", model != "provider/unknown" }
	})
	const image = `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}`
	for model, noted := range map[string]bool{"openhands_default": false, "openhands_cheap": true} {
		body := strings.Replace(apitest.Messages(image, apitest.Streamed), "openhands_default", model, 1)
		if text := apitest.Parse(t, g.Chat(body)).Text(); strings.Contains(text, "cannot see images") != noted || !strings.HasPrefix(text, "You said: look") {
			t.Errorf("%s: text = %q", model, text)
		}
	}
	if text := apitest.Parse(t, g.Chat(strings.Replace(apitest.Ask("hi", apitest.Streamed), "default", "cheap", 1))).Text(); strings.Contains(text, "images") {
		t.Errorf("without an image: %q", text)
	}
	var m struct {
		Info struct {
			Meta struct{ Capabilities map[string]bool }
		}
	}
	if err := json.Unmarshal([]byte(g.Do(http.MethodGet, "/v1/models/openhands_cheap", "").Body), &m); err != nil || m.Info.Meta.Capabilities["vision"] {
		t.Errorf("the model's capabilities: %v, %+v", err, m)
	}
}

func TestAChatOfMegabytes(t *testing.T) {
	t.Parallel()
	b := echo()
	w := openWindow(apitest.Serve(t, b), chatID, "c-1")
	w.say("one")
	first := w.conversation()
	// The user has pasted a lot into old messages: the window shows it, and what
	// the agent gets of it is bounded.
	big := strings.Repeat("all work and no play makes a long chat. ", 3_000)
	for i := range 11 {
		w.shows = append(w.shows[:len(w.shows):len(w.shows)], said{"user", fmt.Sprint(i, big)}, said{"assistant", fmt.Sprint(i, big)})
	}
	w.say("two")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), first)
	if len(told(b)) > 128<<10 {
		t.Errorf("in %s: %d bytes", w.conversation(), len(told(b)))
	}
	apitest.Ends(t, "what the agent was told", told(b), "\n\ntwo")
	w.say("three")
	if w.wants(t, "continued"); told(b) != "three" {
		t.Errorf("told %d bytes again", len(told(b)))
	}
}

func TestForksThatFailForAWhileAreNoNewConversation(t *testing.T) {
	t.Parallel()
	b := echo()
	w := openWindow(apitest.Serve(t, b), chatID, "c-1")
	w.say("one")
	w.say("two")
	b.FailOpen(daemontest.Unavailable())
	w.edit(2, "zwei")
	apitest.Envelope(t, w.last, http.StatusServiceUnavailable, "agent_server_unavailable", "")
	b.FailOpen(nil)
	w.shows = w.shows[:2]
	w.say("zwei")
	if w.wants(t, "forked"); len(b.Forked()) != 1 {
		t.Errorf("forks %+v", b.Forked())
	}
}

func TestTheHeaderOfTheConversationGoesBeforeThatOfTheChat(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, echo())
	const id = "0f0e0d0c-0b0a-4908-8706-050403020100"
	res := g.Chat(apitest.Ask("one"), chatID, "c-1", "X-OpenHands-ServerConversation-ID", id)
	apitest.Equal(t, "X-OpenHands-ServerConversation-ID", res.Header.Get("X-OpenHands-ServerConversation-ID"), id)
	apitest.Equal(t, "X-OpenHands-Reconciled", res.Header.Get("X-OpenHands-Reconciled"), "")
}

func TestHistoryIgnoreTellsNothingOfTheChat(t *testing.T) {
	t.Parallel()
	b := echo()
	w := openWindow(apitest.Serve(t, b, func(c *daemon.Config) { c.IgnoreHistory = true }), chatID, "c-1")
	w.shows = []said{{"user", "before"}, {"assistant", "long ago"}}
	w.say("one")
	if w.wants(t, "new"); told(b) != "one" {
		t.Errorf("told %q", told(b))
	}
	w.say("two")
	if w.wants(t, "continued"); told(b) != "two" {
		t.Errorf("told %q", told(b))
	}
}

// All temporary chats of a page have one id, and may be those of several
// people.
func TestChatsThatShareAnIDShareNoDirectory(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.WorkspacePerChat = t.TempDir(), true })
	mine, theirs := openWindow(g, chatID, "local"), openWindow(g, chatID, "local")
	mine.say("my diary: a long day at the office")
	theirs.say("their accounts: a long list of figures")
	opened := b.Opened()
	apitest.Size(t, "what was opened", opened, 2)
	if opened[0].Workspace == opened[1].Workspace {
		t.Errorf("opened %+v", opened)
	}
	// What becomes of a chat stays in its directory.
	mine.say("more")
	mine.wants(t, "continued")
	mine.edit(2, "something else")
	mine.wants(t, "forked")
	b.NoFork = true
	mine.edit(2, "something else again")
	if mine.wants(t, "quoted"); b.Opened()[len(b.Opened())-1].Workspace != opened[0].Workspace {
		t.Errorf("the chat has moved: %+v", b.Opened())
	}
}
