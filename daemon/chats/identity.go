package chats

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// ID is what a client calls a chat.
type ID struct {
	Token  string // the id of the client's token
	Model  string // as the client names it
	Source string // where the name stands: a header, or a field of the body
	Value  string
	Rules
}

// Key names the chat of a token and a model. It is a hash: a name may be
// something that should not be read on a disk.
func (id ID) Key() string { return hashOf(id.Token, id.Model, id.Source, id.Value) }

// Place names the chat whatever its model, for a directory of its own. Of chats
// that share an id, nothing but the conversation that one begins with is its own.
func (id ID) Place(conversation string) string {
	parts := []string{id.Token, id.Source, id.Value}
	if id.Shared {
		parts = append(parts, conversation)
	}
	return "chat-" + hashOf(parts...)[:16]
}

func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Finder finds the name of a chat in a request.
type Finder struct {
	// Headers are names of further headers, looked at after those known.
	Headers []string
	// Fields are further fields of the body, with dots between the names.
	Fields []string
}

// The fields of a body that count for a client only if it says so, or if it is
// one of those known to mean a chat by them.
const (
	FieldUser     = "user"
	FieldCacheKey = "prompt_cache_key"
)

// maxValue is the longest name of a chat, in bytes.
const maxValue = 256

// wholeHeader is sent by clients of which it is not known whether they send the
// whole chat each time, or only what is new.
const wholeHeader = "X-OpenHands-Transcript"

// headers lists the headers that name a chat, the most telling first. whole marks
// those of clients that always send the whole chat.
func headers() []struct {
	name  string
	whole bool
} {
	return []struct {
		name  string
		whole bool
	}{
		{"X-OpenWebUI-Chat-Id", true},
		{"X-LibreChat-Conversation-Id", true},
		{"X-Conversation-Id", false},
		{"X-Chat-Id", false},
		{"X-Session-Id", false},
		{"X-Thread-Id", false},
		{"X-Hermes-Session-Id", false},
		{"X-OpenClaw-Session-Key", false},
		{"Session_id", false},
		{"Session-Id", false},
		{"Thread-Id", false},
	}
}

// fields are the fields of a body that name a chat.
func fields() []string {
	return []string{
		"metadata.conversation_id", "metadata.chat_id", "metadata.session_id", "metadata.thread_id",
		"call.id", "chat_id", "session_id", "client_metadata.thread_id",
	}
}

// Find finds the name of the chat that a request belongs to. label gives the
// text at a path in the body, "" if there is none. own are the fields of
// FieldUser and FieldCacheKey that count for this client.
func (f Finder) Find(h http.Header, label func(path string) string, own []string) (ID, bool) {
	id, ok := f.find(h, label, own)
	if !ok {
		return ID{}, false
	}
	switch strings.ToLower(strings.TrimSpace(h.Get(wholeHeader))) {
	case "full":
		id.Whole = true
	case "last":
		id.Whole = false
	}
	// Open WebUI gives all temporary chats of a page one id, and older ones
	// "local"; a channel is one chat of many people.
	id.Shared = strings.HasPrefix(id.Value, "temporary:") || strings.HasPrefix(id.Value, "local:") || id.Value == "local"
	return id, true
}

func (f Finder) find(h http.Header, label func(path string) string, own []string) (ID, bool) {
	for _, header := range headers() {
		if v, ok := named(headerValue(h, header.name)); ok {
			return ID{Source: strings.ToLower(header.name), Value: v, Rules: Rules{Whole: header.whole}}, true
		}
	}
	for _, name := range f.Headers {
		if v, ok := named(headerValue(h, name)); ok {
			return ID{Source: strings.ToLower(name), Value: v}, true
		}
	}
	for _, path := range slices.Concat(fields(), f.Fields) {
		if v, ok := named(label(path)); ok {
			return ID{Source: "body:" + path, Value: v}, true
		}
	}
	if slices.Contains(own, FieldCacheKey) || meansChatByCacheKey(h) {
		if v, ok := named(label(FieldCacheKey)); ok {
			return ID{Source: "body:" + FieldCacheKey, Value: v}, true
		}
	}
	if slices.Contains(own, FieldUser) {
		for _, path := range []string{FieldUser, "safety_identifier"} {
			if v, ok := named(label(path)); ok {
				return ID{Source: "body:" + path, Value: v}, true
			}
		}
	}
	return ID{}, false
}

// headerValue is the value of a header, in whatever form its name came. One
// that came twice names nothing.
func headerValue(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// named reports whether a value names a chat. Templates that had nothing to fill
// in say so in several ways, and unknown ones come as they are.
func named(v string) (string, bool) {
	v = strings.TrimSpace(v)
	switch strings.ToLower(v) {
	case "", "null", "undefined", "new", "none":
		return "", false
	}
	if len(v) > maxValue || strings.Contains(v, "{{") || strings.Contains(v, "${") ||
		strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	return v, true
}

// meansChatByCacheKey reports whether the client is one whose cache key is the
// id of a chat.
func meansChatByCacheKey(h http.Header) bool {
	agent := strings.ToLower(h.Get("User-Agent"))
	return strings.HasPrefix(agent, "codex") || strings.HasPrefix(agent, "zed/") ||
		strings.HasPrefix(strings.ToLower(h.Get("Originator")), "codex")
}
