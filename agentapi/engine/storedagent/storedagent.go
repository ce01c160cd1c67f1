// Package storedagent is the agent of a conversation as JSON, in the form in which OpenHands
// stores it: how it is made of a profile and settings, what is added to it, and which of its
// members are secret. It reads no file but skills, and keeps members that it does not know.
package storedagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// The keys of a conversation's first models in its statistics.
const (
	AgentUsage     = "agent"
	CondenserUsage = "condenser"
)

// Agent is the part of a stored agent that the engine reads and writes; what
// else is in it is kept.
type Agent map[string]json.RawMessage

// Set replaces a member.
func (a Agent) Set(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only types that have a form in JSON come here
	}
	a[name] = data
}

// Object is a member that is an object; an empty one for anything else.
func (a Agent) Object(name string) Agent {
	o := Agent{}
	if json.Unmarshal(a[name], &o) != nil || o == nil {
		return Agent{}
	}
	return o
}

// Text is a member that is a text; "" for anything else.
func (a Agent) Text(name string) string { return textOf(a[name]) }

func textOf(data json.RawMessage) (s string) {
	if len(data) > 0 && data[0] == '"' {
		_ = json.Unmarshal(data, &s) // another type counts as none
	}
	return s
}

// SuffixGap is between the texts of a suffix.
const SuffixGap = "\n\n"

// SystemMark is the length and the hash of a system text, by which [RecallSystem] finds it.
func SystemMark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strconv.Itoa(len(text)) + ":" + hex.EncodeToString(sum[:])
}

// RecallSystem finds the system text of a mark at the end of the agent's
// suffix.
func RecallSystem(mark, suffix string) (text string, known bool) {
	length, _, ok := strings.Cut(mark, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(suffix) {
		return "", false
	}
	text = suffix[len(suffix)-n:]
	return text, SystemMark(text) == mark
}
