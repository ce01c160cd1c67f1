package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// A system prompt writes its own JSON, so that its text is copied once.
func TestASystemPromptIsEncodedAsItsFieldsSay(t *testing.T) {
	t.Parallel()
	text, images := event.Text("a \"quoted\" <text> & \u2028 more\n\xff"), event.Images("https://a.example/1.png")
	text.CachePrompt = true
	mixed := event.Content{Type: event.TypeText, Text: "x", ImageURLs: []string{"data:"}}
	none := event.Text("")
	tools := []json.RawMessage{json.RawMessage(`{"kind":"TerminalTool","title":"<&>"}`), json.RawMessage(`{}`)}
	for name, p := range map[string]event.SystemPrompt{
		"empty":           {},
		"no tools":        {SystemPrompt: text, Tools: []json.RawMessage{}},
		"one tool":        {SystemPrompt: none, Tools: tools[:1]},
		"dynamic context": {SystemPrompt: text, Tools: tools, DynamicContext: &none},
		"images":          {SystemPrompt: mixed, Tools: tools, DynamicContext: &images},
	} {
		type fields event.SystemPrompt
		want, err := plainjson.Marshal(fields(p))
		if err != nil {
			t.Fatal(err)
		}
		header := `{"id":"e1","timestamp":"2026-01-02T03:04:05","source":"agent",`
		got, err := event.New("e1", "2026-01-02T03:04:05", event.SourceAgent, "", &p).MarshalJSON()
		if wanted := header + string(want[1:len(want)-1]) + `,"kind":"SystemPromptEvent"}`; err != nil || string(got) != wanted {
			t.Errorf("%s: JSON = %s, error %v, want %s", name, got, err, wanted)
		}
	}
}

func BenchmarkEncodeSystemPrompt(b *testing.B) {
	p := event.SystemPrompt{SystemPrompt: event.Text(strings.Repeat("Be kind. ", 1000)), Tools: make([]json.RawMessage, 6)}
	for i := range p.Tools {
		p.Tools[i] = json.RawMessage(`{"description":"` + strings.Repeat("A tool. ", 100) + `"}`)
	}
	e := event.New("e1", "2026-01-02T03:04:05", event.SourceAgent, "", &p)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
