package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Mark tells the programs of one conversation from all others. It is a variable
// of their environment, which names the state, the process that started them and
// the conversation. The zero Mark marks nothing.
type Mark struct {
	// State is the directory with the conversations, absolute.
	State string
	// Conversation is its id; of what conversations share, any other word.
	Conversation string
}

// markVariable is the variable with the mark.
const markVariable = "AI_AGENT_PROGRAM"

// maker is the process that has started a program: its number, when it was
// started, in the system's ticks, and in which PID namespace the number counts.
type maker struct {
	namespace string
	pid       int
	start     uint64
}

// prefix begins the variables of all programs of a state.
func prefix(state string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(state)))
	return markVariable + "=" + hex.EncodeToString(sum[:8]) + ":"
}

// prefix begins the variables of the programs of a maker.
func (m maker) prefix(state string) string {
	return fmt.Sprintf("%s%s:%d:%d:", prefix(state), m.namespace, m.pid, m.start)
}

// makerOf reads the maker in a variable of a state.
func makerOf(entry, state string) (maker, bool) {
	rest, ok := strings.CutPrefix(entry, prefix(state))
	parts := strings.SplitN(rest, ":", 4)
	if !ok || len(parts) != 4 {
		return maker{}, false
	}
	pid, errPID := strconv.Atoi(parts[1])
	start, errStart := strconv.ParseUint(parts[2], 10, 64)
	return maker{parts[0], pid, start}, errPID == nil && errStart == nil && pid > 0
}

// entry is the variable of a mark for the programs of this process; "" if they
// cannot be found by it.
func (m Mark) entry() string {
	self, ok := ourselves()
	if !ok || m.State == "" {
		return ""
	}
	return self.prefix(m.State) + m.Conversation
}
