package agentserver

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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
