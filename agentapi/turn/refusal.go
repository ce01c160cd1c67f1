package turn

import (
	"cmp"

	"github.com/ohgw/ohgw/agentapi/event"
)

// promptHook is the event of hooks that may refuse a message of the user. It comes
// before the message.
const promptHook = "UserPromptSubmit"

// hooked notes the first hook that refuses the message to come.
func (r *Reader) hooked(e event.Event) {
	h, ok := e.Body.(*event.HookExecution)
	if !ok || h.HookEventType != promptHook || !h.Blocked {
		return
	}
	if r.hook == nil || r.hook.MessageID != h.MessageID {
		r.hook = h
	}
}

// refusing is h if it refused the message with an id.
func refusing(h *event.HookExecution, id string) *event.HookExecution {
	if h == nil || h.MessageID != "" && h.MessageID != id {
		return nil
	}
	return h
}

// refusalOf is the reason of a hook, in the order in which the agent takes it.
func refusalOf(h *event.HookExecution) string {
	return shorten(cmp.Or(h.Reason, h.Stderr, "the hook gave no reason"), maxDetail)
}
