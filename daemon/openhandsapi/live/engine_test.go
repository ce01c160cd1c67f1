package live_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestATurnOfTheEmbeddedAgent is seen on both sockets in the same order.
func TestATurnOfTheEmbeddedAgent(t *testing.T) {
	t.Parallel()
	cfg := enginetest.Config(t, llmtest.New(t).URL, enginetest.NewProfiles())
	cfg.Files = enginetest.Disk{}
	backend := engine.New(cfg)
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	c, _, err := backend.Control().Start(t.Context(), control.Start{Workspace: t.TempDir(), Agent: json.RawMessage(`{"llm":{"model":"openai/m","stream":true}}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := &world{id: c.Info().ID}
	w.url, w.server = serve(t, live.Config{Engine: backend.Control()})
	events, session := w.dial(t, keyed), w.session(t, "")
	names(t, events, 1)
	wantFrames(t, session, "sync - -", "transient state idle")
	say(t, events, `{"role":"user","content":"hi"}`)
	var log []string // of the events socket, without the text that is streamed
	text := ""
	for len(log) == 0 || log[len(log)-1] != "state finished" {
		e := next(t, events)
		if e.Persisted() || name(e) == "state finished" {
			log = append(log, name(e))
		} else if e.Kind() == "StreamingDeltaEvent" {
			text += name(e)[len("delta "):]
		}
	}
	for _, want := range []string{"SystemPromptEvent", "user hi", "execution_status running", "agent You said: hi", "execution_status finished", "state finished"} {
		at := slices.Index(log, want)
		if at < 0 {
			t.Fatalf("no %s in the rest of %q", want, log)
		}
		log = log[at+1:]
	}
	streamed, number := "", 0
	for {
		f := frame(t, session)
		switch f.Type {
		case "durable":
			if *f.Seq != number {
				t.Errorf("%s in the place of %d", f, number)
			}
			number++
		case "delta":
			streamed += f.Content
		}
		if f.String() == "transient state finished" {
			break
		}
	}
	if text != "You said: hi" || streamed != text {
		t.Errorf("streamed %q and %q", text, streamed)
	}
}
