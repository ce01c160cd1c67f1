package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/llmtest"
)

// shown is a request as one text, a line for each message.
func shown(r *llmtest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s %v\n", m.Role, m.Text, m.Calls)
	}
	return b.String()
}

func TestCondensedConversationStaysCondensedWhenItIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(80, 2))
	for i := range 6 {
		w.llm.Reply(terminal(fmt.Sprintf("echo call %d", i)))
	}
	w.llm.Reply(llmtest.ContextTooLong(), llmtest.Text("THE SUMMARY"), llmtest.Finish("ok"), llmtest.Text("again"))
	w.say("go")
	before := shown(w.llm.Await(t, 9))
	w.close()
	w.start()
	w.say("and now")
	after := shown(w.llm.Await(t, 10))
	if !strings.Contains(after, "THE SUMMARY") || !strings.HasPrefix(after, before) {
		t.Errorf("the model was shown\n%s\nand after a restart\n%s", before, after)
	}
}
