//go:build unix

package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The output of a command that the user stops is kept: the user sees how far it got, and so
// does the model.
func TestWhatAStoppedCommandHasWrittenIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ command, want, none string }{
		"lines":              {command: "echo built 3 of 7; touch ready; sleep 300", want: "built 3 of 7"},
		"no end of a line":   {command: "printf 'downloading 41 %%'; touch ready; sleep 300", want: "downloading 41 %"},
		"ignores Ctrl-C":     {command: "trap '' INT; echo stubborn; touch ready; sleep 300", want: "stubborn"},
		"a secret of a word": {command: "echo key=$HIDDEN_WORD; touch ready; sleep 300", want: "key=<secret-hidden>", none: "s3cr3t-of-the-user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools, func(c *engine.Config) {
				c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"agent_context":{"secrets":{"HIDDEN_WORD":"s3cr3t-of-the-user"}}}`)})
			})
			w.llm.Reply(terminal(tt.command), llmtest.Text("on it"))
			over := w.background("go")
			w.awaitFile("ready")
			if err := w.open().Interrupt(w.ctx()); err != nil {
				t.Fatal(err)
			}
			<-over
			w.expect("SP U A(terminal) E I")
			w.close()
			w.start()
			text := ""
			for _, e := range w.log() {
				if failed, ok := e.Body.(*event.AgentError); ok {
					text = failed.Error
				}
			}
			w.say("go on")
			asked := ""
			for _, m := range w.llm.Await(t, 2).Messages {
				asked += m.Text + "\n"
			}
			for where, got := range map[string]string{"the log": text, "the model": asked} {
				if !strings.Contains(got, tt.want) || tt.none != "" && strings.Contains(got, tt.none) {
					t.Errorf("%s has %q", where, got[max(0, len(got)-400):])
				}
			}
		})
	}
}
