package completions_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const (
	withTools    = `"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]`
	systemMain   = `{"role":"system","content":"You are a coding agent."},`
	systemBeside = `{"role":"system","content":"You name things. Answer with a name."},`
	userMessage  = `{"role":"user","content":"fix the tests"}`
	session      = "X-Session-Id"
)

// opencode asks for a title beside its first message, in the name of the same
// session. The title reaches no agent.
func TestTheTitleOfOpencodeReachesNoAgent(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &apitest.Plain{Answer: "Fixing Tests"}
	g := apitest.Serve(t, b, llm.Config)
	title := `{"role":"system","content":"You are a title generator. You output ONLY a thread title. Nothing else."},{"role":"user","content":"Generate a title for this conversation:\n"},` + userMessage
	res := g.Chat(apitest.Messages(title, apitest.Streamed), session, "ses_1")
	if f := apitest.Parse(t, res); f.Text() != "Fixing Tests" || res.Header.Get("X-OpenHands-Task") != "plain_title_generation" {
		t.Errorf(`the text = %q, want "Fixing Tests", the header = %v`, f.Text(), res.Header)
	}
	if res := g.Chat(apitest.Messages(systemMain+userMessage, withTools, apitest.Streamed), session, "ses_1"); res.Header.Get("X-OpenHands-Reconciled") != "new" {
		t.Errorf("headers %v", res.Header)
	}
	if b.Runs() != 1 {
		t.Errorf("%d runs", b.Runs())
	}
}

// Two requests of one chat at once, one without tools and with a system text
// of its own, are never two agents in one directory: not in any order, whatever
// their words.
func TestRequestsBesideARunHaveNoPartInIt(t *testing.T) {
	t.Parallel()
	main, beside := apitest.Messages(systemMain+userMessage, withTools, apitest.Streamed), apitest.Messages(systemBeside+`{"role":"user","content":"name this"},`+userMessage, apitest.Streamed)
	for name, tc := range map[string]struct {
		first, second string
		llm, perChat  bool
		runs          int
	}{
		"the agent first":                       {main, beside, true, false, 1},
		"the agent first, no plain model":       {main, beside, false, false, 2},
		"the agent last":                        {beside, main, true, false, 2},
		"the agent last, no plain model":        {beside, main, false, false, 2},
		"the agent first, directories of chats": {main, beside, false, true, 2},
		"the agent last, directories of chats":  {beside, main, true, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			b, llm := apitest.Script(daemontest.Until(gate), daemontest.Finish("done")), &apitest.Plain{Answer: "A Name"}
			g := apitest.Serve(t, b, func(c *daemon.Config) {
				c.StateDir, c.WorkspacePerChat = t.TempDir(), tc.perChat
				if tc.llm {
					c.Complete = llm.Complete
				}
			})
			send := func(body string) *http.Response {
				return g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body, session, "ses_1"))
			}
			first := send(tc.first)
			apitest.Eventually(t, "it runs", func() bool { return b.Runs() == 1 })
			second := send(tc.second)
			apitest.Eventually(t, "the other is answered, or runs", func() bool { return b.Runs() == tc.runs })
			close(gate)
			apitest.Parse(t, g.Finish(first))
			if f := apitest.Parse(t, g.Finish(second)); tc.runs == 1 && f.Text() != "A Name" {
				t.Errorf("answer %q", f.Text())
			}
			seen := map[string]bool{}
			for _, o := range b.Opened() {
				if o.Workspace == "" || seen[o.Workspace] {
					t.Errorf("opened %+v", b.Opened())
				}
				seen[o.Workspace] = true
			}
			if b.Interrupts() != 0 {
				t.Error("one has interrupted the other")
			}
			// The chat goes on where its agent is.
			more := g.Chat(apitest.Messages(systemMain+userMessage+`,{"role":"assistant","content":"done"},{"role":"user","content":"more"}`, withTools, apitest.Streamed), session, "ses_1")
			if how := more.Header.Get("X-OpenHands-Reconciled"); how != "continued" {
				t.Errorf("the next message is %q", how)
			}
		})
	}
}

// The same for a request of one message, which could be the chat's next one.
func TestARequestOfOneMessageBesideARunHasNoPartInIt(t *testing.T) {
	t.Parallel()
	main, beside := apitest.Messages(systemMain+userMessage, withTools, apitest.Streamed), apitest.Messages(systemBeside+`{"role":"user","content":"Name this: fix the tests"}`, apitest.Streamed)
	for name, tc := range map[string]struct {
		first, second string
		runs          int
	}{
		"the agent first": {main, beside, 1},
		"the agent last":  {beside, main, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			b, llm := apitest.Script(daemontest.Until(gate), daemontest.Finish("done")), &apitest.Plain{Answer: "A Name"}
			g := apitest.Serve(t, b, llm.Config)
			send := func(body string) *http.Response {
				return g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body, session, "ses_1"))
			}
			first := send(tc.first)
			apitest.Eventually(t, "it runs", func() bool { return b.Runs() == 1 })
			second := send(tc.second)
			apitest.Eventually(t, "the other is answered, or runs", func() bool { return b.Runs() == tc.runs })
			if how := second.Header.Get("X-OpenHands-Reconciled"); how == "continued" {
				t.Error("it goes on in the conversation of the other")
			}
			close(gate)
			apitest.Parse(t, g.Finish(first))
			if f := apitest.Parse(t, g.Finish(second)); tc.runs == 1 && f.Text() != "A Name" {
				t.Errorf("answer %q", f.Text())
			}
			more := g.Chat(apitest.Messages(systemMain+userMessage+`,{"role":"assistant","content":"done"},{"role":"user","content":"more"}`, withTools, apitest.Streamed), session, "ses_1")
			if how := more.Header.Get("X-OpenHands-Reconciled"); how != "continued" || b.Prompts()[len(b.Prompts())-1].Text != "more" {
				t.Errorf("the next message is %q: %q", how, b.Prompts())
			}
		})
	}
}

// Another message of the chat, and another answer, are not requests beside it.
func TestMessagesDuringARunArePartOfTheChat(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b, llm := apitest.Script(daemontest.Until(gate), daemontest.Finish("done")), &apitest.Plain{Answer: "A Name"}
	g := apitest.Serve(t, b, llm.Config)
	first := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Messages(systemMain+userMessage, withTools, apitest.Streamed), session, "ses_1"))
	apitest.Eventually(t, "it runs", func() bool { return b.Runs() == 1 })
	second := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Messages(systemBeside+userMessage+`,{"role":"user","content":"and format them"}`, apitest.Streamed), session, "ses_1"))
	close(gate)
	apitest.Parse(t, g.Finish(first))
	if f := apitest.Parse(t, g.Finish(second)); f.Text() != "done" || second.Header.Get("X-OpenHands-Reconciled") != "continued" {
		t.Errorf(`the text = %q, want "done", the header = %v`, f.Text(), second.Header)
	}
}

// The same for two requests of one message of which the first has ended.
func TestARequestOfOneMessageAfterAnotherKindIsNotItsNext(t *testing.T) {
	t.Parallel()
	main, beside := apitest.Messages(systemMain+userMessage, withTools, apitest.Streamed), apitest.Messages(systemBeside+`{"role":"user","content":"Name this: fix the tests"}`, apitest.Streamed)
	next := apitest.Messages(systemMain+`{"role":"user","content":"and format them"}`, withTools, apitest.Streamed)
	for name, tc := range map[string]struct {
		bodies []string
		how    []string // reconciled; "": no agent
	}{
		"the agent last":           {[]string{beside, main, next}, []string{"new", "new", "continued"}},
		"the agent first":          {[]string{main, beside, next}, []string{"new", "", "continued"}},
		"another name in between":  {[]string{beside, main, beside, next}, []string{"new", "new", "", "continued"}},
		"the agent, and a message": {[]string{main, apitest.Messages(`{"role":"user","content":"more"}`, apitest.Streamed)}, []string{"new", "continued"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, llm := echo(), &apitest.Plain{Answer: "A Name"}
			g := apitest.Serve(t, b, llm.Config)
			conversations := map[string]bool{}
			for i, body := range tc.bodies {
				res := g.Chat(body, session, "ses_1")
				if how := res.Header.Get("X-OpenHands-Reconciled"); how != tc.how[i] {
					t.Errorf("request %d is %q, want %q", i, how, tc.how[i])
				}
				conversations[res.Header.Get("X-OpenHands-ServerConversation-ID")] = true
			}
			if name == "the agent last" && len(conversations) != 2 {
				t.Errorf("%d conversations", len(conversations))
			}
		})
	}
}
