package daemon_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/daemontest"
)

// Whatever is sent, the answer is a completion, a stream or the envelope, and
// never a failure of ours.
func FuzzChatBody(f *testing.F) {
	for _, seed := range []string{
		ask("hi"), ask("hi", streamed, `"stream_options":{"include_usage":true}`),
		messages(`{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`, `"n":1,"tools":[],"tool_choice":"auto","response_format":{"type":"text"}`),
		messages(`{"role":"user","content":"\ud800\u0000"}`), `{}`, `[[[[`, `{"model":1e999}`, "\xff\xfe",
		ask("hi", `"response_format":{"type":"json_object"}`),
		ask("hi", streamed, `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","required":["b"]}}}}}`),
		messages(`{"role":"tool","content":null},{"role":"assistant"},{"role":"user","content":"x"}`, `"x":{"y":[{}]}`),
	} {
		f.Add(seed)
	}
	g := serve(f, daemontest.New("default"))
	f.Fuzz(func(t *testing.T, body string) {
		h := *g
		h.t = t
		out := h.chat(body, "Content-Type", "application/json")
		switch {
		case out.status == http.StatusBadGateway && strings.Contains(out.body, `"code":"invalid_structured_output"`): // there is no model
		case out.status >= 500:
			t.Fatalf("status %d: %s", out.status, out.body)
		case out.status >= 400:
			if !strings.HasPrefix(out.body, `{"error":{"message":`) {
				t.Fatalf("no envelope: %s", out.body)
			}
			valid(t, "error-response", []byte(out.body))
		case strings.HasPrefix(out.header.Get("Content-Type"), "text/event-stream"):
			if f := parse(t, out); f.end != "[DONE]" && !strings.Contains(f.end, `"code":"invalid_structured_output"`) {
				t.Fatalf("the stream ended with %q", f.end)
			}
		default:
			completed(t, out)
		}
	})
}
