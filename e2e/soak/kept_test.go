//go:build e2e && soak

package soak_test

import (
	"context"
	"fmt"
	"testing"
)

// longest is how many turns a conversation gets before there is a new one.
const longest = 12

// converse goes on in a conversation by its id.
func (a *actor) converse(ctx context.Context) {
	k := a.take(func(k *kept) bool { return k.conversation != "" })
	if k == nil {
		k = &kept{daemon: a.open, conversation: newID(a.r)}
		a.kept = append(a.kept, k)
	}
	t := a.add("conversation", 1)
	k.sent++
	r := send(ctx, k.daemon, ask{
		messages: []message{user(a.script(t, "", ""))}, stream: a.r.IntN(2) == 0,
		header: map[string]string{"X-OpenHands-ServerConversation-ID": k.conversation},
	})
	if a.judge(t, r) {
		k.acked = append(k.acked, t)
	}
}

// chat goes on in a chat of a UI that sends the whole chat each time. At times
// the user changes the last message, or wants another answer to it.
func (a *actor) chat(ctx context.Context) {
	k := a.take(func(k *kept) bool { return k.chat != "" })
	if k == nil {
		k = &kept{daemon: a.open, chat: newID(a.r)}
		a.kept = append(a.kept, k)
	}
	k.sent++
	var t *turn
	var text string
	switch n := len(k.transcript); {
	case n >= 2 && a.r.IntN(6) == 0: // another answer
		t, text = k.acked[len(k.acked)-1], k.transcript[n-2].Content.(string)
		k.transcript, k.acked = k.transcript[:n-2], k.acked[:len(k.acked)-1]
		a.mu.Lock()
		t.most++
		a.mu.Unlock()
		a.note("chat", "regenerated")
	case n >= 2 && a.r.IntN(5) == 0: // another message
		k.transcript, k.acked = k.transcript[:n-2], k.acked[:len(k.acked)-1]
		a.note("chat", "edited")
	}
	if t == nil {
		t = a.add("chat", 1)
		text = a.script(t, "", "")
	}
	messages := append(append([]message(nil), k.transcript...), user(text))
	r := send(ctx, k.daemon, ask{messages: messages, stream: true, header: map[string]string{
		"X-OpenWebUI-Chat-Id": k.chat, "X-OpenWebUI-Message-Id": newID(a.r),
	}})
	if a.judge(t, r) {
		k.acked = append(k.acked, t)
		k.transcript = append(messages, message{"assistant", r.text})
	}
}

// take returns a conversation to continue.
func (a *actor) take(fits func(*kept) bool) *kept {
	for i := len(a.kept) - 1; i >= 0; i-- {
		if k := a.kept[i]; fits(k) && k.sent < longest {
			return k
		}
	}
	return nil
}

// verify goes on in a conversation once more: the LLM must be shown every turn
// that was acknowledged in it.
func (b *books) verify(ctx context.Context, t *testing.T, a *actor, k *kept) {
	t.Helper()
	last := b.add("last turn", 1)
	b.watch(last)
	q := ask{messages: []message{user(a.script(last, "", ""))}}
	name := k.conversation
	if k.chat != "" {
		name = "chat " + k.chat
		q.messages = append(append([]message(nil), k.transcript...), q.messages...)
		q.header = map[string]string{"X-OpenWebUI-Chat-Id": k.chat, "X-OpenWebUI-Message-Id": newID(a.r)}
	} else {
		q.header = map[string]string{"X-OpenHands-ServerConversation-ID": k.conversation}
	}
	r := send(ctx, k.daemon, q)
	if !a.judge(last, r) {
		t.Errorf("%s: the last turn: %s %s %v", name, r.outcome(), r.raw, r.err)
		return
	}
	b.collect()
	body := b.request(last)
	var lost []string
	for _, turn := range k.acked {
		if !shows(body, turn) {
			lost = append(lost, turn.mark)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%s: of %d acknowledged turns the LLM is not shown %v", name, len(k.acked), fmt.Sprint(lost))
	}
}
