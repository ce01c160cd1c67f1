package pg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/sse"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// served is a daemon of several that answer as one.
type served struct {
	*pg.Replica

	t   *testing.T
	url string
	g   *gateway // that can die
}

// clients are the tokens of the tests.
type clients struct{}

func (clients) Check(presented string) (daemon.Client, error) {
	switch presented {
	case "one", "two":
		return daemon.Client{ID: "id-" + presented, Name: presented}, nil
	case "poor":
		return daemon.Client{ID: "id-poor", Name: "poor", Budgets: []budget.Rule{{Amount: budget.Amount{Tokens: 50}, Period: budget.Day}}}, nil
	}
	return daemon.Client{}, daemon.ErrUnknownKey
}

// mortalFiles are records that a gateway does not write once it is dead.
type mortalFiles struct {
	responses.Files

	g *gateway
}

func (f mortalFiles) Write(name string, data []byte) error {
	if err := f.g.at(""); err != nil {
		return err
	}
	return f.Files.Write(name, data)
}

func (f mortalFiles) WriteUnsynced(name string, data []byte) error {
	if err := f.g.at(""); err != nil {
		return err
	}
	return f.Files.WriteUnsynced(name, data)
}

func (f mortalFiles) Append(name string, change []byte) error {
	if err := f.g.at(""); err != nil {
		return err
	}
	return f.Files.Append(name, change)
}

// die ends the gateway as the loss of its machine would.
func (s *served) die() {
	s.g.dead.Store(true)
	s.Die()
}

// serve starts a daemon among others that have 8 runs together.
func (p *pool) serve(t *testing.T) *served {
	t.Helper()
	return p.serveRuns(t, 8)
}

func (p *pool) serveRuns(t *testing.T, runs int) *served {
	t.Helper()
	s := &served{Replica: join(t, p.db, runs), t: t}
	s.g = &gateway{Replica: s.Replica, p: p}
	kept := s.Responses()
	kept.Files = mortalFiles{kept.Files, s.g}
	d, err := daemon.New(daemon.Config{
		Backend: &mortalBackend{p.backend, s.g}, Version: "1", Tokens: clients{}, MaxRuns: runs, Workspace: "/tmp", Grace: time.Second, OneShotTTL: 15 * time.Minute,
		Shared: &daemon.Shared{
			Address: "db", Check: func(context.Context) error { return nil }, Places: func(context.Context) (metrics.Places, error) { return metrics.Places{}, nil },
			Ledger: &mortalLedger{s.Replica, s.g}, Shots: s.Shots(), Owners: s.Owners(), Chats: s.Chats(),
			Items: s.Records("items"), Responses: kept, Book: p.db.Book(), Chore: s.Chore,
		},
	})
	must(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	s.url = "http://" + ln.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// call makes a request; header has names and values in turn.
func (s *served) call(method, path, body string, header ...string) (status int, answer string, h http.Header) {
	s.t.Helper()
	res := s.open(method, path, body, header...)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

func (s *served) open(method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer one")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

func turnsOf(texts ...string) string {
	var list []map[string]string
	for i, text := range texts {
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	data, _ := json.Marshal(map[string]any{"model": "openhands_fast", "messages": list})
	return string(data)
}

const conversationHeader = "X-OpenHands-ServerConversation-ID"

// chat sends a chat, and gives the answer with the conversation that it is from.
func (s *served) chat(texts []string, header ...string) (answer, conversation string) {
	s.t.Helper()
	status, body, h := s.call(http.MethodPost, "/v1/chat/completions", turnsOf(texts...), header...)
	if status != http.StatusOK {
		s.t.Errorf("status %d: %s", status, body)
		return "", ""
	}
	var c struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		s.t.Fatal(err)
	}
	return c.Choices[0].Message.Content, h.Get(conversationHeader)
}

// answering makes the model answer each message with what is to its right.
func (p *pool) answering(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		p.llm.On(llmtest.Says(pairs[i]), llmtest.Text(pairs[i+1]))
	}
}

func TestAChatGoesOnAtTheOtherDaemon(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("first", "answer one", "second, edited", "answer two e", "second", "answer two", "third", "answer three")
	a, b := p.serve(t), p.serve(t)
	named := []string{"X-OpenWebUI-Chat-Id", "chat-1"}
	one, conv := a.chat([]string{"first"}, named...)
	two, same := b.chat([]string{"first", one, "second"}, named...)
	if two != "answer two" || same != conv {
		t.Errorf("%q of %s, want the second answer of %s", two, same, conv)
	}
	edited, fork := a.chat([]string{"first", one, "second, edited"}, named...)
	if edited != "answer two e" || fork == conv {
		t.Errorf("the edit: %q of %s", edited, fork)
	}
	if three, last := b.chat([]string{"first", one, "second, edited", edited, "third"}, named...); three != "answer three" || last != fork {
		t.Errorf("after the edit: %q of %s, want %s", three, last, fork)
	}
	if n := p.asked()["first"]; n != 1 {
		t.Errorf("the first message was asked %d times", n)
	}
}

func TestTwoTabsAtTwoDaemonsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("start", "started", "tab", "done")
	a, b := p.serve(t), p.serve(t)
	named := []string{"X-OpenWebUI-Chat-Id", "chat-1"}
	one, conv := a.chat([]string{"start"}, named...)
	var wg sync.WaitGroup
	got := make([]string, 4)
	for i := range got {
		wg.Go(func() {
			_, got[i] = []*served{a, b}[i%2].chat([]string{"start", one, fmt.Sprint("tab ", i)}, named...)
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, id := range got {
		seen[id]++
	}
	if seen[""] > 0 || seen[conv] == 0 {
		t.Errorf("they went to %v; one goes on in %s", seen, conv)
	}
	for text, n := range p.asked() {
		if n != 1 {
			t.Errorf("%q was asked %d times", text, n)
		}
	}
}

func TestAConversationIsItsOwnersAtEveryDaemon(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("hello", "hi")
	a, b := p.serve(t), p.serve(t)
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	a.chat([]string{"hello"}, conversationHeader, id)
	status, body, _ := b.call(http.MethodPost, "/v1/chat/completions", turnsOf("hello"), conversationHeader, id, "Authorization", "Bearer two")
	if status != http.StatusNotFound {
		t.Errorf("a stranger: %d: %s", status, body)
	}
	b.chat([]string{"hello again"}, conversationHeader, id)
	status, body, _ = b.call(http.MethodPost, "/v1/conversations/"+id+"/items", `{"items":[{"type":"message","role":"user","content":"noted"}]}`)
	if status != http.StatusOK {
		t.Errorf("adding an item: %d: %s", status, body)
	}
	if _, list, _ := a.call(http.MethodGet, "/v1/conversations/"+id+"/items", ""); !strings.Contains(list, "noted") {
		t.Errorf("the other one lists %s", list)
	}
}

func TestABudgetThatIsUsedUpAtOneRefusesAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("hello", "hi")
	a, b := p.serve(t), p.serve(t)
	poor := []string{"Authorization", "Bearer poor"}
	if status, body, _ := b.call(http.MethodPost, "/v1/chat/completions", turnsOf("hello"), poor...); status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	waitFor(t, "a refusal", func() bool {
		status, body, _ := a.call(http.MethodPost, "/v1/chat/completions", turnsOf("hello, next"), poor...)
		return status == http.StatusTooManyRequests && strings.Contains(body, "insufficient_quota")
	})
	spent, err := p.db.Book().Spent(t.Context(), "id-poor")
	must(t, err)
	if spent[budget.Total].Tokens != 110*int64(len(p.llm.Requests())) {
		t.Errorf("spent %+v in %d calls of the model", spent[budget.Total], len(p.llm.Requests()))
	}
	if status, body, _ := a.call(http.MethodPost, "/v1/chat/completions", turnsOf("hello")); status != http.StatusOK {
		t.Errorf("another token: %d: %s", status, body)
	}
}

// stored is a response as clients see it.
type stored struct {
	ID, Status string
	Output     []struct {
		Type    string
		Content []struct{ Text string }
	}
}

func (r stored) text() (text string) {
	for _, item := range r.Output {
		for _, part := range item.Content {
			text += part.Text
		}
	}
	return text
}

func (s *served) respond(body string, header ...string) (stored, string) {
	s.t.Helper()
	status, answer, h := s.call(http.MethodPost, "/v1/responses", `{"model":"openhands_fast",`+body+`}`, header...)
	if status != http.StatusOK {
		s.t.Fatalf("%d: %s", status, answer)
	}
	return parsed(s.t, answer), h.Get(conversationHeader)
}

func parsed(t *testing.T, body string) (r stored) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return r
}

func (s *served) response(id string) stored {
	s.t.Helper()
	status, body, _ := s.call(http.MethodGet, "/v1/responses/"+id, "")
	if status != http.StatusOK {
		s.t.Fatalf("%d: %s", status, body)
	}
	return parsed(s.t, body)
}

// stream is the events of a response from one on.
func (s *served) stream(id string, after int) (types []string, text string) {
	s.t.Helper()
	res := s.open(http.MethodGet, fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, after), "")
	defer res.Body.Close()
	events := sse.NewReader(res.Body, 1<<20)
	last := after
	for {
		e, err := events.Next()
		if err != nil {
			return types, text
		}
		var wire struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Delta    string
		}
		if err := json.Unmarshal(e.Data, &wire); err != nil {
			s.t.Fatalf("%v: %s", err, e.Data)
		}
		if wire.Sequence <= last {
			s.t.Errorf("event %d after %d", wire.Sequence, last)
		}
		last = wire.Sequence
		types = append(types, wire.Type)
		if wire.Type == "response.output_text.delta" {
			text += wire.Delta
		}
	}
}

func TestAResponseOfOneDaemonIsUsedAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("long"), llmtest.Reply{Feed: feed})
	p.answering("next", "the next answer", "beside", "another answer")
	a, b := p.serve(t), p.serve(t)
	first, conv := a.respond(`"input":"long","background":true`)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	if got := b.response(first.ID); got.Status != "in_progress" {
		t.Errorf("at the other one it is %s", got.Status)
	}
	if status, body, _ := b.call(http.MethodDelete, "/v1/responses/"+first.ID, ""); status != http.StatusConflict {
		t.Errorf("deleted while it is made: %d: %s", status, body)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if types, text := b.stream(first.ID, 0); text != "the answer" || types[len(types)-1] != "response.completed" {
			t.Errorf("streamed %q, %v", text, types)
		}
	})
	wg.Go(func() { // it has had more events of the first one
		if types, _ := b.stream(first.ID, 1000); !slices.Equal(types, []string{"response.completed"}) {
			t.Errorf("streamed %v", types)
		}
	})
	feed <- "the "
	feed <- "answer"
	close(feed)
	wg.Wait()
	for _, s := range []*served{a, b} {
		if got := s.response(first.ID); got.Status != "completed" || got.text() != "the answer" {
			t.Errorf("it ended as %+v", got)
		}
	}
	next, same := b.respond(`"input":"next","previous_response_id":"` + first.ID + `"`)
	if next.text() != "the next answer" || same != conv {
		t.Errorf("the next one: %q in %s, want %s", next.text(), same, conv)
	}
	beside, other := a.respond(`"input":"beside","previous_response_id":"` + first.ID + `"`)
	if beside.text() != "another answer" || other == conv {
		t.Errorf("the one beside: %q in %s", beside.text(), other)
	}
	if status, body, _ := b.call(http.MethodDelete, "/v1/responses/"+first.ID, ""); status != http.StatusOK {
		t.Errorf("delete: %d: %s", status, body)
	}
	if status, _, _ := a.call(http.MethodGet, "/v1/responses/"+first.ID, ""); status != http.StatusNotFound {
		t.Errorf("after that: %d", status)
	}
	if n := len(p.llm.Requests()); n != 3 {
		t.Errorf("the agents ran %d times", n)
	}
}

func TestTwoRequestsGoOnFromAResponseAtTwoDaemons(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("start", "started", "next", "done")
	a, b := p.serve(t), p.serve(t)
	for round := range 3 {
		first, conv := a.respond(fmt.Sprintf(`"input":"start %d"`, round))
		var wg sync.WaitGroup
		got := make([]string, 2)
		for i, s := range []*served{a, b} {
			wg.Go(func() {
				_, got[i] = s.respond(fmt.Sprintf(`"input":"next %d %d","previous_response_id":%q`, round, i, first.ID))
			})
		}
		wg.Wait()
		if (got[0] == conv) == (got[1] == conv) {
			t.Errorf("both went to %v; exactly one goes on in %s", got, conv)
		}
	}
}

func TestAResponseIsCancelledAtTheOtherDaemon(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	defer close(feed)
	p.llm.On(llmtest.Says("long"), llmtest.Reply{Feed: feed})
	a, b := p.serve(t), p.serve(t)
	first, conv := a.respond(`"input":"long","background":true`)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	status, body, _ := b.call(http.MethodPost, "/v1/responses/"+first.ID+"/cancel", "")
	if got := parsed(t, body); status != http.StatusOK || got.Status != "cancelled" {
		t.Errorf("%d: %s", status, body)
	}
	if got := a.response(first.ID); got.Status != "cancelled" {
		t.Errorf("at the first one it is %s", got.Status)
	}
	if status := p.status(t, conv); status != event.Paused {
		t.Errorf("the run is %s", status)
	}
}

func TestAClientThatNamesNothingGoesOnAtTheOtherDaemon(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.answering("start", "started", "next", "done")
	a, b := p.serve(t), p.serve(t)
	_, conv := a.respond(`"input":"start","store":false`)
	_, same := b.respond(`"store":false,"input":[{"role":"user","content":"start"},{"role":"assistant","content":"started"},{"role":"user","content":"next"}]`)
	if same != conv {
		t.Errorf("it went on in %s, want %s", same, conv)
	}
}

// TestAResponseOfADeadDaemonIsMadeByAnother: what was sent goes on, and what only waited
// has failed.
func TestAResponseOfADeadDaemonIsMadeByAnother(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("long"), llmtest.Reply{Feed: feed})
	p.answering("waits", "too late")
	a, b := p.serveRuns(t, 1), p.serveRuns(t, 1)
	first, _ := a.respond(`"input":"long","background":true`)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	second, _ := a.respond(`"input":"waits","background":true`)
	if got := b.response(second.ID); got.Status != "queued" {
		t.Errorf("the one that waits is %s", got.Status)
	}
	a.die()
	waitFor(t, "a takeover", func() bool {
		f, err := b.Find(t.Context(), p.firstRun(t))
		return err == nil && f.Epoch > 1
	})
	feed <- "the answer"
	close(feed)
	waitFor(t, "the end to be stored, though nobody asks", func() bool {
		rows, err := p.db.Query(t.Context(), "SELECT count(*) FROM records WHERE name LIKE $1", "%"+first.ID+".events")
		must(t, err)
		return rows[0][0] == "1"
	})
	if got := b.response(first.ID); got.Status != "completed" || got.text() != "the answer" {
		t.Errorf("it ended as %+v", got)
	}
	waitFor(t, "the end of the one that waited", func() bool { return b.response(second.ID).Status == "failed" })
	if n := len(p.llm.Requests()); n != 1 {
		t.Errorf("the agents ran %d times", n)
	}
}

// TestAnAbandonedResponseIsRetriedAtTheOther: its client has no id to ask for, and sends
// the same again.
func TestAnAbandonedResponseIsRetriedAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.llm.On(llmtest.Says("long"), llmtest.Reply{Feed: feed})
	a, b := p.serve(t), p.serve(t)
	const body = `"input":"long","store":false`
	keyed := []string{"Idempotency-Key", "k1"}
	broken := a.open(http.MethodPost, "/v1/responses", `{"model":"openhands_fast","stream":true,`+body+`}`, keyed...)
	defer broken.Body.Close()
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 1 })
	a.die()
	waitFor(t, "a takeover", func() bool {
		f, err := b.Find(t.Context(), p.firstRun(t))
		return err == nil && f.Epoch > 1
	})
	go func() {
		feed <- "the answer"
		close(feed)
	}()
	res := b.open(http.MethodPost, "/v1/responses", `{"model":"openhands_fast","stream":true,`+body+`}`, keyed...)
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(data), "response.completed") || !strings.Contains(string(data), "the answer") {
		t.Errorf("%d: %s, %v", res.StatusCode, data, err)
	}
	if n := len(p.llm.Requests()); n != 1 {
		t.Errorf("the agent ran %d times", n)
	}
}

// TestAChatOfADeadDaemonGoesOnAtTheOther: its last message was never sent.
func TestAChatOfADeadDaemonGoesOnAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	feed := make(chan string)
	p.answering("first", "answer one", "second", "answer two", "third", "answer three")
	p.llm.On(llmtest.Says("busy"), llmtest.Reply{Feed: feed})
	a, b := p.serveRuns(t, 1), p.serveRuns(t, 1)
	named := []string{"X-OpenWebUI-Chat-Id", "chat-1"}
	one, conv := a.chat([]string{"first"}, named...)
	_, _ = a.respond(`"input":"busy","background":true`)
	waitFor(t, "a run", func() bool { return len(p.llm.Requests()) == 2 })
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { a.call(http.MethodPost, "/v1/chat/completions", turnsOf("first", one, "second"), named...) })
	waitFor(t, "a second run that waits", func() bool {
		rows, err := p.db.Query(t.Context(), "SELECT count(*) FROM runs WHERE phase = 0")
		must(t, err)
		return rows[0][0] == "1"
	})
	a.die()
	waitFor(t, "the death to be known", func() bool {
		alive, err := b.Chats().Alive(t.Context(), a.Chats().Self(), "", conv)
		must(t, err)
		return !alive
	})
	go func() {
		feed <- "done"
		close(feed)
	}()
	two, same := b.chat([]string{"first", one, "second"}, named...)
	if two != "answer two" || same != conv {
		t.Errorf("%q of %s, want the second answer of %s", two, same, conv)
	}
	if three, same := b.chat([]string{"first", one, "second", two, "third"}, named...); three != "answer three" || same != conv {
		t.Errorf("%q of %s, want the third answer of %s", three, same, conv)
	}
	if n := p.asked()["second"]; n != 1 {
		t.Errorf("the second message was asked %d times", n)
	}
}

// TestTheStateAwayIsNoFault: nothing is started, and a client is told to come again.
func TestTheStateAwayIsNoFault(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	a := p.serve(t)
	_, err := p.db.Query(t.Context(), "ALTER TABLE owners RENAME TO owners_away")
	must(t, err)
	status, body, h := a.call(http.MethodPost, "/v1/chat/completions", turnsOf("hello"), conversationHeader, "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e")
	if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
		t.Errorf("%d: %s", status, body)
	}
	_, err = p.db.Query(t.Context(), "ALTER TABLE owners_away RENAME TO owners")
	must(t, err)
	if n := len(p.llm.Requests()); n != 0 {
		t.Errorf("the agent ran %d times", n)
	}
}
