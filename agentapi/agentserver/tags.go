package agentserver

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// tags are what the server keeps for us with a conversation: names of letters
// and digits, values of at most 256 characters.
type tags map[string]string

// The names of our tags.
const (
	tagProfile = "ohgwprofile" // the profile of the agent's LLM
	tagUsage   = "ohgwusage"   // that LLM's usage id: another one means that somebody else switched; absent where the server chose it
	tagSystem  = "ohgwsystem"  // length and hash of the system text
)

// remember adds to old what has to be known about a conversation tomorrow.
func remember(old tags, profile, usage, system string) tags {
	t := tags{}
	for name, value := range old {
		t[name] = value
	}
	t[tagProfile] = profile
	delete(t, tagUsage)
	if usage != "" {
		t[tagUsage] = usage
	}
	if system != "" || t[tagSystem] == "" {
		t[tagSystem] = systemMark(system)
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
	return text, systemMark(text) == mark
}
