package chats

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/uuid"
)

// Reserve notes the turn before its run is asked for, where gateways share the chat: so
// no two of them decide without knowing of each other. With ErrChanged another one was
// faster, and the request enters again once the visit is closed. Other errors are
// ErrUnreadable. The caller has not settled yet. A nil visit is that of a request without a
// chat.
func (v *Visit) Reserve() error {
	if v == nil || v.r.shared == nil || v.settled || v.reserved {
		return nil
	}
	if !v.chat.loaded { // what it was decided by could not be stored
		return ErrChanged
	}
	v.id = uuid.New()
	v.commit()
	err := v.r.shared.flush(v.chat, nil)
	if err == nil {
		v.reserved = true
		return nil
	}
	v.forgo()
	if errors.Is(err, ErrChanged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// sign notes whose the turn is. It is false where the turn is in the chat already. The
// caller holds the chat.
func (v *Visit) sign(own *Turn) bool {
	if _, at := v.own(); at >= 0 {
		return false
	}
	own.visit, own.gateway = v.id, v.r.shared.store.Self()
	if v.chat.drafts == nil {
		v.chat.drafts = make(map[string]*draft)
	}
	v.chat.drafts[v.id] = v.draft
	return true
}

// forgo lets go of what commit took. The caller holds the chat.
func (v *Visit) forgo() {
	delete(v.chat.drafts, v.id)
	v.chat.underway = slices.DeleteFunc(v.chat.underway, func(u underway) bool { return u.draft == v.draft })
	v.r.release(v.chat)
}

// retract takes the turn back: the request has no run of its own. The caller holds the
// chat.
func (v *Visit) retract() {
	v.reserved = false
	v.r.change(v.chat, v.takeBack)
	v.forgo()
}

// takeBack takes the turn out of its branch. The caller holds the chat.
func (v *Visit) takeBack() *branch {
	b, at := v.own()
	if at < 0 {
		return nil
	}
	if b.Turns = slices.Delete(b.Turns, at, at+1); len(b.Turns) == 0 && v.plan.Kind != Continued {
		v.chat.Branches = slices.DeleteFunc(v.chat.Branches, func(other *branch) bool { return other == b })
	}
	return b
}

// RunsIn notes that the run of the request goes on in another conversation than was
// planned: a gateway that died had begun it there. The caller has not settled yet. A nil
// visit is that of a request without a chat.
func (v *Visit) RunsIn(conversation string) {
	if v == nil || conversation == v.Conversation || !v.reserved {
		return
	}
	v.r.change(v.chat, v.takeBack)
	v.forgo()
	v.Conversation = conversation
	v.commit()
	v.r.change(v.chat, func() *branch {
		v.place()
		return v.chat.find(v.Conversation)
	})
}
