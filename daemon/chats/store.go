package chats

import (
	"context"
	"strings"
	"time"
)

// suffix ends the name of a chat's record.
const suffix = ".json"

// keepFor is how long a chat is remembered after its last message. Its
// conversations stay where they are.
const keepFor = 180 * 24 * time.Hour

const (
	// recordVersion is the version of the files this package writes. It reads
	// oldVersion, too, which has no changes after the record.
	recordVersion = 2
	oldVersion    = 1
)

// record is a chat on disk.
type record struct {
	Version int `json:"version"`
	// Whole: a request of the chat had a history, so its client sends one.
	Whole    bool      `json:"whole,omitempty"`
	Branches []*branch `json:"branches"`
	// Gone are the last answers of conversations that were forgotten because
	// there were too many.
	Gone []Digest `json:"gone,omitempty"`
}

// branch is a conversation of a chat. Chats of UIs are trees: going back to an
// earlier message makes a branch, and the user may return to the old one.
type branch struct {
	Conversation string `json:"conversation_id"`
	// Workspace is where the conversation works; empty while that is not known.
	Workspace string    `json:"workspace,omitempty"`
	Used      time.Time `json:"used"`
	Turns     []Turn    `json:"turns"`
}

// sweep forgets chats that have not been used for a long time.
func (s store) sweep(ctx context.Context, now time.Time) error {
	return s.files.Each(ctx, func(name string, written time.Time) error {
		if !strings.HasSuffix(name, suffix) || now.Sub(written) < keepFor {
			return nil
		}
		return s.files.Remove(name)
	})
}
