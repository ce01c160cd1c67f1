package chats_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// registry opens the chats of a directory.
func registry(t testing.TB, dir string, now time.Time) *chats.Registry {
	t.Helper()
	r := chats.Open(chats.Config{StateDir: dir, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), Loose: time.Minute})
	t.Cleanup(r.Close)
	return r
}

func id(value string) chats.ID {
	return chats.ID{Token: "t", Model: "m", Source: "x-openwebui-chat-id", Value: value, Rules: chats.Rules{Whole: true}}
}

// admit decides for a request, which has a run of its own or has none.
func admit(r *chats.Registry, req chats.Request, started bool) (*chats.Visit, error) {
	v, err := r.Enter(req)
	if err != nil {
		return nil, err
	}
	v.Settle(started)
	return v, nil
}

// visit makes a request of a chat and plays its run to the end.
func visit(t testing.TB, r *chats.Registry, id chats.ID, history []openai.Turn, text, answer string) *chats.Visit {
	t.Helper()
	v, err := admit(r, chats.Request{ID: id, History: history, Text: text}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	v.Compose(agentapi.Info{Created: v.Planned() != "continued", Workspace: "/w"}, v.From != "")
	v.Begin(turn.Baseline{After: fmt.Sprintf("e-%d", len(text))})
	v.Show(answer)
	v.End(true, false)
	v.Shown(v.Conversation)
	return v
}

func said(texts ...string) []openai.Turn {
	var history []openai.Turn
	for i, text := range texts {
		history = append(history, openai.Turn{Role: []string{"user", "assistant"}[i%2], Text: text})
	}
	return history
}

func TestAChatIsOnTheDiskBeforeItsRunBegins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := registry(t, dir, time.Now())
	v, err := admit(r, chats.Request{ID: id("c"), Text: "hello"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	v.Compose(agentapi.Info{Created: true}, false)
	v.Begin(turn.Baseline{After: "e-1"})
	// The gateway dies here; another one takes its place.
	again := visit(t, registry(t, dir, time.Now()), id("c"), said("hello", "half an ans"), "and?", "yes")
	if again.Planned() != "continued" || again.Conversation != v.Conversation {
		t.Errorf("%s in %s, want to go on in %s", again.Planned(), again.Conversation, v.Conversation)
	}
	v.End(true, false)
}

func TestARunThatIsRefusedLeavesNoTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := registry(t, dir, time.Now())
	visit(t, r, id("c"), nil, "one", "1")
	v, err := admit(r, chats.Request{ID: id("c"), History: said("one", "1"), Text: "two"}, true)
	if err != nil {
		t.Fatal(err)
	}
	v.Compose(agentapi.Info{}, false)
	v.Begin(turn.Baseline{After: "e-2"})
	v.End(false, false)
	v.Close()
	for name, r := range map[string]*chats.Registry{"in memory": r, "on disk": registry(t, dir, time.Now())} {
		v, err := admit(r, chats.Request{ID: id("c"), History: said("one", "1"), Text: "two"}, false)
		if err != nil {
			t.Fatal(err)
		}
		if v.Planned() != "continued" {
			t.Errorf("%s: %s: the turn that never began is taken for one that was taken back", name, v.Planned())
		}
		v.Close()
	}
}

func TestAFileThatCannotBeReadIsANewChat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	visit(t, registry(t, dir, time.Now()), id("c"), nil, "one", "1")
	files, err := filepath.Glob(filepath.Join(dir, "chats", "*", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files of the chats: %v, %v", files, err)
	}
	for _, text := range []string{"", `{"version":1,"branches":[{"conv`, `{"version":99}`, `[]`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v := visit(t, registry(t, dir, time.Now()), id("c"), said("one", "1"), "two", "2")
		if v.Planned() != "quoted" {
			t.Errorf("%q: planned = %s, want quoted", text, v.Planned())
		}
	}
}

func TestNoNameAndNoWordOfAChatIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	visit(t, registry(t, dir, time.Now()), id("secret-room"), nil, "my password is swordfish", "swordfish it is")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, word := range []string{"secret-room", "swordfish", "password"} {
			if strings.Contains(string(text)+path, word) {
				t.Errorf("%s has %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestChatsThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	first := registry(t, dir, now)
	visit(t, first, id("old"), nil, "one", "1")
	visit(t, first, id("young"), nil, "one", "1")
	old := filepath.Join(dir, "chats", id("old").Key()[:2], id("old").Key()+".json")
	stale := now.Add(-181 * 24 * time.Hour)
	if err := os.Chtimes(old, stale, stale); err != nil {
		t.Fatal(err)
	}
	registry(t, dir, now) // it sweeps when it is opened
	waittest.Until(t, waittest.Patience, "the old chat is removed", func() (any, bool) {
		_, err := os.Stat(old)
		return fmt.Sprintf("stat %s: %v", old, err), os.IsNotExist(err)
	})
	if v := visit(t, registry(t, dir, now), id("young"), said("one", "1"), "two", "2"); v.Planned() != "continued" {
		t.Errorf("the young chat: %s", v.Planned())
	}
}

func TestKeysTellEverythingApart(t *testing.T) {
	t.Parallel()
	base := chats.ID{Token: "a", Model: "b", Source: "c", Value: "d"}
	seen := map[string]chats.ID{base.Key(): base}
	for _, other := range []chats.ID{
		{Token: "x", Model: "b", Source: "c", Value: "d"},
		{Token: "a", Model: "x", Source: "c", Value: "d"},
		{Token: "a", Model: "b", Source: "x", Value: "d"},
		{Token: "a", Model: "b", Source: "c", Value: "x"},
		{Token: "ab", Model: "", Source: "c", Value: "d"},
		{Token: "a", Model: "bc", Source: "", Value: "d"},
	} {
		if same, ok := seen[other.Key()]; ok {
			t.Errorf("%+v and %+v have one key", same, other)
		}
		seen[other.Key()] = other
	}
	model := base
	model.Model = "x"
	if base.Place("1") != model.Place("2") {
		t.Error("two models of a chat have two directories")
	}
}

func TestFinder(t *testing.T) {
	t.Parallel()
	f := chats.Finder{Headers: []string{"X-Room"}, Fields: []string{"metadata.room"}}
	for _, tt := range []struct {
		name   string
		header string // "Name: value", several with newlines
		label  string // "path=value"
		own    []string
		source string
		value  string
		rules  chats.Rules
	}{
		{name: "Open WebUI", header: "X-OpenWebUI-Chat-Id: c", source: "x-openwebui-chat-id", value: "c", rules: chats.Rules{Whole: true}},
		{name: "the more telling header first", header: "X-Session-Id: s\nX-OpenWebUI-Chat-Id: c", source: "x-openwebui-chat-id", value: "c", rules: chats.Rules{Whole: true}},
		{name: "a blank one is none", header: "X-OpenWebUI-Chat-Id:  \nX-Session-Id: s", source: "x-session-id", value: "s"},
		{name: "a template", header: "X-Chat-Id: {{CHAT_ID}}\nX-Thread-Id: ${id}"},
		{name: "no chat yet", header: "X-Conversation-Id: new\nX-Chat-Id: null\nX-Session-Id: Undefined\nX-Thread-Id: none"},
		{name: "two values", header: "X-Chat-Id: a\nX-Chat-Id: b"},
		{name: "too long", header: "X-Chat-Id: " + strings.Repeat("x", 257)},
		{name: "control characters", label: "chat_id=a\x01b"},
		{name: "Codex", header: "session_id: s", source: "session_id", value: "s"},
		{name: "a temporary chat", header: "X-OpenWebUI-Chat-Id: temporary:abc", source: "x-openwebui-chat-id", value: "temporary:abc", rules: chats.Rules{Whole: true, Shared: true}},
		{name: "an old temporary chat", header: "X-OpenWebUI-Chat-Id: local", source: "x-openwebui-chat-id", value: "local", rules: chats.Rules{Whole: true, Shared: true}},
		{name: "a configured header", header: "X-Room: r", source: "x-room", value: "r"},
		{name: "a header goes before the body", header: "X-Room: r", label: "chat_id=c", source: "x-room", value: "r"},
		{name: "metadata", label: "metadata.thread_id=m", source: "body:metadata.thread_id", value: "m"},
		{name: "a call", label: "call.id=7", source: "body:call.id", value: "7"},
		{name: "a configured field", label: "metadata.room=r", source: "body:metadata.room", value: "r"},
		{name: "user is a person", label: "user=u"},
		{name: "user is a chat", label: "user=u", own: []string{"user"}, source: "body:user", value: "u"},
		{name: "safety identifier", label: "safety_identifier=u", own: []string{"user"}, source: "body:safety_identifier", value: "u"},
		{name: "a cache key is nothing", label: "prompt_cache_key=k"},
		{name: "a cache key is a chat", label: "prompt_cache_key=k", own: []string{"prompt_cache_key"}, source: "body:prompt_cache_key", value: "k"},
		{name: "a cache key of Zed", header: "User-Agent: Zed/0.200.1", label: "prompt_cache_key=k", source: "body:prompt_cache_key", value: "k"},
		{name: "the whole chat", header: "X-Chat-Id: c\nX-OpenHands-Transcript: full", source: "x-chat-id", value: "c", rules: chats.Rules{Whole: true}},
		{name: "the last message", header: "X-OpenWebUI-Chat-Id: c\nX-OpenHands-Transcript: last", source: "x-openwebui-chat-id", value: "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for line := range strings.SplitSeq(tt.header, "\n") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					h.Add(name, value)
				}
			}
			path, value, _ := strings.Cut(tt.label, "=")
			id, ok := f.Find(h, func(p string) string {
				if p == path {
					return value
				}
				return ""
			}, tt.own)
			if ok != (tt.source != "") || id.Source != tt.source || id.Value != tt.value || id.Rules != tt.rules {
				t.Errorf("the chat's ID = %+v, found = %v", id, ok)
			}
		})
	}
}

// BenchmarkFindAmong100000 is how long it takes to know a chat among 100,000, one that is
// not in memory.
func BenchmarkFindAmong100000(b *testing.B) {
	dir := b.TempDir()
	now := time.Now()
	r := registry(b, dir, now)
	visit(b, r, id("c-0"), nil, "one", "1")
	text, err := os.ReadFile(filepath.Join(dir, "chats", id("c-0").Key()[:2], id("c-0").Key()+".json"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100_000 {
		key := id(fmt.Sprint("c-", i)).Key()
		if err := os.MkdirAll(filepath.Join(dir, "chats", key[:2]), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "chats", key[:2], key+".json"), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	history := said("one", "1")
	i := 0
	for b.Loop() {
		i++
		v, err := admit(r, chats.Request{ID: id(fmt.Sprint("c-", i*7919%100_000)), History: history, Text: "two"}, false)
		if err != nil || v.Planned() != "continued" {
			b.Fatalf("a known chat: %v, %v", v, err)
		}
		v.Close()
	}
}

func TestAStoppedAnswerIsStillOneAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v, err := admit(registry(t, dir, time.Now()), chats.Request{ID: id("c"), Text: "one"}, true)
	if err != nil {
		t.Fatal(err)
	}
	v.Compose(agentapi.Info{Created: true}, false)
	v.Begin(turn.Baseline{After: "e-1"})
	v.Show("half an answer")
	v.End(true, true)
	v.Close()
	v, err = admit(registry(t, dir, time.Now()), chats.Request{ID: id("c"), History: said("one", "half an"), Text: "two"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if text, _, _ := v.Compose(agentapi.Info{}, false); !strings.HasPrefix(text, "The user stopped your last answer. This much of it was shown:") {
		t.Errorf("told %q", text)
	}
	v.End(false, false)
}

// talk is a history of n answered messages.
func talk(who string, n int) []openai.Turn {
	texts := make([]string, 0, 2*n)
	for i := range n {
		texts = append(texts, fmt.Sprint(who, " asks ", i), fmt.Sprint(who, " is answered ", i))
	}
	return said(texts...)
}

func remember(r *chats.Registry, conversation string, history []openai.Turn) {
	var answer chats.Text
	answer.Add("an answer of some length, as answers are")
	r.Remember("t", "m", conversation, history, "and?", &answer)
}

// A program may send thousands of long transcripts and name no chat.
func TestOnlyYoungConversationsWaitForTheNameOfTheirChat(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "continued", 99: "continued", 100: "quoted"} {
		r := registry(t, "", time.Now())
		remember(r, "young", talk("somebody", n))
		history := append(talk("somebody", n), said("and?", "an answer of some length, as answers are")...)
		v, err := admit(r, chats.Request{ID: id("c"), History: history, Text: "so"}, false)
		if err != nil {
			t.Fatal(err)
		}
		if v.Planned() != want {
			t.Errorf("after %d messages: %s, want %s", n, v.Planned(), want)
		}
		v.Close()
	}
}

// A long chat is looked for among the answers of many programs.
func BenchmarkClaim(b *testing.B) {
	r := registry(b, "", time.Now())
	for i := range 1000 {
		remember(r, fmt.Sprint(i), talk(fmt.Sprint("program ", i), 99))
	}
	history := talk("a person", 99)
	for b.Loop() {
		v, err := admit(r, chats.Request{ID: id("c"), History: history, Text: "and?"}, false)
		if err != nil {
			b.Fatal(err)
		}
		v.Close()
	}
}

// The answers of a chat that were given while the gateway runs are compared
// with the last one that it shows.
func BenchmarkLongAnswer(b *testing.B) {
	r := registry(b, "", time.Now())
	var history []openai.Turn
	for i := range 100 {
		text, answer := fmt.Sprint("ask ", i), fmt.Sprint("answer ", i)
		visit(b, r, id("c"), history, text, answer)
		history = append(history, said(text, answer)...)
	}
	history = append(history, said("paste", strings.Repeat("all work and no play ", 50_000))...)
	for b.Loop() {
		v, err := admit(r, chats.Request{ID: id("c"), History: history, Text: "and?"}, false)
		if err != nil {
			b.Fatal(err)
		}
		v.Close()
	}
}

func TestAVisitThatIsClosedHoldsNoChat(t *testing.T) {
	t.Parallel()
	r := registry(t, t.TempDir(), time.Now())
	for range 2 {
		v, err := r.Enter(chats.Request{ID: id("c"), Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		if v.Planned() != "new" {
			t.Errorf("the request is %s, want new: one before it has started nothing", v.Planned())
		}
		v.Close()
		v.Settle(true) // too late
		v.Close()
	}
}
