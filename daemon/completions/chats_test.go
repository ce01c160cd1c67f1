package completions_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestAChatStaysInItsConversation(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	w.wants(t, "new")
	first := w.conversation()
	for _, text := range []string{"two", "three"} {
		if answer := w.say(text); answer != "You said: "+text {
			t.Errorf("answer %q", answer)
		}
		w.wants(t, "continued")
		apitest.Equal(t, "the conversation", w.conversation(), first)
		apitest.Equal(t, "what the agent was told", told(b), text)
	}
	for i, o := range b.Opened() {
		if o.New != (i == 0) {
			t.Errorf("opening %d promises a new id: %v, want %v", i+1, o.New, i == 0)
		}
	}
	other := openWindow(g, chatID, "c-2")
	other.say("one")
	apitest.Equal(t, "what the other chat is", other.how(), "new")
	if other.conversation() == first {
		t.Errorf("another chat: %s in %s", other.how(), other.conversation())
	}
	if b.Runs() != 4 {
		t.Errorf("%d runs for 4 messages", b.Runs())
	}
}

func TestAnEditGoesBackToWhereItWas(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	old := w.conversation()
	w.say("two")
	w.say("three")
	old3 := append([]said(nil), w.shows...)
	w.edit(2, "two, but better")
	w.wants(t, "forked")
	forks := b.Forked()
	apitest.Size(t, "forks", forks, 1)
	apitest.Equal(t, "forks[0].Source", forks[0].Source, old)
	if w.conversation() == old {
		t.Fatalf("forks %+v", forks)
	}
	apitest.Equal(t, "forks[0].ID", forks[0].ID, w.conversation())
	apitest.Begins(t, "what the agent was told", told(b), "The user went back")
	apitest.Ends(t, "what the agent was told", told(b), "\n\ntwo, but better")
	apitest.Lacks(t, "what the agent was told", told(b), "> ")
	fork := w.conversation()
	w.say("three of the new branch")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), fork)
	apitest.Equal(t, "what the agent was told", told(b), "three of the new branch")
	// The user looks at the old branch again, and goes on there.
	w.shows = old3
	w.say("four of the old branch")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), old)
	apitest.Equal(t, "what the agent was told", told(b), "four of the old branch")
}

func TestAnEditOfTheFirstMessageBeginsAnewWhereTheFilesAre(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	old := w.conversation()
	w.edit(0, "uno")
	w.wants(t, "new")
	opened := b.Opened()
	first, second := opened[0], opened[len(opened)-1]
	if second.ID == old || second.Workspace != first.Workspace || first.Workspace == "" || told(b) != "uno" {
		t.Errorf("opened %+v, then %+v, told %q", first, second, told(b))
	}
}

func TestAnotherAnswerComesFromAFork(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	w.say("two")
	w.regenerate()
	w.wants(t, "forked")
	apitest.Size(t, "forks", b.Forked(), 1)
	apitest.Ends(t, "what the agent was told", told(b), "\n\ntwo")
	w.regenerate()
	w.wants(t, "forked")
	apitest.Equal(t, "the number of runs", b.Runs(), 4)
	if b.Forked()[1].Source != b.Forked()[0].ID && b.Forked()[1].Source != b.Forked()[0].Source {
		t.Errorf("%d runs, forks %+v", b.Runs(), b.Forked())
	}
}

func TestABackendWithoutForksIsToldWhatWasSaid(t *testing.T) {
	t.Parallel()
	b := echo()
	b.NoFork = true
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	old := w.conversation()
	w.say("two")
	w.edit(2, "zwei")
	w.wants(t, "quoted")
	want := "> User: one\n\n> Assistant: You said: one\n"
	apitest.Contains(t, "what the agent was told", told(b), want)
	apitest.Lacks(t, "what the agent was told", told(b), "two")
	apitest.Ends(t, "what the agent was told", told(b), "\n\nzwei")
	opened := b.Opened()
	if last := opened[len(opened)-1]; last.ID == old || last.Workspace != opened[0].Workspace {
		t.Errorf("opened %+v", opened)
	}
	w.say("drei")
	if w.wants(t, "continued"); told(b) != "drei" {
		t.Errorf("told %q", told(b))
	}
}

func TestStopAndGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if strings.HasSuffix(prompt, "count") {
				return []daemontest.Step{daemontest.Delta("one "), daemontest.Delta("two "), daemontest.Hang()}
			}
			return []daemontest.Step{daemontest.Finish("As you like.")}
		}
		g := apitest.Serve(t, b)
		w := openWindow(g, chatID, "c-1")
		w.stop("count", 2)
		w.say("do something else")
		w.wants(t, "continued")
		apitest.Equal(t, "the number of interrupts", b.Interrupts(), 1)
		apitest.Equal(t, "the number of runs", b.Runs(), 2)
		apitest.Size(t, "what was opened", b.Opened(), 2)
		apitest.Equal(t, "b.Opened()[0].ID", b.Opened()[0].ID, b.Opened()[1].ID)
		want := "The user stopped your last answer. This much of it was shown:\n\n> Assistant: one two\n\nThe new message of the user:\n\ndo something else"
		if told(b) != want {
			t.Errorf("told %q", told(b))
		}
		w.say("and now?")
		if w.wants(t, "continued"); told(b) != "and now?" {
			t.Errorf("told %q: it was said before", told(b))
		}
	})
}

func TestStopBeforeAnythingWasShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "think" {
				return []daemontest.Step{daemontest.Hang()}
			}
			return []daemontest.Step{daemontest.Finish("ok")}
		}
		g := apitest.Serve(t, b)
		w := openWindow(g, chatID, "c-1")
		w.stop("think", 0)
		synctest.Wait()
		w.say("never mind")
		w.wants(t, "continued")
		apitest.Begins(t, "what the agent was told", told(b), "The user stopped your last answer before any of it was shown.")
		apitest.Equal(t, "the number of runs", b.Runs(), 2)
	})
}

func TestAFailedTurnIsNoReasonToBeginAnew(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		if strings.HasSuffix(prompt, "break") {
			return []daemontest.Step{daemontest.Fail("LLMServiceUnavailableError", "overloaded")}
		}
		return []daemontest.Step{daemontest.Finish("You said: " + prompt)}
	}
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	first := w.conversation()
	w.say("break")
	apitest.Contains(t, "the body", w.last.Body, "llm_error")
	apitest.Contains(t, "the body", w.last.Body, "overloaded. Send another message to continue in this chat.")
	w.say("two")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), first)
	apitest.Equal(t, "what the agent was told", told(b), "two")
}

func TestAMessageThatNeverBeganIsToldWithTheNext(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	b.FailSend(daemontest.Unavailable())
	w.say("two")
	b.FailSend(nil)
	w.say("three")
	w.wants(t, "continued")
	want := "The chat shows these messages, which are new to you:\n\n> User: two\n\nThe new message of the user:\n\nthree"
	if told(b) != want {
		t.Errorf("told %q", told(b))
	}
	w.say("four")
	if w.wants(t, "continued"); told(b) != "four" {
		t.Errorf("told %q", told(b))
	}
}

func TestATruncatedTranscriptIsTheSameChat(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	for _, text := range []string{"one", "two", "three", "four"} {
		w.say(text)
	}
	w.shows = w.shows[4:]
	w.say("five")
	w.wants(t, "continued")
	apitest.Equal(t, "what the agent was told", told(b), "five")
	apitest.Equal(t, "the number of forks", len(b.Forked()), 0)
}

func TestATranslatedAnswerIsToldOnce(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	w.shows[1].Content = "Sie sagten: eins"
	w.say("two")
	w.wants(t, "continued")
	want := "In the chat, earlier answers of yours read differently by now:\n\n> Assistant: Sie sagten: eins\n\nThe new message of the user:\n\ntwo"
	if told(b) != want {
		t.Errorf("told %q", told(b))
	}
	w.say("three")
	if w.wants(t, "continued"); told(b) != "three" {
		t.Errorf("told %q", told(b))
	}
}

func TestAConversationThatIsGoneBeginsAnewAndSaysSo(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	if err := b.Remove(t.Context(), w.conversation()); err != nil {
		t.Fatal(err)
	}
	w.say("two")
	w.wants(t, "quoted")
	apitest.Contains(t, "what the agent was told", told(b), "> User: one")
	apitest.Ends(t, "what the agent was told", told(b), "\n\ntwo")
	if reasoning := apitest.Parse(t, w.last).Reasoning(); !strings.Contains(reasoning, "no longer exists") {
		t.Errorf("the user is told %q", reasoning)
	}
	w.say("three")
	if w.wants(t, "continued"); told(b) != "three" {
		t.Errorf("told %q", told(b))
	}
}

func TestChatsSurviveARestart(t *testing.T) {
	t.Parallel()
	b := echo()
	dir := t.TempDir()
	keep := func(c *daemon.Config) { c.StateDir = dir }
	g := apitest.Serve(t, b, keep)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	first := w.conversation()
	w.say("two")
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := g.Daemon.Close(); err != nil {
		t.Fatal(err)
	}
	w.g = apitest.Serve(t, b, keep)
	w.say("three")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), first)
	apitest.Equal(t, "what the agent was told", told(b), "three")
	w.edit(2, "zwei")
	if w.wants(t, "forked"); len(b.Forked()) != 1 {
		t.Errorf("forks %+v", b.Forked())
	}
}

func TestChatsAreOfOneTokenAndOneModel(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	first := w.conversation()
	for name, other := range map[string]func(*window){
		"another token": func(w *window) { w.header = append(w.header, "Authorization", "Bearer "+apitest.OtherKey) },
		"another header": func(w *window) {
			w.header = []string{"X-Chat-Id", "c-1"}
		},
	} {
		copied := &window{g: g, header: append([]string(nil), w.header...), shows: append([]said(nil), w.shows...)}
		other(copied)
		copied.say("two")
		if copied.how() != "quoted" || copied.conversation() == first {
			t.Errorf("%s: %s in %s", name, copied.how(), copied.conversation())
		}
	}
	res := g.Chat(strings.Replace(w.body(), "openhands_default", "openhands_cheap", 1), chatID, "c-1")
	if how := res.Header.Get("X-OpenHands-Reconciled"); how == "continued" || res.Header.Get("X-OpenHands-ServerConversation-ID") == first {
		t.Errorf("another model: %s", how)
	}
}

func TestTemporaryChatsWithOneIDAreToldApart(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	one, two := openWindow(g, chatID, "temporary:socket"), openWindow(g, chatID, "temporary:socket")
	one.say("the same words")
	two.say("the same words") // not a run of the first: its answer was delivered
	if one.conversation() == two.conversation() || two.how() != "new" {
		t.Fatalf("%s in %s and %s", two.how(), one.conversation(), two.conversation())
	}
	one.say("red")
	two.say("green")
	one.say("red again")
	two.say("green again")
	if one.wants(t, "continued"); one.conversation() == two.conversation() {
		t.Error("two chats are in one conversation")
	}
	two.wants(t, "continued")
	stranger := openWindow(g, chatID, "temporary:socket")
	stranger.shows = []said{{"user", "red"}, {"assistant", "something else"}}
	stranger.say("who am I?")
	stranger.wants(t, "quoted")
}

func TestAStoppedTemporaryChatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "count" {
				return []daemontest.Step{daemontest.Delta("one and two and three "), daemontest.Hang()}
			}
			return []daemontest.Step{daemontest.Finish("ok")}
		}
		g := apitest.Serve(t, b)
		w := openWindow(g, chatID, "temporary:socket")
		w.stop("count", 1)
		w.say("enough")
		if w.wants(t, "continued"); !strings.Contains(told(b), "> Assistant: one and two and three") {
			t.Errorf("told %q", told(b))
		}
	})
}

func TestAChatThatGetsItsNameLateIsFound(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = 1 << 40 })
	w := openWindow(g, "X-LibreChat-Conversation-Id", "new")
	w.say("one")
	first := w.conversation()
	w.header = []string{"X-LibreChat-Conversation-Id", "5f0c"}
	w.say("two")
	w.wants(t, "continued")
	apitest.Equal(t, "the conversation", w.conversation(), first)
	apitest.Equal(t, "what the agent was told", told(b), "two")
	w.edit(2, "zwei")
	w.wants(t, "forked")
}

func TestAProgramThatSendsOnlyWhatIsNewStaysInItsSession(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	first := g.Chat(apitest.Ask("one"), "X-Session-Id", "s-1")
	second := g.Chat(apitest.Ask("two"), "X-Session-Id", "s-1")
	third := g.Chat(apitest.Ask("two"), "X-Session-Id", "s-1", "X-OpenHands-Transcript", "full")
	id := func(r apitest.Response) string { return r.Header.Get("X-OpenHands-ServerConversation-ID") }
	apitest.Equal(t, "X-OpenHands-Reconciled of the second", second.Header.Get("X-OpenHands-Reconciled"), "continued")
	apitest.Equal(t, "id(first)", id(first), id(second))
	apitest.Equal(t, "X-OpenHands-Reconciled of the third", third.Header.Get("X-OpenHands-Reconciled"), "new")
	if id(third) == id(first) {
		t.Errorf("with the whole chat: %s", third.Header.Get("X-OpenHands-Reconciled"))
	}
}

func TestTwoTabsOfOneChatRunOneAgentEach(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b)
	w := openWindow(g, chatID, "c-1")
	w.say("one")
	var tabs [2]*window
	var all sync.WaitGroup
	for i := range tabs {
		tabs[i] = &window{g: g, header: w.header, shows: append([]said(nil), w.shows...)}
		all.Go(func() { tabs[i].say([]string{"from the left", "from the right"}[i]) })
	}
	all.Wait()
	if b.Runs() != 3 {
		t.Errorf("%d runs for 3 messages", b.Runs())
	}
	ways := tabs[0].how() + " " + tabs[1].how()
	if !strings.Contains(ways, "continued") {
		t.Errorf("the tabs were %s", ways)
	}
	for _, tab := range tabs {
		tab.say("again")
		tab.wants(t, "continued")
	}
	if tabs[0].conversation() == tabs[1].conversation() {
		t.Error("what one tab shows is in the conversation of the other")
	}
}

func TestTwoFirstMessagesOfOneChatFindOneChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := apitest.Script(daemontest.Until(gate), daemontest.Finish("ok"))
		g := apitest.Serve(t, b)
		body := apitest.Ask("hello", apitest.Streamed)
		left := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body, chatID, "c-1"))
		// A double click: the same bytes while the first is still there.
		right := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body, chatID, "c-1", "X-Stainless-Retry-Count", "1"))
		close(gate)
		l, r := g.Finish(left), g.Finish(right)
		id := func(r apitest.Response) string { return r.Header.Get("X-OpenHands-ServerConversation-ID") }
		apitest.Equal(t, "the number of runs", b.Runs(), 1)
		apitest.Equal(t, "id(l)", id(l), id(r))
	})
}

func TestAnEditStopsTheOldAnswerFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "two" {
				return []daemontest.Step{daemontest.Delta("…"), daemontest.Hang()}
			}
			return []daemontest.Step{daemontest.Finish("You said: " + prompt)}
		}
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.MaxRuns = 1 })
		w := openWindow(g, chatID, "c-1")
		w.say("one")
		w.stop("two", 1)
		w.edit(2, "zwei")
		if w.wants(t, "forked"); b.Interrupts() != 1 {
			t.Errorf("%d interrupts", b.Interrupts())
		}
	})
}

func TestTheSameButtonTwiceIsTwoAnswersWhereTheUINamesThem(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Fail("LLMServiceUnavailableError", "overloaded"))
	g := apitest.Serve(t, b)
	body := apitest.Ask("hello", apitest.Streamed)
	g.Chat(body, chatID, "c-1", "X-OpenWebUI-Message-Id", "m-1")
	g.Chat(body, chatID, "c-1", "X-OpenWebUI-Message-Id", "m-1") // the same attempt: the failure is repeated
	if b.Runs() != 1 {
		t.Errorf("%d runs for one attempt", b.Runs())
	}
	g.Chat(body, chatID, "c-1", "X-OpenWebUI-Message-Id", "m-2")
	if b.Runs() != 2 {
		t.Errorf("%d runs for two attempts", b.Runs())
	}
}
