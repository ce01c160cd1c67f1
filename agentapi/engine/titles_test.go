package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/title"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// titled waits for the title of the world's conversation; "" if there is none in a
// moment.
func titled(t *testing.T, w *world, patient bool) string {
	t.Helper()
	tries := 30
	if patient {
		tries = 1000
	}
	for range tries {
		var meta struct{ Title string }
		data, err := os.ReadFile(filepath.Join(w.dir(), "meta.json"))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			t.Fatalf("meta.json %s, %v", data, err)
		}
		if meta.Title != "" {
			return meta.Title
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// entitlers are the models that were asked for titles.
func entitlers(w *world) (models []string) {
	for _, r := range w.llm.Requests() {
		if len(r.Tools) == 0 {
			models = append(models, r.Model)
		}
	}
	return models
}

func TestTitlesOfConversations(t *testing.T) {
	t.Parallel()
	refused := llmtest.Reply{Status: 401, Body: `{"error":{"message":"no"}}`}
	tests := map[string]struct {
		from    title.Source
		profile string
		once    bool
		reply   llmtest.Reply
		want    string
		asked   string // the model that is asked
	}{
		"none":                    {from: title.None},
		"rule":                    {from: title.Rule, want: "say hi to all of us"},
		"model":                   {from: title.Model, reply: llmtest.Text("🎉 Hi"), want: "🎉 Hi", asked: "test"},
		"profile":                 {from: title.Model, profile: "other", reply: llmtest.Text("Hi"), want: "Hi", asked: "other"},
		"profile that is missing": {from: title.Model, profile: "gone", reply: llmtest.Text("Hi"), want: "Hi", asked: "test"},
		"failure":                 {from: title.Model, reply: refused, want: "say hi to all of us", asked: "test"},
		"empty answer":            {from: title.Model, reply: llmtest.Text(" "), want: "say hi to all of us", asked: "test"},
		"one shot":                {from: title.Model, once: true, want: "say hi to all of us"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *engine.Config) { c.Titles, c.TitleProfile = tt.from, tt.profile })
			w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, tt.reply)
			w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) > 0 }, llmtest.Text("hello"), llmtest.Text("again"))
			if tt.once {
				c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, New: true, Once: true, Profile: "main", Workspace: w.workspace})
				if err != nil {
					t.Fatal(err)
				}
				w.conv = c
			}
			w.say("say hi  to all\nof us")
			if got := titled(t, w, tt.want != ""); got != tt.want {
				t.Errorf("title %q, want %q", got, tt.want)
			}
			w.say("another thing")
			if got := titled(t, w, tt.want != ""); got != tt.want {
				t.Errorf("later: title %q, want %q", got, tt.want)
			}
			models := entitlers(w)
			if tt.asked == "" && len(models) > 0 || tt.asked != "" && (len(models) != 1 || models[0] != tt.asked) {
				t.Errorf("asked for titles: %v, want %q", models, tt.asked)
			}
		})
	}
}

// A model that takes its time for a title holds nothing up: the answer comes before.
func TestATitleHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Titles = title.Model })
	gate := make(chan string)
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Reply{Text: "late", Feed: gate})
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" {
		t.Fatalf("%+v", res)
	}
	if got := titled(t, w, false); got != "" {
		t.Errorf("title %q before its answer", got)
	}
	close(gate)
	if got := titled(t, w, true); got != "late" {
		t.Errorf("title %q", got)
	}
	state, err := w.open().State(w.ctx())
	if err != nil || state.Stats.UsageToMetrics["title"].Usage == nil {
		t.Errorf("the call for the title is not counted: %+v, %v", state.Stats.UsageToMetrics, err)
	}
}
