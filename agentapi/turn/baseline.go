package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Baseline is where a turn starts: all that is needed to follow it later, from
// another process too.
type Baseline struct {
	// After is the last event before the turn, for [agentapi.Conversation.Watch].
	After string `json:"after"`
	// Usage are the conversation's totals before the turn.
	Usage Usage `json:"usage"`
	// Message is a digest of the turn's message: the first message after After may
	// be another one, if this one never arrived. Empty: it is the first one.
	Message string `json:"message,omitempty"`
	// Accepts says that the turn accepts what waits for confirmation, and has no
	// message.
	Accepts bool `json:"accepts,omitempty"`
	// Twice says that the message may come twice before its run: several gateways can
	// send it, where one takes the turn over from another.
	Twice bool `json:"twice,omitempty"`
}

// secretMark stands in a stored message where a secret was.
const secretMark = "<secret-hidden>"

// has reports whether a message of the user can be that of the turn.
func (b Baseline) has(m *event.Message) bool {
	content := m.LLMMessage.Content
	masked := func(c event.Content) bool { return strings.Contains(c.Text, secretMark) }
	return b.Message == "" || b.Message == digest(content) || slices.ContainsFunc(content, masked)
}

// digest returns a short hash of the texts of a message. It only has to distinguish the
// messages of one conversation.
func digest(content []event.Content) string {
	var texts []string
	for _, c := range content {
		if c.Type == event.TypeText {
			texts = append(texts, c.Text)
		}
	}
	data, err := json.Marshal(texts)
	if err != nil { // strings have a JSON form
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
