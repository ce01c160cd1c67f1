package daemon_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// Whatever is sent, the answer is a completion, a stream or the envelope, and
// never a failure of ours.
func FuzzChatBody(f *testing.F) {
	for _, seed := range []string{
		apitest.Ask("hi"), apitest.Ask("hi", apitest.Streamed, `"stream_options":{"include_usage":true}`),
		apitest.Messages(`{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`, `"n":1,"tools":[],"tool_choice":"auto","response_format":{"type":"text"}`),
		apitest.Messages(`{"role":"user","content":"\ud800\u0000"}`), `{}`, `[[[[`, `{"model":1e999}`, "\xff\xfe",
		apitest.Ask("hi", `"response_format":{"type":"json_object"}`),
		apitest.Ask("hi", apitest.Streamed, `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","required":["b"]}}}}}`),
		apitest.Messages(`{"role":"tool","content":null},{"role":"assistant"},{"role":"user","content":"x"}`, `"x":{"y":[{}]}`),
	} {
		f.Add(seed)
	}
	g := apitest.Serve(f, daemontest.New("default"))
	f.Fuzz(func(t *testing.T, body string) {
		h := *g
		h.T = t
		out := h.Chat(body, "Content-Type", "application/json")
		switch {
		case out.Status == http.StatusBadGateway && strings.Contains(out.Body, `"code":"invalid_structured_output"`): // there is no model
		case out.Status >= 500:
			t.Fatalf("status %d: %s", out.Status, out.Body)
		case out.Status >= 400:
			if !strings.HasPrefix(out.Body, `{"error":{"message":`) {
				t.Fatalf("no envelope: %s", out.Body)
			}
			apitest.Valid(t, "error-response", []byte(out.Body))
		case strings.HasPrefix(out.Header.Get("Content-Type"), "text/event-stream"):
			if f := apitest.Parse(t, out); f.End != "[DONE]" && !strings.Contains(f.End, `"code":"invalid_structured_output"`) {
				t.Fatalf("the stream ended with %q", f.End)
			}
		default:
			apitest.Completed(t, out)
		}
	})
}
