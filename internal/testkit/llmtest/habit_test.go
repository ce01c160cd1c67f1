package llmtest_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// raw posts a question without saying what encodings are understood, and gives
// the body as it comes.
func raw(t *testing.T, base, script string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(question(true, script)))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Accept-Encoding", "identity") // else the client hides what was compressed
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var from io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(res.Body); err != nil {
			t.Fatal(err)
		}
	}
	body, _ := io.ReadAll(from)
	return res, string(body)
}

func TestHabits(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	const all = `[[think Let me.]] [[say Well.]] [[tool f {"a":1}]] [[tool g {}]] `
	tests := map[llmtest.Habit][]string{ // parts of the body; with "!" such as must not be there
		"":                       {`data: {"id":"chatcmpl-`, `"reasoning_content":"Let "`, `"index":1`, `"prompt_tokens":100,`, "[DONE]", "!PROCESSING"},
		llmtest.KeepAlive:        {": PROCESSING\n\ndata: {"},
		llmtest.EmptyChoices:     {`"choices":[]`},
		llmtest.NoDone:           {`"finish_reason":"tool_calls"`, "!DONE"},
		llmtest.NoFinish:         {"[DONE]", `!"finish_reason":"`},
		llmtest.Whole:            {`"object":"chat.completion"`, "!data:"},
		llmtest.Gzip:             {"[DONE]"},
		llmtest.ReasoningField:   {`"reasoning":"Let "`, "!reasoning_content", "!reasoning_details"},
		llmtest.ReasoningDetails: {`"reasoning_details":[{"format":"unknown","index":0,"text":"Let "`},
		llmtest.ThinkTags:        {`"content":"\u003cthink\u003e"`, `"content":"me."`, "!reasoning_content"},
		llmtest.ThinkParts:       {`"content":[{"thinking":[{"text":"Let "`},
		llmtest.UsageFloats:      {`"prompt_tokens":100.0`, `"cost":0.25`},
		llmtest.UsageTexts:       {`"prompt_tokens":"100"`, `"cost":"0.25"`},
		llmtest.UsageObject:      {`"cost":{`},
		llmtest.UsageNulls:       {`"prompt_tokens_details":null`},
		llmtest.UsageAlways:      {`"usage":{`},
		llmtest.UsageNothing:     {`"usage":"unknown"`},
		llmtest.ObjectArguments:  {`"arguments":{"a":1}`},
		llmtest.NoIndex:          {`"tool_calls":[{"id":`},
		llmtest.OneIndex:         {`"name":"g"`, `!"index":1`},
		llmtest.Signed:           {`"extra_content":{"google":{"thought_signature":"`},
	}
	for _, habit := range append(llmtest.Habits(), "") {
		if len(tests[habit]) == 0 {
			t.Errorf("no test for the habit %q", habit)
		}
		_, body := raw(t, llm.URL, all+"[[habit "+string(habit)+"]]")
		for _, part := range tests[habit] {
			part, absent := strings.CutPrefix(part, "!")
			if strings.Contains(body, part) == absent {
				t.Errorf("%q: %q is there: %v\n%s", habit, part, absent, body)
			}
		}
	}
}

func TestIDsOfAScriptMayRepeat(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	script := "[[id r1]] [[tool f {}]] [[tool g {}]] [[callid terminal:0]]"
	for range 2 {
		_, body := raw(t, llm.URL, script)
		for _, part := range []string{`"id":"r1"`, `"id":"terminal:0"`, `"id":"terminal:0:2"`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s is missing in\n%s", part, body)
			}
		}
	}
}

func TestEndingsAndPages(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	if _, body := raw(t, llm.URL, "[[say half]] [[end]]"); !strings.Contains(body, "half") || strings.Contains(body, "DONE") {
		t.Errorf("end: %s", body)
	}
	if _, body := raw(t, llm.URL, "[[say half]] [[error 502 gone]]"); !strings.Contains(body, `"error":{"code":502,"message":"gone"}`) {
		t.Errorf("error: %s", body)
	}
	if _, body := raw(t, llm.URL, "[[error overload-anthropic]]"); !strings.Contains(body, "overloaded_error") {
		t.Errorf("error by name: %s", body)
	}
	if res, body := raw(t, llm.URL, "[[html]]"); res.StatusCode != http.StatusOK || !strings.Contains(body, "<html>") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("html: %v %s", res, body)
	}
	if res, body := raw(t, llm.URL, "[[fail context-mistral]] [[header Retry-After 3]]"); res.StatusCode != http.StatusBadRequest || res.Header.Get("Retry-After") != "3" || !strings.Contains(body, "too large for model") {
		t.Errorf("fail by name: %v %s", res, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, llm.URL+"/chat/completions", strings.NewReader(question(true, "[[drop]]")))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Errorf("drop: %v", res.Status)
	}
}

func TestFailuresAreThoseOfManyServers(t *testing.T) {
	t.Parallel()
	seen, count := map[string]bool{}, map[llmtest.Class]int{}
	for _, f := range llmtest.Failures() {
		if seen[f.Name] || !strings.HasPrefix(f.Name, string(f.Class)+"-") {
			t.Errorf("the name %q repeats, or is not of the class %s", f.Name, f.Class)
		}
		seen[f.Name] = true
		count[f.Class]++
		if f.Status < 400 || f.Header.Get("Content-Type") == "" && strings.HasPrefix(f.Body, "{") && !json.Valid([]byte(f.Body)) {
			t.Errorf("%s: status = %d, body %s", f.Name, f.Status, f.Body)
		}
	}
	if count[llmtest.ContextClass] < 30 || count[llmtest.RequestClass] < 10 {
		t.Errorf("too few: %v", count)
	}
}
