//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// responsesServer speaks OpenAI's Responses dialect by a script: one list of
// output items for each request.
type responsesServer struct {
	*httptest.Server
	mu    sync.Mutex
	items [][]string
	asked []map[string]any
}

func newResponsesServer(t *testing.T, items ...[]string) *responsesServer {
	t.Helper()
	s := &responsesServer{items: items}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in map[string]any
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || r.URL.Path != "/responses" || len(s.items) == 0 {
			t.Errorf("%s %s: %v, %d scripted replies are left", r.Method, r.URL.Path, err, len(s.items))
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		s.asked = append(s.asked, in)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, item := range s.items[0] {
			for _, event := range []string{"added", "done"} {
				fmt.Fprintf(w, "data: {\"type\":\"response.output_item.%s\",\"output_index\":%d,\"item\":%s}\n\n", event, i, item)
			}
		}
		fmt.Fprintf(w, "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_%d\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":50,\"output_tokens\":20}}}\n\n", len(s.asked))
		s.items = s.items[1:]
	}))
	t.Cleanup(s.Close)
	return s
}

func TestScenario43ResponsesDialect(t *testing.T) {
	t.Parallel()
	server := newResponsesServer(t,
		[]string{
			`{"id":"rs_1","type":"reasoning","encrypted_content":"sealed","summary":[{"type":"summary_text","text":"Look first."}]}`,
			`{"id":"fc_1","type":"function_call","call_id":"call_1","name":"terminal","arguments":"{\"command\":\"echo 4711\"}"}`,
			`{"id":"fc_2","type":"function_call","call_id":"call_2","name":"think","arguments":"{\"thought\":\"hm\"}"}`,
		},
		[]string{`{"id":"fc_3","type":"function_call","call_id":"call_3","name":"finish","arguments":"{\"message\":\"done\"}"}`},
	)
	w := newWorld(t, realTools, withRealModels(func(p *llm.Profile) { p.BaseURL, p.APIMode = &server.URL, "responses" }))
	if res := w.say("go"); res.Answer != "done" || res.Usage.PromptTokens != 100 {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U A(terminal) A(think) O O A(finish) O")
	if len(server.asked) != 2 {
		t.Fatalf("%d requests", len(server.asked))
	}
	second := server.asked[1]
	if second["store"] != false || second["instructions"] == "" {
		t.Errorf("store is %v", second["store"])
	}
	var got []string
	for _, item := range second["input"].([]any) {
		m := item.(map[string]any)
		text := fmt.Sprint(m["type"])
		switch text {
		case "reasoning":
			text += fmt.Sprintf(" %v %v", m["id"], m["encrypted_content"])
		case "function_call":
			text += fmt.Sprintf(" %v %v %v", m["id"], m["call_id"], m["name"])
		case "function_call_output":
			text += fmt.Sprintf(" %v", m["call_id"])
			if m["call_id"] == "call_1" && !strings.Contains(fmt.Sprint(m["output"]), "4711") {
				t.Errorf("output %v", m["output"])
			}
		}
		got = append(got, text)
	}
	want := []string{
		"message", "reasoning rs_1 sealed", "function_call fc_1 call_1 terminal", "function_call fc_2 call_2 think",
		"function_call_output call_1", "function_call_output call_2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the input (-want +got):\n%s", diff)
	}
}
