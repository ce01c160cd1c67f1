package agentserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// tags are what the server keeps for us with a conversation: names of letters
// and digits, values of at most 256 characters.
type tags map[string]string

// The names of our tags.
const (
	tagProfile = "ohgwprofile" // the profile of the agent's LLM
	tagUsage   = "ohgwusage"   // that LLM's usage id: another one means that another client switched it; absent where the server chose it
	tagSystem  = "ohgwsystem"  // length and hash of the system text
)

// newTags are those of a conversation that we make.
func newTags(profile, usage, system string) tags {
	t := withProfile(nil, profile, usage)
	t[tagSystem] = systemMark(system)
	return t
}

// withProfile returns old with another profile. It does not note the system text, because
// another client may have made the conversation.
func withProfile(old tags, profile, usage string) tags {
	t := tags{}
	maps.Copy(t, old)
	t[tagProfile] = profile
	delete(t, tagUsage)
	if usage != "" {
		t[tagUsage] = usage
	}
	return t
}

func systemMark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strconv.Itoa(len(text)) + ":" + hex.EncodeToString(sum[:])
}

// recallSystem finds the text of a mark at the end of the agent's suffix.
func recallSystem(mark, suffix string) (text string, known bool) {
	length, _, ok := strings.Cut(mark, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(suffix) {
		return "", false
	}
	text = suffix[len(suffix)-n:]
	if systemMark(text) != mark {
		return "", false
	}
	return text, true
}

// Mark is what is noted with a conversation.
type Mark struct {
	Profile string  // of its LLM
	System  *string // the text that its system prompt ends with; nil: what was noted stays
	Title   string  // "": the title stays
}

// Mark notes with a conversation that another client has started what Open would have
// noted. The server keeps the note in the tags, where Open finds it.
func (b *Backend) Mark(ctx context.Context, id string, m Mark) error {
	known, err := b.describe(ctx, id)
	if gone(err) {
		return conversationNotFound(id, err)
	}
	if err != nil {
		return b.fault(ctx, "describe the conversation", err)
	}
	in := struct {
		Tags  tags   `json:"tags"`
		Title string `json:"title,omitempty"`
	}{known.Tags, m.Title}
	if m.Profile != "" {
		in.Tags = withProfile(known.Tags, m.Profile, known.Agent.LLM.UsageID)
	}
	if m.System != nil {
		in.Tags[tagSystem] = systemMark(*m.System)
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = b.client.do(limited, request{method: http.MethodPatch, path: conversationPath(id), in: in})
	return b.fault(ctx, "note what the conversation is for", err)
}
