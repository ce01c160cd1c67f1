package openai

import "strings"

// ConversationPrefix goes before the UUID of a conversation in OpenAI's API.
const ConversationPrefix = "conv_"

// TrimConversationID is the id of a conversation without that.
func TrimConversationID(s string) string { return strings.TrimPrefix(s, ConversationPrefix) }

// Conversation is OpenAI's object of that name.
type Conversation struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`     // "conversation"
	CreatedAt int64             `json:"created_at"` // seconds
	Metadata  map[string]string `json:"metadata"`   // of the client; never null
	// Extension is what only ohgw knows.
	Extension ConversationExtension `json:"ohgw"`
}

// ConversationExtension says what a conversation is about.
type ConversationExtension struct {
	Title   string `json:"title,omitempty"`
	Profile string `json:"profile,omitempty"`
}

// NewConversation makes one of its UUID and the second in which it was made.
func NewConversation(id string, created int64, metadata map[string]string, extension ConversationExtension) Conversation {
	if metadata == nil {
		metadata = map[string]string{}
	}
	return Conversation{ID: ConversationPrefix + id, Object: "conversation", CreatedAt: created, Metadata: metadata, Extension: extension}
}

// DeletedConversation is the answer to a DELETE.
type DeletedConversation struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // "conversation.deleted"
	Deleted bool   `json:"deleted"`
}

// NewDeletedConversation makes one of a UUID.
func NewDeletedConversation(id string) DeletedConversation {
	return DeletedConversation{ID: ConversationPrefix + id, Object: "conversation.deleted", Deleted: true}
}

// CondensedConversation is the answer to a request for a summary.
type CondensedConversation struct {
	ID        string `json:"id"`
	Object    string `json:"object"`    // "conversation.condense"
	Condensed bool   `json:"condensed"` // false: there was nothing to summarize
	// Context is left out where it is not known.
	Context *CondensedContext `json:"context,omitempty"`
}

// CondensedContext is how much of a model's context a conversation takes, in
// tokens: before the summary, and estimated with it.
type CondensedContext struct {
	TokensBefore int64 `json:"tokens_before"`
	Tokens       int64 `json:"tokens"`
}

// NewCondensedConversation makes one of a UUID, and of what the context took; 0 is unknown.
func NewCondensedConversation(id string, condensed bool, before, after int64) CondensedConversation {
	c := CondensedConversation{ID: ConversationPrefix + id, Object: "conversation.condense", Condensed: condensed}
	if before > 0 && after > 0 {
		c.Context = &CondensedContext{TokensBefore: before, Tokens: after}
	}
	return c
}
