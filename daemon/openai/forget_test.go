package openai_test

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/ohgw/ohgw/daemon/openai"
)

// A request is kept for as long as its answer takes.
func TestAForgottenBodyIsNotKept(t *testing.T) {
	t.Parallel()
	text := `{"model":"m","metadata":{"chat_id":"c1"},"messages":[
		{"role":"system","content":"Be kind."},
		{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("Hello. ", 1000) + `"},{"type":"image_url","image_url":{"url":"https://a.example/1.png"}}]}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"stop":["x"],"user":"u","stream":true}`
	body := []byte(text)
	kept := weak.Make(&body[0])
	r, err := openai.ParseChat(body, openai.Limits{RemoteImages: true})
	if err != nil {
		t.Fatal(err)
	}
	body = nil
	if got := r.Label("metadata.chat_id"); got != "c1" {
		t.Errorf("label = %q", got)
	}
	r.Forget()
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the body is in memory, and only its request is needed")
	}
	if got := r.Label("metadata.chat_id"); got != "" || r.Model != "m" || !r.Stream || !strings.HasPrefix(r.Text, "Hello.") || len(r.Images) != 1 {
		t.Errorf("request = %+v, label %q", r, got)
	}
}
