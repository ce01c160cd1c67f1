package daemon_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// respond asks for a response.
func (g *gateway) respond(body string, header ...string) response {
	g.t.Helper()
	return g.do(http.MethodPost, "/v1/responses", body, header...)
}

// input is the body of a request with one message.
func input(prompt string, more ...string) string {
	return `{"model":"openhands_default","input":` + fmt.Sprintf("%q", prompt) + strings.Join(append([]string{""}, more...), ",") + `}`
}

// made is a response object.
type made struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Previous     string `json:"previous_response_id"`
	Conversation struct {
		ID string `json:"id"`
	} `json:"conversation"`
	Error *struct {
		Code, Message string
	} `json:"error"`
	Output []struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
	} `json:"output"`
	Usage *struct {
		Total int64 `json:"total_tokens"`
	} `json:"usage"`
	Metadata map[string]string `json:"metadata"`
}

// text is what the response says, as SDKs join it.
func (m made) text() string {
	said := ""
	for _, item := range m.Output {
		for _, part := range item.Content {
			said += part.Text
		}
	}
	return said
}

func object(t testing.TB, data []byte) made {
	t.Helper()
	valid(t, "response", data)
	var m made
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func responded(t testing.TB, res response) made {
	t.Helper()
	if res.status != http.StatusOK || res.err != nil {
		t.Fatalf("status %d, %v: %s", res.status, res.err, res.body)
	}
	return object(t, []byte(res.body))
}

// streamEvent is an event of a streamed response.
type streamEvent struct {
	Type     string          `json:"type"`
	Number   int             `json:"sequence_number"`
	Output   int             `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Item     json.RawMessage `json:"item"`
	Delta    string          `json:"delta"`
	Response json.RawMessage `json:"response"`
	raw      string
}

// eventsOf reads a stream and checks what every client's parser insists on.
func eventsOf(t testing.TB, body string) []streamEvent {
	t.Helper()
	var all []streamEvent
	items := []string{}
	scanner := bufio.NewScanner(strings.NewReader(body))
	scanner.Buffer(nil, 4<<20)
	name := ""
	for scanner.Scan() {
		line := scanner.Text()
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		valid(t, "response-stream-event", []byte(data))
		e := streamEvent{raw: data}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != name {
			t.Errorf("the event %q has the type %q", name, e.Type)
		}
		if len(all) > 0 && e.Number != all[len(all)-1].Number+1 {
			t.Errorf("event %d follows event %d", e.Number, all[len(all)-1].Number)
		}
		all = append(all, e)
		if all[0].Number != 0 {
			continue // items were added before
		}
		switch {
		case e.Type == "response.output_item.added":
			var item struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(e.Item, &item); err != nil || e.Output != len(items) || item.ID == "" {
				t.Errorf("item %d is added as %s (%v)", len(items), data, err)
			}
			items = append(items, item.ID)
		case e.ItemID != "" && len(items) > 0 && e.ItemID != items[e.Output]:
			t.Errorf("%s is about item %s, want %s", e.Type, e.ItemID, items[e.Output])
		}
	}
	return all
}

func (e streamEvent) object(t testing.TB) made { return object(t, e.Response) }

func types(events []streamEvent) []string {
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimPrefix(e.Type, "response."))
	}
	return all
}

func TestAResponseInOnePiece(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("There are two.")))
	m := responded(t, g.respond(input("how many?", `"metadata":{"a":"b"}`)))
	equal(t, "status", m.Status, "completed")
	equal(t, "text", m.text(), "There are two.")
	equal(t, "progress", m.Output[0].Summary[0].Text, "$ ls")
	equal(t, "metadata", m.Metadata["a"], "b")
	if m.Usage == nil {
		t.Error("a completed response has no usage")
	}
}

func TestAStreamedResponseInFull(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("There are two.")))
	events := eventsOf(t, g.respond(input("how many?", streamed)).body)
	want := []string{
		"created", "in_progress", "output_item.added", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed",
	}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Error(diff)
	}
	last := events[len(events)-1].object(t)
	equal(t, "the joined text", last.text(), "I will look.\n\nThere are two.")
	equal(t, "GET", responded(t, g.do(http.MethodGet, "/v1/responses/"+last.ID, "")).text(), last.text())
}

func TestPreviousResponseContinuesItsConversation(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	first := responded(t, g.respond(input("one")))
	second := responded(t, g.respond(input("two", `"previous_response_id":"`+first.ID+`"`)))
	equal(t, "conversation", second.Conversation.ID, first.Conversation.ID)
	equal(t, "previous", second.Previous, first.ID)
	equal(t, "conversations", len(b.Opened()), 2)

	// The first response has been gone on from: the next one is a copy.
	third := responded(t, g.respond(input("two again", `"previous_response_id":"`+first.ID+`"`)))
	if third.Conversation.ID == first.Conversation.ID {
		t.Error("two responses go on from one in the same conversation")
	}
	envelope(t, g.respond(input("x", `"previous_response_id":"`+first.ID+`"`), "X-OpenHands-Branch", "reject"),
		http.StatusBadRequest, "previous_response_not_latest", "previous_response_id")
	fourth := responded(t, g.respond(input("three", `"previous_response_id":"`+second.ID+`"`)))
	equal(t, "conversation", fourth.Conversation.ID, first.Conversation.ID)
}

func TestNewInstructionsReachAConversationThatGoesOn(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	first := responded(t, g.respond(input("one", `"instructions":"be brief"`)))
	equal(t, "system", b.Opened()[0].System, "be brief")
	for i, tc := range []struct{ instructions, want string }{
		{`"instructions":"be brief"`, "two"},
		{`"instructions":"be long"`, "New instructions for this task:\n\nbe long\n\nThe task:\n\ntwo"},
		{`"store":true`, "two"},
	} {
		first = responded(t, g.respond(input("two", tc.instructions, `"previous_response_id":"`+first.ID+`"`)))
		equal(t, "message", b.Prompts()[i+1].Text, tc.want)
	}
}

func TestUnknownPreviousResponses(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	kept := responded(t, g.respond(input("one")))
	loose := responded(t, g.respond(input("one", `"store":false`)))
	for name, id := range map[string]string{
		"unknown": "resp_00000000000000000000000000000000", "not stored": loose.ID, "a path": "resp_../../etc/passwd", "of another kind": kept.Conversation.ID,
	} {
		t.Run(name, func(t *testing.T) {
			envelope(t, g.respond(input("x", `"previous_response_id":"`+id+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		res := g.do(method, "/v1/responses/"+kept.ID, "", "Authorization", "Bearer "+otherKey)
		equal(t, method+" by another token", res.status, http.StatusNotFound)
	}
	envelope(t, g.respond(input("x", `"previous_response_id":"`+kept.ID+`"`), "Authorization", "Bearer "+otherKey),
		http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
	envelope(t, g.respond(input("x", `"previous_response_id":"`+kept.ID+`"`, `"conversation":"a"`)),
		http.StatusBadRequest, "mutually_exclusive_parameters", "previous_response_id")
	equal(t, "runs", b.Runs(), 2)
	responded(t, g.do(http.MethodDelete, "/v1/responses/"+kept.ID, "").asDeleted(t, kept.ID))
	envelope(t, g.respond(input("x", `"previous_response_id":"`+kept.ID+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
}

// asDeleted checks the answer of a deletion, and that there is nothing behind it.
func (r response) asDeleted(t testing.TB, id string) response {
	t.Helper()
	equal(t, "status of the deletion", r.status, http.StatusOK)
	if !strings.Contains(r.body, `"deleted":true`) || !strings.Contains(r.body, id) {
		t.Errorf("deletion: %s", r.body)
	}
	return response{status: http.StatusOK, body: emptyResponse}
}

const emptyResponse = `{"id":"resp_0","object":"response","created_at":1,"error":null,"incomplete_details":null,"instructions":null,"model":"m","tools":[],"output":[],"parallel_tool_calls":true,"metadata":{},"tool_choice":"auto","temperature":1,"top_p":1,"status":"completed"}`

func TestABackgroundResponseGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	g := serve(t, script(daemontest.Tool("ls"), daemontest.Until(gate), daemontest.Finish("done")), func(c *daemon.Config) { c.StateDir = t.TempDir() })
	m := responded(t, g.respond(input("work", `"background":true`)))
	if m.Status != "in_progress" && m.Status != "queued" {
		t.Errorf("status %q before the end", m.Status)
	}
	path := "/v1/responses/" + m.ID
	if res := g.do(http.MethodDelete, path, ""); res.status != http.StatusConflict {
		t.Errorf("deletion of a response that is being made: status %d", res.status)
	}
	stream := g.send(g.request(http.MethodGet, path+"?stream=true&starting_after=1", ""))
	close(gate)
	events := eventsOf(t, g.finish(stream).body)
	equal(t, "first event", events[0].Number, 2)
	last := events[len(events)-1].object(t)
	equal(t, "text", last.text(), "done")
	equal(t, "GET", responded(t, g.do(http.MethodGet, path, "")).Status, "completed")
	envelope(t, g.respond(input("x", `"background":true`, `"store":false`)), http.StatusBadRequest, "unsupported_value", "store")
}

// OpenAI's library for Go (GetStreaming) asks for events in a body.
func TestABodyAsksForTheEventsOfAResponse(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("c")), func(c *daemon.Config) { c.StateDir = t.TempDir() })
	events := eventsOf(t, g.respond(input("go", streamed)).body)
	path := "/v1/responses/" + events[0].object(t).ID
	rest := eventsOf(t, g.do(http.MethodGet, path+"?starting_after=1", `{"stream":true}`, "Content-Type", "").body)
	if diff := cmp.Diff(raws(events[2:]), raws(rest)); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{}`, `{"stream":1}`, "stream", `{"stream":true,"x":"` + strings.Repeat("x", 1<<10) + `"}`} {
		equal(t, "status with a body that asks for no events", responded(t, g.do(http.MethodGet, path, body)).Status, "completed")
	}
}

func raws(events []streamEvent) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.raw)
	}
	return all
}

func TestACancelledResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Hang())
		g := serve(t, b)
		m := responded(t, g.respond(input("work", `"background":true`)))
		path := "/v1/responses/" + m.ID
		synctest.Wait() // a run that is seen to begin after the interrupt is interrupted again
		equal(t, "runs", b.Runs(), 1)
		for range 2 {
			equal(t, "status", responded(t, g.do(http.MethodPost, path+"/cancel", "{}")).Status, "cancelled")
		}
		equal(t, "GET", responded(t, g.do(http.MethodGet, path, "")).Status, "cancelled")
		equal(t, "interrupts", b.Interrupts(), 1)
	})
}

func TestAFailedResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header []string
		code   string
	}{
		"any client": {nil, "server_error"},
		"Codex":      {[]string{"Originator", "codex_cli_rs"}, "invalid_prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := script(daemontest.Tool("ls"), daemontest.Fail("LLMServiceUnavailableError", "down"))
			g := serve(t, b)
			body := input("go", streamed)
			for range 6 { // a client that sends the turn again
				events := eventsOf(t, g.respond(body, tc.header...).body)
				n := len(events)
				equal(t, "the event before the last", events[n-2].Type, "error")
				equal(t, "the last event", events[n-1].Type, "response.failed")
				m := events[n-1].object(t)
				equal(t, "code", m.Error.Code, tc.code)
				equal(t, "GET", responded(t, g.do(http.MethodGet, "/v1/responses/"+m.ID, "")).Status, "failed")
			}
			equal(t, "runs", b.Runs(), 1)
		})
	}
}

func TestAFailedResponseInOnePieceIsNotRepeated(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Fail("LLMServiceUnavailableError", "down")))
	res := g.respond(input("go"))
	envelope(t, res, http.StatusBadGateway, "llm_error", "")
	equal(t, "x-should-retry", res.header.Get("x-should-retry"), "false")
}

func TestARepeatedResponseIsTheSame(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	body := input("go", streamed)
	first := eventsOf(t, g.respond(body, "Idempotency-Key", "k").body)
	again := eventsOf(t, g.respond(body, "Idempotency-Key", "k").body)
	if diff := cmp.Diff(raws(first), raws(again)); diff != "" {
		t.Error(diff)
	}
	equal(t, "runs", b.Runs(), 1)
}

func TestAStreamedResponseIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Wait(13*time.Second), daemontest.Tool("ls"), daemontest.Wait(5*time.Second), daemontest.Finish("done")))
		events := eventsOf(t, g.respond(input("go", streamed)).body)
		beats := 0
		for _, e := range events {
			if strings.HasSuffix(e.Type, ".delta") && e.Delta == "" {
				beats++
			}
		}
		equal(t, "events without news", beats, 4)
	})
}

func TestAResponseOfAProcessThatDied(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	gate := make(chan struct{})
	defer close(gate)
	b := script(daemontest.Until(gate), daemontest.Finish("done"))
	config := func(c *daemon.Config) { c.StateDir, c.InProcess, c.Drain = state, true, -1 }
	g := serve(t, b, config)
	m := responded(t, g.respond(input("work", `"background":true`)))
	eventually(t, "the run has begun", func() bool { return b.Runs() == 1 })
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state = copied
	g2 := serve(t, script(daemontest.Finish("done")), config)
	lost := responded(t, g2.do(http.MethodGet, "/v1/responses/"+m.ID, ""))
	equal(t, "status", lost.Status, "failed")
	if lost.Error == nil || !strings.Contains(lost.Error.Message, "ohgw was stopped") {
		t.Errorf("error %+v", lost.Error)
	}
	if err := g.stop(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestInputItems(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("done")))
	m := responded(t, g.respond(`{"model":"openhands_default","input":[
		{"role":"user","content":"one"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]},
		{"type":"reasoning","summary":[]},{"role":"user","content":[{"type":"input_text","text":"three"}]}]}`))
	list := func(query string) []string {
		t.Helper()
		res := g.do(http.MethodGet, "/v1/responses/"+m.ID+"/input_items"+query, "")
		valid(t, "response-item-list", []byte(res.body))
		var page struct {
			Data []struct {
				ID      string `json:"id"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"data"`
			More bool `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(res.body), &page); err != nil {
			t.Fatal(err)
		}
		texts := []string{fmt.Sprint(page.More)}
		for _, item := range page.Data {
			texts = append(texts, item.Content[0].Text)
		}
		return texts
	}
	for query, want := range map[string][]string{
		"":                   {"false", "three", "two", "one"},
		"?order=asc":         {"false", "one", "two", "three"},
		"?order=asc&limit=2": {"true", "one", "two"},
	} {
		if diff := cmp.Diff(want, list(query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	envelope(t, g.do(http.MethodGet, "/v1/responses/"+m.ID+"/input_items?limit=0", ""), http.StatusBadRequest, "invalid_value", "limit")
}

func TestResponsesThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	long := strings.Repeat("x", 513)
	for name, tc := range map[string]struct{ body, code, param string }{
		"no model":                 {`{"input":"x"}`, "missing_required_parameter", "model"},
		"no input":                 {`{"model":"openhands_default"}`, "missing_required_parameter", "input"},
		"empty input":              {`{"model":"openhands_default","input":[]}`, "empty_array", "input"},
		"input of a wrong type":    {`{"model":"openhands_default","input":5}`, "invalid_type", "input"},
		"nothing new":              {`{"model":"openhands_default","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "invalid_value", "input"},
		"an item without a type":   {`{"model":"openhands_default","input":[{"content":"a"}]}`, "missing_required_parameter", "input[0].type"},
		"a file":                   {`{"model":"openhands_default","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "unsupported_content_type", "input[0].content[0]"},
		"a stored prompt":          {input("x", `"prompt":{"id":"p"}`), "unsupported_parameter", "prompt"},
		"a schema":                 {input("x", `"text":{"format":{"type":"json_schema"}}`), "missing_required_parameter", "text.format.name"},
		"a required tool":          {input("x", `"tool_choice":"required"`), "unsupported_value", "tool_choice"},
		"a long metadata value":    {input("x", `"metadata":{"a":"`+long+`"}`), "invalid_value", "metadata.a"},
		"metadata of a number":     {input("x", `"metadata":{"a":1}`), "invalid_type", "metadata.a"},
		"few output tokens":        {input("x", `"max_output_tokens":1`), "integer_below_min_value", "max_output_tokens"},
		"an unknown truncation":    {input("x", `"truncation":"some"`), "invalid_value", "truncation"},
		"instructions of a list":   {input("x", `"instructions":[]`), "invalid_type", "instructions"},
		"a conversation by number": {input("x", `"conversation":5`), "invalid_type", "conversation"},

		"a model by number":            {`{"model":5,"input":"x"}`, "invalid_type", "model"},
		"stream as a text":             {input("x", `"stream":"yes"`), "invalid_type", "stream"},
		"store as a number":            {input("x", `"store":1`), "invalid_type", "store"},
		"background as a text":         {input("x", `"background":"no"`), "invalid_type", "background"},
		"background without store":     {input("x", `"background":true`, `"store":false`), "unsupported_value", "store"},
		"a previous one by number":     {input("x", `"previous_response_id":5`), "invalid_type", "previous_response_id"},
		"a long previous one":          {input("x", `"previous_response_id":"`+long+`"`), "string_above_max_length", "previous_response_id"},
		"previous and conversation":    {input("x", `"previous_response_id":"a"`, `"conversation":"b"`), "mutually_exclusive_parameters", "previous_response_id"},
		"a conversation without an id": {input("x", `"conversation":{}`), "missing_required_parameter", "conversation.id"},
		"an id of a conversation":      {input("x", `"conversation":{"id":5}`), "invalid_type", "conversation.id"},
		"metadata as a list":           {input("x", `"metadata":[]`), "invalid_type", "metadata"},
		"a long metadata key":          {input("x", `"metadata":{"`+long[:65]+`":"a"}`), "invalid_value", "metadata"},
		"17 pairs of metadata":         {input("x", `"metadata":{`+pairs(17)+`}`), "invalid_value", "metadata"},
		"reasoning as a text":          {input("x", `"reasoning":"high"`), "invalid_type", "reasoning"},
		"text as a text":               {input("x", `"text":"json"`), "invalid_type", "text"},
		"tools as an object":           {input("x", `"tools":{}`), "invalid_type", "tools"},
		"a named tool":                 {input("x", `"tool_choice":{"type":"function","name":"f"}`), "unsupported_value", "tool_choice"},
		"include as a text":            {input("x", `"include":"all"`), "invalid_type", "include"},
		"parallel calls as a text":     {input("x", `"parallel_tool_calls":"yes"`), "invalid_type", "parallel_tool_calls"},
		"max_output_tokens as a text":  {input("x", `"max_output_tokens":"16"`), "invalid_type", "max_output_tokens"},
		"max_tool_calls as a text":     {input("x", `"max_tool_calls":"1"`), "invalid_type", "max_tool_calls"},
		"temperature as a text":        {input("x", `"temperature":"1"`), "invalid_type", "temperature"},
		"top_p as a text":              {input("x", `"top_p":"1"`), "invalid_type", "top_p"},
		"truncation as a number":       {input("x", `"truncation":1`), "invalid_type", "truncation"},
		"an empty text":                {input(" "), "invalid_value", "input"},
		"an item that is a text":       {inputs(`"x"`), "invalid_type", "input[0]"},
		"a type by number":             {inputs(`{"type":5}`), "invalid_type", "input[0].type"},
		"a message without a role":     {inputs(`{"type":"message","content":"x"}`), "missing_required_parameter", "input[0].role"},
		"a role by number":             {inputs(`{"role":5,"content":"x"}`), "invalid_type", "input[0].role"},
		"an unknown role":              {inputs(`{"role":"king","content":"x"}`), "invalid_value", "input[0].role"},
		"the role of a tool":           {inputs(`{"role":"tool","content":"x"}`), "invalid_value", "input[0].role"},
		"a message without content":    {inputs(`{"role":"user"}`), "missing_required_parameter", "input[0].content"},
		"content by number":            {inputs(`{"role":"user","content":5}`), "invalid_type", "input[0].content"},
		"a part that is a text":        {inputs(`{"role":"user","content":["x"]}`), "invalid_type", "input[0].content[0]"},
		"a part without a type":        {inputs(`{"role":"user","content":[{"text":"x"}]}`), "missing_required_parameter", "input[0].content[0].type"},
		"an unknown part":              {inputs(`{"role":"user","content":[{"type":"smell"}]}`), "invalid_value", "input[0].content[0].type"},
		"a part without its text":      {inputs(`{"role":"user","content":[{"type":"input_text"}]}`), "missing_required_parameter", "input[0].content[0].text"},
		"a picture by its file":        {inputs(`{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`), "unsupported_content_type", "input[0].content[0]"},
		"a picture by its path":        {inputs(`{"role":"user","content":[{"type":"input_image","image_url":"file:///etc/passwd"}]}`), "invalid_image_url", "input[0].content[0].image_url"},
		"a refusal of the user":        {inputs(`{"role":"user","content":[{"type":"refusal","refusal":"x"}]}`), "invalid_value", "input[0].content[0].type"},
		"an answer after the question": {inputs(`{"role":"user","content":"x"},{"type":"function_call_output","call_id":"c","output":"y"}`), "invalid_value", "input"},
	} {
		t.Run(name, func(t *testing.T) { envelope(t, g.respond(tc.body), http.StatusBadRequest, tc.code, tc.param) })
	}
	equal(t, "runs", b.Runs(), 0)
}

// inputs is the body of a request with these items.
func inputs(list string) string { return `{"model":"openhands_default","input":[` + list + `]}` }

func pairs(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return strings.Join(all, ",")
}

// What is only repeated is repeated as the schema of a response wants it.
func TestWhatAResponseRepeats(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
	for name, tc := range map[string]struct{ sent, field, want string }{
		"a whole number with a point": {`"max_output_tokens":32.0`, "max_output_tokens", "32"},
		"most tool calls":             {`"max_tool_calls":3`, "max_tool_calls", "3"},
		"half a tool call":            {`"max_tool_calls":1.5`, "max_tool_calls", "null"},
		"a temperature":               {`"temperature":0.2`, "temperature", "0.2"},
		"a high temperature":          {`"temperature":7`, "temperature", "1"},
		"top_p":                       {`"top_p":0.5`, "top_p", "0.5"},
		"a negative top_p":            {`"top_p":-1`, "top_p", "1"},
		"top_logprobs":                {`"top_logprobs":5`, "top_logprobs", "5"},
		"many top_logprobs":           {`"top_logprobs":500`, "top_logprobs", "0"},
		"a cache key":                 {`"prompt_cache_key":"k","prompt_cache_retention":"24h"`, "prompt_cache_retention", `"24h"`},
		"an unknown retention":        {`"prompt_cache_retention":"ever"`, "prompt_cache_retention", ""},
		"a safety identifier":         {`"safety_identifier":"s"`, "safety_identifier", `"s"`},
		"parallel calls":              {`"parallel_tool_calls":false`, "parallel_tool_calls", "false"},
		"truncation":                  {`"truncation":"auto"`, "truncation", `"auto"`},
		"reasoning":                   {`"reasoning":{"effort":"max","summary":null}`, "reasoning", `{"effort":"max","summary":null}`},
		"an unknown effort":           {`"reasoning":{"effort":"huge"}`, "reasoning", `{"effort":null,"summary":null}`},
		"tools":                       {`"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":"none"`, "tools", "[]"},
		"tool_choice":                 {`"tool_choice":"none"`, "tool_choice", `"auto"`},
		"a verbosity":                 {`"text":{"verbosity":"low"}`, "text", `{"format":{"type":"text"}}`},
		"instructions":                {`"instructions":"be brief"`, "instructions", `"be brief"`},
		"metadata":                    {`"metadata":{` + pairs(1) + `}`, "metadata", `{"k0":"v"}`},
		"what has no field": {
			`"user":"u","service_tier":"flex","context_management":[],"moderation":{},"prompt_cache_options":{},"stream_options":{"include_obfuscation":true},"include":["x"]`, "user", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := g.respond(input("x", tc.sent))
			m := responded(t, res)
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(res.body), &fields); err != nil {
				t.Fatal(err)
			}
			equal(t, tc.field, string(fields[tc.field]), tc.want)
			if stored := g.do(http.MethodGet, "/v1/responses/"+m.ID, "").body; stored != res.body {
				t.Errorf("the stored response is another one: %s", stored)
			}
		})
	}
}

// The client says whether it wants to see what the agent does; else the operator.
func TestTheSummaryThatAClientAsksFor(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
	for summary, want := range map[string]int{`null`: 0, `"auto"`: 1, `"detailed"`: 1} {
		m := responded(t, g.respond(input("x", `"reasoning":{"summary":`+summary+`}`)))
		equal(t, "parts with the summary "+summary, len(m.Output[0].Summary), want)
	}
}

func TestWhatClientsSendToResponses(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("done")))
	for name, more := range map[string]string{
		"text without a format": `"text":{}`, "tools": `"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":"auto"`,
		"what Codex asks for":  `"include":["reasoning.encrypted_content"],"store":false,"prompt_cache_key":"t","reasoning":{"effort":"medium","summary":"auto"},"client_metadata":{"a":1}`,
		"null everywhere":      `"instructions":null,"previous_response_id":null,"metadata":null,"temperature":null,"max_output_tokens":null`,
		"a named conversation": `"conversation":"home"`,
	} {
		t.Run(name, func(t *testing.T) { equal(t, "text", responded(t, g.respond(input("x", more))).text(), "done") })
	}
}

func TestANamedConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	first := responded(t, g.respond(input("one", `"conversation":"home"`)))
	second := responded(t, g.respond(input("two", `"conversation":{"id":"home"}`)))
	equal(t, "conversation", second.Conversation.ID, first.Conversation.ID)
	third := responded(t, g.respond(input("three", `"conversation":"`+first.Conversation.ID+`"`)))
	equal(t, "by its id", third.Conversation.ID, first.Conversation.ID)
	other := responded(t, g.respond(input("two", `"conversation":"home"`), "Authorization", "Bearer "+otherKey))
	if other.Conversation.ID == first.Conversation.ID {
		t.Error("two tokens share a conversation by its name")
	}
}

func TestAResponseIsTakenUpByTheNextProcess(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	gate := make(chan struct{})
	b := script(daemontest.Tool("ls"), daemontest.Until(gate), daemontest.Finish("done"))
	config := func(c *daemon.Config) { c.StateDir = state }
	g := serve(t, b, config)
	m := responded(t, g.respond(input("work", `"background":true`)))
	eventually(t, "the run has begun", func() bool { return b.Runs() == 1 })
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state = copied
	next := serve(t, b, config)
	path := "/v1/responses/" + m.ID
	equal(t, "status before the end", responded(t, next.do(http.MethodGet, path, "")).Status, "in_progress")
	close(gate)
	events := eventsOf(t, next.do(http.MethodGet, path+"?stream=true", "").body)
	equal(t, "text", events[len(events)-1].object(t).text(), "done")
	equal(t, "GET", responded(t, next.do(http.MethodGet, path, "")).text(), "done")
	equal(t, "runs", b.Runs(), 1)
}

func TestAConversationThatIsGoneIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	m := responded(t, g.respond(input("one")))
	if err := b.Remove(t.Context(), strings.TrimPrefix(m.Conversation.ID, "conv_")); err != nil {
		t.Fatal(err)
	}
	envelope(t, g.respond(input("two", `"previous_response_id":"`+m.ID+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
	equal(t, "runs", b.Runs(), 1)
}

const approvalTool = `"tools":[{"type":"mcp","server_label":"openhands","server_url":"http://localhost","require_approval":"always"}]`

// An action that waits is an item for a client that declares the tool, and is
// answered by an item.
func TestApprovals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer   string
		accepted bool
	}{
		"approved": {`"approve":true`, true},
		"refused":  {`"approve":false,"reason":"too dangerous"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := script(daemontest.Confirm("rm -rf build"), daemontest.Finish("done"))
			g := serve(t, b)
			events := eventsOf(t, g.respond(input("clean up", streamed, approvalTool)).body)
			first := events[len(events)-1].object(t)
			var asked struct{ ID, Type, Name, Arguments string }
			for _, e := range events {
				if e.Type == "response.output_item.done" {
					if err := json.Unmarshal(e.Item, &asked); err != nil {
						t.Fatal(err)
					}
				}
			}
			equal(t, "item", asked.Type+" "+asked.Name, "mcp_approval_request terminal")
			if !strings.Contains(asked.Arguments, "rm -rf build") {
				t.Errorf("arguments %s", asked.Arguments)
			}
			lacks(t, "text", first.text(), "confirmation")
			// The whole past again, without previous_response_id, as the Agents SDK sends it.
			res := responded(t, g.respond(`{"model":"openhands_default","input":[{"role":"user","content":"clean up"},`+
				`{"type":"mcp_approval_request","id":"`+asked.ID+`","server_label":"openhands","name":"terminal","arguments":"{}"},`+
				`{"type":"mcp_approval_response","approval_request_id":"`+asked.ID+`",`+tc.answer+`}],`+approvalTool+`}`))
			equal(t, "conversation", res.Conversation.ID, first.Conversation.ID)
			equal(t, "decisions", len(b.Decided()), 1)
			equal(t, "accepted", b.Decided()[0].Accept, tc.accepted)
			if !tc.accepted {
				equal(t, "reason", b.Decided()[0].Reason, "too dangerous")
			}
		})
	}
}

func TestApprovalsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Confirm("rm -rf build"), daemontest.Finish("done"))
	g := serve(t, b)
	first := responded(t, g.respond(input("clean up")))
	if !strings.Contains(first.text(), "confirmation") {
		t.Errorf("without the tool the text is %q", first.text())
	}
	for name, tc := range map[string]struct{ item, code, param string }{
		"of another kind": {`"approval_request_id":"x","approve":true`, "invalid_value", "input"},
		"unknown":         {`"approval_request_id":"mcpr_000000000000000000000000000000000","approve":true`, "previous_response_not_found", "previous_response_id"},
		"without an id":   {`"approve":true`, "missing_required_parameter", "input[0].approval_request_id"},
		"without a word":  {`"approval_request_id":"x"`, "missing_required_parameter", "input[0].approve"},
	} {
		t.Run(name, func(t *testing.T) {
			envelope(t, g.respond(`{"model":"openhands_default","input":[{"type":"mcp_approval_response",`+tc.item+`}]}`), http.StatusBadRequest, tc.code, tc.param)
		})
	}
	equal(t, "runs", b.Runs(), 1)
}

// OpenAI's newer methods of responses do not name a response: their clients report
// that the server does not have them.
func TestMethodsOfResponsesThatAreNotThere(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("ok")))
	for _, path := range []string{"/v1/responses/compact", "/v1/responses/input_tokens", "/responses/compact", "/v1/responses/anything"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
			envelope(t, g.do(method, path, `{"model":"openhands_default","input":"hi"}`), http.StatusNotFound, "unknown_url", "")
		}
	}
	res := g.do(http.MethodPost, "/v1/responses/resp_"+strings.Repeat("0", 32), "")
	envelope(t, res, http.StatusMethodNotAllowed, "method_not_allowed", "")
}
