package conversation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// A question is answered from the history, also while the agent works, and leaves
// nothing but its tokens.
func TestAQuestionLeavesNoEvent(t *testing.T) {
	t.Parallel()
	running, goOn := make(chan struct{}), make(chan struct{})
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("q1", "It looks."), answer("r2", "Done."), answer("q2", "It is done.")}}, nil)
	w.look = func(context.Context) (string, error) {
		close(running)
		<-goOn
		return "seen", nil
	}
	w.send("go")
	<-running
	if got, err := w.conv.Ask(t.Context(), "what does it do?"); got != "It looks." || err != nil {
		t.Errorf("the answer is %q, %v", got, err)
	}
	close(goOn)
	want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "look is called as c1", "c1 has a result", "agent says Done.", "status finished")
	if got, err := w.conv.Ask(t.Context(), "and now?"); got != "It is done." || err != nil {
		t.Errorf("the answer is %q, %v", got, err)
	}
	asked := w.model.requests()[3].Messages
	if last := event.PlainText(asked[len(asked)-1].Content); !strings.Contains(last, "and now?") || asked[0].Role != "system" {
		t.Errorf("the model was shown %q, first a message of %s", last, asked[0].Role)
	}
	if len(w.model.requests()[3].Tools) == 0 {
		t.Error("the model was not told the tools")
	}
}

func TestAQuestionBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("q1", "A test."), answer("r1", "Hello.")}}, nil)
	if got, err := w.conv.Ask(t.Context(), "what are you?"); got != "A test." || err != nil {
		t.Errorf("the answer is %q, %v", got, err)
	}
	if m := w.model.requests()[0].Messages; len(m) != 2 || m[0].Role != "system" {
		t.Errorf("the model was shown %v", m)
	}
	want(t, w.play("hi"), "SystemPromptEvent", "user says hi", "status running", "agent says Hello.", "status finished")
}

func TestAQuestionThatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{fails("LLMAuthenticationError"), answer("q1", "")}}, nil)
	for range 2 {
		if got, err := w.conv.Ask(t.Context(), "well?"); got != "" || !errors.Is(err, agentapi.ErrRefused) {
			t.Errorf("the answer is %q, %v; want ErrRefused", got, err)
		}
	}
	if err := w.conv.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.conv.Ask(t.Context(), "well?"); !errors.Is(err, agentapi.ErrUnavailable) {
		t.Errorf("of a closed conversation: %v, want ErrUnavailable", err)
	}
}
