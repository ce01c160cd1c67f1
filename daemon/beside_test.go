package daemon_test

import (
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/daemon"
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
	b, llm := echo(), &plain{answer: "Fixing Tests"}
	g := serve(t, b, llm.config)
	title := `{"role":"system","content":"You are a title generator. You output ONLY a thread title. Nothing else."},{"role":"user","content":"Generate a title for this conversation:\n"},` + userMessage
	res := g.chat(messages(title, streamed), session, "ses_1")
	if f := parse(t, res); f.text() != "Fixing Tests" || res.header.Get("X-OpenHands-Task") != "plain_title_generation" {
		t.Errorf("%q, %v", f.text(), res.header)
	}
	if res := g.chat(messages(systemMain+userMessage, withTools, streamed), session, "ses_1"); res.header.Get("X-OpenHands-Reconciled") != "new" {
		t.Errorf("headers %v", res.header)
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
	main, beside := messages(systemMain+userMessage, withTools, streamed), messages(systemBeside+`{"role":"user","content":"name this"},`+userMessage, streamed)
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
			b, llm := script(daemontest.Until(gate), daemontest.Finish("done")), &plain{answer: "A Name"}
			g := serve(t, b, func(c *daemon.Config) {
				c.StateDir, c.WorkspacePerChat = t.TempDir(), tc.perChat
				if tc.llm {
					c.Complete = llm.complete
				}
			})
			send := func(body string) *http.Response {
				return g.send(g.request(http.MethodPost, "/v1/chat/completions", body, session, "ses_1"))
			}
			first := send(tc.first)
			eventually(t, "it runs", func() bool { return b.Runs() == 1 })
			second := send(tc.second)
			eventually(t, "the other is answered, or runs", func() bool { return b.Runs() == tc.runs })
			close(gate)
			parse(t, g.finish(first))
			if f := parse(t, g.finish(second)); tc.runs == 1 && f.text() != "A Name" {
				t.Errorf("answer %q", f.text())
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
			more := g.chat(messages(systemMain+userMessage+`,{"role":"assistant","content":"done"},{"role":"user","content":"more"}`, withTools, streamed), session, "ses_1")
			if how := more.header.Get("X-OpenHands-Reconciled"); how != "continued" {
				t.Errorf("the next message is %q", how)
			}
		})
	}
}

// The same for a request of one message, which could be the chat's next one.
func TestARequestOfOneMessageBesideARunHasNoPartInIt(t *testing.T) {
	t.Parallel()
	main, beside := messages(systemMain+userMessage, withTools, streamed), messages(systemBeside+`{"role":"user","content":"Name this: fix the tests"}`, streamed)
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
			b, llm := script(daemontest.Until(gate), daemontest.Finish("done")), &plain{answer: "A Name"}
			g := serve(t, b, llm.config)
			send := func(body string) *http.Response {
				return g.send(g.request(http.MethodPost, "/v1/chat/completions", body, session, "ses_1"))
			}
			first := send(tc.first)
			eventually(t, "it runs", func() bool { return b.Runs() == 1 })
			second := send(tc.second)
			eventually(t, "the other is answered, or runs", func() bool { return b.Runs() == tc.runs })
			if how := second.Header.Get("X-OpenHands-Reconciled"); how == "continued" {
				t.Error("it goes on in the conversation of the other")
			}
			close(gate)
			parse(t, g.finish(first))
			if f := parse(t, g.finish(second)); tc.runs == 1 && f.text() != "A Name" {
				t.Errorf("answer %q", f.text())
			}
			more := g.chat(messages(systemMain+userMessage+`,{"role":"assistant","content":"done"},{"role":"user","content":"more"}`, withTools, streamed), session, "ses_1")
			if how := more.header.Get("X-OpenHands-Reconciled"); how != "continued" || b.Prompts()[len(b.Prompts())-1].Text != "more" {
				t.Errorf("the next message is %q: %q", how, b.Prompts())
			}
		})
	}
}

// Another message of the chat, and another answer, are not requests beside it.
func TestMessagesDuringARunArePartOfTheChat(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b, llm := script(daemontest.Until(gate), daemontest.Finish("done")), &plain{answer: "A Name"}
	g := serve(t, b, llm.config)
	first := g.send(g.request(http.MethodPost, "/v1/chat/completions", messages(systemMain+userMessage, withTools, streamed), session, "ses_1"))
	eventually(t, "it runs", func() bool { return b.Runs() == 1 })
	second := g.send(g.request(http.MethodPost, "/v1/chat/completions", messages(systemBeside+userMessage+`,{"role":"user","content":"and format them"}`, streamed), session, "ses_1"))
	close(gate)
	parse(t, g.finish(first))
	if f := parse(t, g.finish(second)); f.text() != "done" || second.Header.Get("X-OpenHands-Reconciled") != "continued" {
		t.Errorf("%q, %v", f.text(), second.Header)
	}
}

// The same for two requests of one message of which the first has ended.
func TestARequestOfOneMessageAfterAnotherKindIsNotItsNext(t *testing.T) {
	t.Parallel()
	main, beside := messages(systemMain+userMessage, withTools, streamed), messages(systemBeside+`{"role":"user","content":"Name this: fix the tests"}`, streamed)
	next := messages(systemMain+`{"role":"user","content":"and format them"}`, withTools, streamed)
	for name, tc := range map[string]struct {
		bodies []string
		how    []string // reconciled; "": no agent
	}{
		"the agent last":           {[]string{beside, main, next}, []string{"new", "new", "continued"}},
		"the agent first":          {[]string{main, beside, next}, []string{"new", "", "continued"}},
		"another name in between":  {[]string{beside, main, beside, next}, []string{"new", "new", "", "continued"}},
		"the agent, and a message": {[]string{main, messages(`{"role":"user","content":"more"}`, streamed)}, []string{"new", "continued"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, llm := echo(), &plain{answer: "A Name"}
			g := serve(t, b, llm.config)
			conversations := map[string]bool{}
			for i, body := range tc.bodies {
				res := g.chat(body, session, "ses_1")
				if how := res.header.Get("X-OpenHands-Reconciled"); how != tc.how[i] {
					t.Errorf("request %d is %q, want %q", i, how, tc.how[i])
				}
				conversations[res.header.Get("X-OpenHands-ServerConversation-ID")] = true
			}
			if name == "the agent last" && len(conversations) != 2 {
				t.Errorf("%d conversations", len(conversations))
			}
		})
	}
}
