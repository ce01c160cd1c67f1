package responses_test

import (
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
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestAResponseInOnePiece(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("There are two.")))
	m := apitest.Responded(t, g.Respond(apitest.Input("how many?", `"metadata":{"a":"b"}`)))
	apitest.Equal(t, "status", m.Status, "completed")
	apitest.Equal(t, "text", m.Text(), "There are two.")
	apitest.Equal(t, "progress", m.Output[0].Summary[0].Text, "$ ls")
	apitest.Equal(t, "metadata", m.Metadata["a"], "b")
	if m.Usage == nil {
		t.Error("a completed response has no usage")
	}
}

func TestAStreamedResponseInFull(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("There are two.")))
	events := apitest.EventsOf(t, g.Respond(apitest.Input("how many?", apitest.Streamed)).Body)
	want := []string{
		"created", "in_progress", "output_item.added", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed",
	}
	if diff := cmp.Diff(want, apitest.Types(events)); diff != "" {
		t.Error(diff)
	}
	last := events[len(events)-1].Object(t)
	apitest.Equal(t, "the joined text", last.Text(), "I will look.\n\nThere are two.")
	apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+last.ID, "")).Text(), last.Text())
}

func TestPreviousResponseContinuesItsConversation(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	first := apitest.Responded(t, g.Respond(apitest.Input("one")))
	second := apitest.Responded(t, g.Respond(apitest.Input("two", `"previous_response_id":"`+first.ID+`"`)))
	apitest.Equal(t, "conversation", second.Conversation.ID, first.Conversation.ID)
	apitest.Equal(t, "previous", second.Previous, first.ID)
	apitest.Equal(t, "conversations", len(b.Opened()), 2)

	// The first response has been gone on from: the next one is a copy.
	third := apitest.Responded(t, g.Respond(apitest.Input("two again", `"previous_response_id":"`+first.ID+`"`)))
	if third.Conversation.ID == first.Conversation.ID {
		t.Error("two responses go on from one in the same conversation")
	}
	apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+first.ID+`"`), "X-OpenHands-Branch", "reject"),
		http.StatusBadRequest, "previous_response_not_latest", "previous_response_id")
	fourth := apitest.Responded(t, g.Respond(apitest.Input("three", `"previous_response_id":"`+second.ID+`"`)))
	apitest.Equal(t, "conversation", fourth.Conversation.ID, first.Conversation.ID)
}

func TestNewInstructionsReachAConversationThatGoesOn(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	first := apitest.Responded(t, g.Respond(apitest.Input("one", `"instructions":"be brief"`)))
	apitest.Equal(t, "system", b.Opened()[0].System, "be brief")
	for i, tc := range []struct{ instructions, want string }{
		{`"instructions":"be brief"`, "two"},
		{`"instructions":"be long"`, "New instructions for this task:\n\nbe long\n\nThe task:\n\ntwo"},
		{`"store":true`, "two"},
	} {
		first = apitest.Responded(t, g.Respond(apitest.Input("two", tc.instructions, `"previous_response_id":"`+first.ID+`"`)))
		apitest.Equal(t, "message", b.Prompts()[i+1].Text, tc.want)
	}
}

func TestUnknownPreviousResponses(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	kept := apitest.Responded(t, g.Respond(apitest.Input("one")))
	loose := apitest.Responded(t, g.Respond(apitest.Input("one", `"store":false`)))
	for name, id := range map[string]string{
		"unknown": "resp_00000000000000000000000000000000", "not stored": loose.ID, "a path": "resp_../../etc/passwd", "of another kind": kept.Conversation.ID,
	} {
		t.Run(name, func(t *testing.T) {
			apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+id+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		res := g.Do(method, "/v1/responses/"+kept.ID, "", "Authorization", "Bearer "+apitest.OtherKey)
		apitest.Equal(t, method+" by another token", res.Status, http.StatusNotFound)
	}
	apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+kept.ID+`"`), "Authorization", "Bearer "+apitest.OtherKey),
		http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
	apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+kept.ID+`"`, `"conversation":"a"`)),
		http.StatusBadRequest, "mutually_exclusive_parameters", "previous_response_id")
	apitest.Equal(t, "runs", b.Runs(), 2)
	apitest.Responded(t, g.Do(http.MethodDelete, "/v1/responses/"+kept.ID, "").AsDeleted(t, kept.ID))
	apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+kept.ID+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
}

func TestABackgroundResponseGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), daemontest.Until(gate), daemontest.Finish("done")), func(c *daemon.Config) { c.StateDir = t.TempDir() })
	m := apitest.Responded(t, g.Respond(apitest.Input("work", `"background":true`)))
	if m.Status != "in_progress" && m.Status != "queued" {
		t.Errorf("status %q before the end", m.Status)
	}
	path := "/v1/responses/" + m.ID
	if res := g.Do(http.MethodDelete, path, ""); res.Status != http.StatusConflict {
		t.Errorf("deletion of a response that is being made: status %d", res.Status)
	}
	stream := g.Send(g.Request(http.MethodGet, path+"?stream=true&starting_after=1", ""))
	close(gate)
	events := apitest.EventsOf(t, g.Finish(stream).Body)
	apitest.Equal(t, "first event", events[0].Number, 2)
	last := events[len(events)-1].Object(t)
	apitest.Equal(t, "text", last.Text(), "done")
	apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, path, "")).Status, "completed")
	apitest.Envelope(t, g.Respond(apitest.Input("x", `"background":true`, `"store":false`)), http.StatusBadRequest, "unsupported_value", "store")
}

// OpenAI's library for Go (GetStreaming) asks for events in a body.
func TestABodyAsksForTheEventsOfAResponse(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("c")), func(c *daemon.Config) { c.StateDir = t.TempDir() })
	events := apitest.EventsOf(t, g.Respond(apitest.Input("go", apitest.Streamed)).Body)
	path := "/v1/responses/" + events[0].Object(t).ID
	rest := apitest.EventsOf(t, g.Do(http.MethodGet, path+"?starting_after=1", `{"stream":true}`, "Content-Type", "").Body)
	if diff := cmp.Diff(raws(events[2:]), raws(rest)); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{}`, `{"stream":1}`, "stream", `{"stream":true,"x":"` + strings.Repeat("x", 1<<10) + `"}`} {
		apitest.Equal(t, "status with a body that asks for no events", apitest.Responded(t, g.Do(http.MethodGet, path, body)).Status, "completed")
	}
}

func raws(events []apitest.StreamEvent) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Raw)
	}
	return all
}

func TestACancelledResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Hang())
		g := apitest.Serve(t, b)
		m := apitest.Responded(t, g.Respond(apitest.Input("work", `"background":true`)))
		path := "/v1/responses/" + m.ID
		synctest.Wait() // a run that is seen to begin after the interrupt is interrupted again
		apitest.Equal(t, "runs", b.Runs(), 1)
		for range 2 {
			apitest.Equal(t, "status", apitest.Responded(t, g.Do(http.MethodPost, path+"/cancel", "{}")).Status, "cancelled")
		}
		apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, path, "")).Status, "cancelled")
		apitest.Equal(t, "interrupts", b.Interrupts(), 1)
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
			b := apitest.Script(daemontest.Tool("ls"), daemontest.Fail("LLMServiceUnavailableError", "down"))
			g := apitest.Serve(t, b)
			body := apitest.Input("go", apitest.Streamed)
			for range 6 { // a client that sends the turn again
				events := apitest.EventsOf(t, g.Respond(body, tc.header...).Body)
				n := len(events)
				apitest.Equal(t, "the event before the last", events[n-2].Type, "error")
				apitest.Equal(t, "the last event", events[n-1].Type, "response.failed")
				m := events[n-1].Object(t)
				apitest.Equal(t, "code", m.Error.Code, tc.code)
				apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID, "")).Status, "failed")
			}
			apitest.Equal(t, "runs", b.Runs(), 1)
		})
	}
}

func TestAFailedResponseInOnePieceIsNotRepeated(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Fail("LLMServiceUnavailableError", "down")))
	res := g.Respond(apitest.Input("go"))
	apitest.Envelope(t, res, http.StatusBadGateway, "llm_error", "")
	apitest.Equal(t, "x-should-retry", res.Header.Get("x-should-retry"), "false")
}

func TestARepeatedResponseIsTheSame(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	body := apitest.Input("go", apitest.Streamed)
	first := apitest.EventsOf(t, g.Respond(body, "Idempotency-Key", "k").Body)
	again := apitest.EventsOf(t, g.Respond(body, "Idempotency-Key", "k").Body)
	if diff := cmp.Diff(raws(first), raws(again)); diff != "" {
		t.Error(diff)
	}
	apitest.Equal(t, "runs", b.Runs(), 1)
}

func TestAStreamedResponseIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(13*time.Second), daemontest.Tool("ls"), daemontest.Wait(5*time.Second), daemontest.Finish("done")))
		events := apitest.EventsOf(t, g.Respond(apitest.Input("go", apitest.Streamed)).Body)
		beats := 0
		for _, e := range events {
			if strings.HasSuffix(e.Type, ".delta") && e.Delta == "" {
				beats++
			}
		}
		apitest.Equal(t, "events without news", beats, 4)
	})
}

func TestAResponseOfAProcessThatDied(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	gate := make(chan struct{})
	defer close(gate)
	b := apitest.Script(daemontest.Until(gate), daemontest.Finish("done"))
	config := func(c *daemon.Config) { c.StateDir, c.InProcess, c.Drain = state, true, -1 }
	g := apitest.Serve(t, b, config)
	m := apitest.Responded(t, g.Respond(apitest.Input("work", `"background":true`)))
	apitest.Eventually(t, "the run has begun", func() bool { return b.Runs() == 1 })
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state = copied
	g2 := apitest.Serve(t, apitest.Script(daemontest.Finish("done")), config)
	lost := apitest.Responded(t, g2.Do(http.MethodGet, "/v1/responses/"+m.ID, ""))
	apitest.Equal(t, "status", lost.Status, "failed")
	if lost.Error == nil || !strings.Contains(lost.Error.Message, "ohgw was stopped") {
		t.Errorf("error %+v", lost.Error)
	}
	if err := g.Stop(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestInputItems(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	m := apitest.Responded(t, g.Respond(`{"model":"openhands_default","input":[
		{"role":"user","content":"one"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]},
		{"type":"reasoning","summary":[]},{"role":"user","content":[{"type":"input_text","text":"three"}]}]}`))
	list := func(query string) []string {
		t.Helper()
		res := g.Do(http.MethodGet, "/v1/responses/"+m.ID+"/input_items"+query, "")
		apitest.Valid(t, "response-item-list", []byte(res.Body))
		var page struct {
			Data []struct {
				ID      string `json:"id"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"data"`
			More bool `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(res.Body), &page); err != nil {
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
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID+"/input_items?limit=0", ""), http.StatusBadRequest, "invalid_value", "limit")
}

func TestResponsesThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	long := strings.Repeat("x", 513)
	for name, tc := range map[string]struct{ body, code, param string }{
		"no model":                 {`{"input":"x"}`, "missing_required_parameter", "model"},
		"no input":                 {`{"model":"openhands_default"}`, "missing_required_parameter", "input"},
		"empty input":              {`{"model":"openhands_default","input":[]}`, "empty_array", "input"},
		"input of a wrong type":    {`{"model":"openhands_default","input":5}`, "invalid_type", "input"},
		"nothing new":              {`{"model":"openhands_default","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "invalid_value", "input"},
		"an item without a type":   {`{"model":"openhands_default","input":[{"content":"a"}]}`, "missing_required_parameter", "input[0].type"},
		"a file":                   {`{"model":"openhands_default","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "unsupported_content_type", "input[0].content[0]"},
		"a stored prompt":          {apitest.Input("x", `"prompt":{"id":"p"}`), "unsupported_parameter", "prompt"},
		"a schema":                 {apitest.Input("x", `"text":{"format":{"type":"json_schema"}}`), "missing_required_parameter", "text.format.name"},
		"a required tool":          {apitest.Input("x", `"tool_choice":"required"`), "unsupported_value", "tool_choice"},
		"a long metadata value":    {apitest.Input("x", `"metadata":{"a":"`+long+`"}`), "invalid_value", "metadata.a"},
		"metadata of a number":     {apitest.Input("x", `"metadata":{"a":1}`), "invalid_type", "metadata.a"},
		"few output tokens":        {apitest.Input("x", `"max_output_tokens":1`), "integer_below_min_value", "max_output_tokens"},
		"an unknown truncation":    {apitest.Input("x", `"truncation":"some"`), "invalid_value", "truncation"},
		"instructions of a list":   {apitest.Input("x", `"instructions":[]`), "invalid_type", "instructions"},
		"a conversation by number": {apitest.Input("x", `"conversation":5`), "invalid_type", "conversation"},

		"a model by number":            {`{"model":5,"input":"x"}`, "invalid_type", "model"},
		"stream as a text":             {apitest.Input("x", `"stream":"yes"`), "invalid_type", "stream"},
		"store as a number":            {apitest.Input("x", `"store":1`), "invalid_type", "store"},
		"background as a text":         {apitest.Input("x", `"background":"no"`), "invalid_type", "background"},
		"background without store":     {apitest.Input("x", `"background":true`, `"store":false`), "unsupported_value", "store"},
		"a previous one by number":     {apitest.Input("x", `"previous_response_id":5`), "invalid_type", "previous_response_id"},
		"a long previous one":          {apitest.Input("x", `"previous_response_id":"`+long+`"`), "string_above_max_length", "previous_response_id"},
		"previous and conversation":    {apitest.Input("x", `"previous_response_id":"a"`, `"conversation":"b"`), "mutually_exclusive_parameters", "previous_response_id"},
		"a conversation without an id": {apitest.Input("x", `"conversation":{}`), "missing_required_parameter", "conversation.id"},
		"an id of a conversation":      {apitest.Input("x", `"conversation":{"id":5}`), "invalid_type", "conversation.id"},
		"metadata as a list":           {apitest.Input("x", `"metadata":[]`), "invalid_type", "metadata"},
		"a long metadata key":          {apitest.Input("x", `"metadata":{"`+long[:65]+`":"a"}`), "invalid_value", "metadata"},
		"17 pairs of metadata":         {apitest.Input("x", `"metadata":{`+pairs(17)+`}`), "invalid_value", "metadata"},
		"reasoning as a text":          {apitest.Input("x", `"reasoning":"high"`), "invalid_type", "reasoning"},
		"text as a text":               {apitest.Input("x", `"text":"json"`), "invalid_type", "text"},
		"tools as an object":           {apitest.Input("x", `"tools":{}`), "invalid_type", "tools"},
		"a named tool":                 {apitest.Input("x", `"tool_choice":{"type":"function","name":"f"}`), "unsupported_value", "tool_choice"},
		"include as a text":            {apitest.Input("x", `"include":"all"`), "invalid_type", "include"},
		"parallel calls as a text":     {apitest.Input("x", `"parallel_tool_calls":"yes"`), "invalid_type", "parallel_tool_calls"},
		"max_output_tokens as a text":  {apitest.Input("x", `"max_output_tokens":"16"`), "invalid_type", "max_output_tokens"},
		"max_tool_calls as a text":     {apitest.Input("x", `"max_tool_calls":"1"`), "invalid_type", "max_tool_calls"},
		"temperature as a text":        {apitest.Input("x", `"temperature":"1"`), "invalid_type", "temperature"},
		"top_p as a text":              {apitest.Input("x", `"top_p":"1"`), "invalid_type", "top_p"},
		"truncation as a number":       {apitest.Input("x", `"truncation":1`), "invalid_type", "truncation"},
		"an empty text":                {apitest.Input(" "), "invalid_value", "input"},
		"an item that is a text":       {apitest.Inputs(`"x"`), "invalid_type", "input[0]"},
		"a type by number":             {apitest.Inputs(`{"type":5}`), "invalid_type", "input[0].type"},
		"a message without a role":     {apitest.Inputs(`{"type":"message","content":"x"}`), "missing_required_parameter", "input[0].role"},
		"a role by number":             {apitest.Inputs(`{"role":5,"content":"x"}`), "invalid_type", "input[0].role"},
		"an unknown role":              {apitest.Inputs(`{"role":"king","content":"x"}`), "invalid_value", "input[0].role"},
		"the role of a tool":           {apitest.Inputs(`{"role":"tool","content":"x"}`), "invalid_value", "input[0].role"},
		"a message without content":    {apitest.Inputs(`{"role":"user"}`), "missing_required_parameter", "input[0].content"},
		"content by number":            {apitest.Inputs(`{"role":"user","content":5}`), "invalid_type", "input[0].content"},
		"a part that is a text":        {apitest.Inputs(`{"role":"user","content":["x"]}`), "invalid_type", "input[0].content[0]"},
		"a part without a type":        {apitest.Inputs(`{"role":"user","content":[{"text":"x"}]}`), "missing_required_parameter", "input[0].content[0].type"},
		"an unknown part":              {apitest.Inputs(`{"role":"user","content":[{"type":"smell"}]}`), "invalid_value", "input[0].content[0].type"},
		"a part without its text":      {apitest.Inputs(`{"role":"user","content":[{"type":"input_text"}]}`), "missing_required_parameter", "input[0].content[0].text"},
		"a picture by its file":        {apitest.Inputs(`{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`), "unsupported_content_type", "input[0].content[0]"},
		"a picture by its path":        {apitest.Inputs(`{"role":"user","content":[{"type":"input_image","image_url":"file:///etc/passwd"}]}`), "invalid_image_url", "input[0].content[0].image_url"},
		"a refusal of the user":        {apitest.Inputs(`{"role":"user","content":[{"type":"refusal","refusal":"x"}]}`), "invalid_value", "input[0].content[0].type"},
		"an answer after the question": {apitest.Inputs(`{"role":"user","content":"x"},{"type":"function_call_output","call_id":"c","output":"y"}`), "invalid_value", "input"},
	} {
		t.Run(name, func(t *testing.T) { apitest.Envelope(t, g.Respond(tc.body), http.StatusBadRequest, tc.code, tc.param) })
	}
	apitest.Equal(t, "runs", b.Runs(), 0)
}

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
	g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
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
			res := g.Respond(apitest.Input("x", tc.sent))
			m := apitest.Responded(t, res)
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(res.Body), &fields); err != nil {
				t.Fatal(err)
			}
			apitest.Equal(t, tc.field, string(fields[tc.field]), tc.want)
			if stored := g.Do(http.MethodGet, "/v1/responses/"+m.ID, "").Body; stored != res.Body {
				t.Errorf("the stored response is another one: %s", stored)
			}
		})
	}
}

// The client says whether it wants to see what the agent does; else the operator.
func TestTheSummaryThatAClientAsksFor(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
	for summary, want := range map[string]int{`null`: 0, `"auto"`: 1, `"detailed"`: 1} {
		m := apitest.Responded(t, g.Respond(apitest.Input("x", `"reasoning":{"summary":`+summary+`}`)))
		apitest.Equal(t, "parts with the summary "+summary, len(m.Output[0].Summary), want)
	}
}

func TestWhatClientsSendToResponses(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	for name, more := range map[string]string{
		"text without a format": `"text":{}`, "tools": `"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":"auto"`,
		"what Codex asks for":  `"include":["reasoning.encrypted_content"],"store":false,"prompt_cache_key":"t","reasoning":{"effort":"medium","summary":"auto"},"client_metadata":{"a":1}`,
		"null everywhere":      `"instructions":null,"previous_response_id":null,"metadata":null,"temperature":null,"max_output_tokens":null`,
		"a named conversation": `"conversation":"home"`,
	} {
		t.Run(name, func(t *testing.T) {
			apitest.Equal(t, "text", apitest.Responded(t, g.Respond(apitest.Input("x", more))).Text(), "done")
		})
	}
}

func TestANamedConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	first := apitest.Responded(t, g.Respond(apitest.Input("one", `"conversation":"home"`)))
	second := apitest.Responded(t, g.Respond(apitest.Input("two", `"conversation":{"id":"home"}`)))
	apitest.Equal(t, "conversation", second.Conversation.ID, first.Conversation.ID)
	third := apitest.Responded(t, g.Respond(apitest.Input("three", `"conversation":"`+first.Conversation.ID+`"`)))
	apitest.Equal(t, "by its id", third.Conversation.ID, first.Conversation.ID)
	other := apitest.Responded(t, g.Respond(apitest.Input("two", `"conversation":"home"`), "Authorization", "Bearer "+apitest.OtherKey))
	if other.Conversation.ID == first.Conversation.ID {
		t.Error("two tokens share a conversation by its name")
	}
}

func TestAResponseIsTakenUpByTheNextProcess(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	gate := make(chan struct{})
	b := apitest.Script(daemontest.Tool("ls"), daemontest.Until(gate), daemontest.Finish("done"))
	config := func(c *daemon.Config) { c.StateDir = state }
	g := apitest.Serve(t, b, config)
	m := apitest.Responded(t, g.Respond(apitest.Input("work", `"background":true`)))
	apitest.Eventually(t, "the run has begun", func() bool { return b.Runs() == 1 })
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state = copied
	next := apitest.Serve(t, b, config)
	path := "/v1/responses/" + m.ID
	apitest.Equal(t, "status before the end", apitest.Responded(t, next.Do(http.MethodGet, path, "")).Status, "in_progress")
	close(gate)
	events := apitest.EventsOf(t, next.Do(http.MethodGet, path+"?stream=true", "").Body)
	apitest.Equal(t, "text", events[len(events)-1].Object(t).Text(), "done")
	apitest.Equal(t, "GET", apitest.Responded(t, next.Do(http.MethodGet, path, "")).Text(), "done")
	apitest.Equal(t, "runs", b.Runs(), 1)
}

func TestAConversationThatIsGoneIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	m := apitest.Responded(t, g.Respond(apitest.Input("one")))
	if err := b.Remove(t.Context(), strings.TrimPrefix(m.Conversation.ID, "conv_")); err != nil {
		t.Fatal(err)
	}
	apitest.Envelope(t, g.Respond(apitest.Input("two", `"previous_response_id":"`+m.ID+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
	apitest.Equal(t, "runs", b.Runs(), 1)
}

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
			b := apitest.Script(daemontest.Confirm("rm -rf build"), daemontest.Finish("done"))
			g := apitest.Serve(t, b)
			events := apitest.EventsOf(t, g.Respond(apitest.Input("clean up", apitest.Streamed, apitest.ApprovalTool)).Body)
			first := events[len(events)-1].Object(t)
			var asked struct{ ID, Type, Name, Arguments string }
			for _, e := range events {
				if e.Type == "response.output_item.done" {
					if err := json.Unmarshal(e.Item, &asked); err != nil {
						t.Fatal(err)
					}
				}
			}
			apitest.Equal(t, "item", asked.Type+" "+asked.Name, "mcp_approval_request terminal")
			if !strings.Contains(asked.Arguments, "rm -rf build") {
				t.Errorf("arguments %s", asked.Arguments)
			}
			apitest.Lacks(t, "text", first.Text(), "confirmation")
			// The whole past again, without previous_response_id, as the Agents SDK sends it.
			res := apitest.Responded(t, g.Respond(`{"model":"openhands_default","input":[{"role":"user","content":"clean up"},`+
				`{"type":"mcp_approval_request","id":"`+asked.ID+`","server_label":"openhands","name":"terminal","arguments":"{}"},`+
				`{"type":"mcp_approval_response","approval_request_id":"`+asked.ID+`",`+tc.answer+`}],`+apitest.ApprovalTool+`}`))
			apitest.Equal(t, "conversation", res.Conversation.ID, first.Conversation.ID)
			apitest.Equal(t, "decisions", len(b.Decided()), 1)
			apitest.Equal(t, "accepted", b.Decided()[0].Accept, tc.accepted)
			if !tc.accepted {
				apitest.Equal(t, "reason", b.Decided()[0].Reason, "too dangerous")
			}
		})
	}
}

func TestApprovalsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Confirm("rm -rf build"), daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	first := apitest.Responded(t, g.Respond(apitest.Input("clean up")))
	if !strings.Contains(first.Text(), "confirmation") {
		t.Errorf("without the tool the text is %q", first.Text())
	}
	for name, tc := range map[string]struct{ item, code, param string }{
		"of another kind": {`"approval_request_id":"x","approve":true`, "invalid_value", "input"},
		"unknown":         {`"approval_request_id":"mcpr_000000000000000000000000000000000","approve":true`, "previous_response_not_found", "previous_response_id"},
		"without an id":   {`"approve":true`, "missing_required_parameter", "input[0].approval_request_id"},
		"without a word":  {`"approval_request_id":"x"`, "missing_required_parameter", "input[0].approve"},
	} {
		t.Run(name, func(t *testing.T) {
			apitest.Envelope(t, g.Respond(`{"model":"openhands_default","input":[{"type":"mcp_approval_response",`+tc.item+`}]}`), http.StatusBadRequest, tc.code, tc.param)
		})
	}
	apitest.Equal(t, "runs", b.Runs(), 1)
}

// OpenAI's newer methods of responses do not name a response: their clients report
// that the server does not have them.
func TestMethodsOfResponsesThatAreNotThere(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")))
	for _, path := range []string{"/v1/responses/compact", "/v1/responses/input_tokens", "/responses/compact", "/v1/responses/anything"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
			apitest.Envelope(t, g.Do(method, path, `{"model":"openhands_default","input":"hi"}`), http.StatusNotFound, "unknown_url", "")
		}
	}
	res := g.Do(http.MethodPost, "/v1/responses/resp_"+strings.Repeat("0", 32), "")
	apitest.Envelope(t, res, http.StatusMethodNotAllowed, "method_not_allowed", "")
}
