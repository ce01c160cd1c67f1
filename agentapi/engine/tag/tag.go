// Package tag has the notes of ohgw in the tags of a conversation, which OpenHands' programs
// keep as they are, and the rules for the tags of others.
package tag

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/pattern"
)

// The tags of ohgw.
const (
	// System keeps length and hash of the system text, which itself stands at
	// the end of the agent's suffix.
	System = "ohgwsystem"
	// Agent remembers the agent of a conversation. Budget and Tokens remember what a run
	// may take, in US dollars and in tokens.
	Agent  = "ohgwagent"
	Budget = "ohgwbudget"
	Tokens = "ohgwtokens"
	// Access is Read where a conversation does not change its workspace.
	Access = "ohgwaccess"
	// PluginHooks marks a conversation whose hook_config has hooks of plugins only: the
	// user's own hooks stay in force beside them.
	PluginHooks = "ohgwpluginhooks"
	// AgentHooks marks a conversation whose hook_config has the hooks of the user's own
	// definition of its agent: the user's other hooks stay in force beside them.
	AgentHooks = "ohgwagenthooks"
	// Task and Subagent remember the task of a sub-agent's conversation.
	Task     = "ohgwtask"
	Subagent = "ohgwsubagent"
	// Call is the call of the parent that waits with a sub-agent for a person.
	Call = "ohgwcall"
)

// Read is the value of Access.
const Read = "read"

// The bounds of OpenHands for a tag, and what ohgw's own begin with.
const (
	maxValue = 256
	own      = "ohgw"
)

var validName = pattern.Of(`^[a-z0-9]+$`)

// Check refuses tags that OpenHands would refuse, and those of ohgw itself.
func Check(tags map[string]string) error {
	for name, value := range tags {
		switch {
		case !validName().MatchString(name):
			return apierr.Refused(fmt.Sprintf("%q is not a name of a tag; use only lower case letters and digits.", name), nil)
		case len([]rune(value)) > maxValue:
			return apierr.Refused(fmt.Sprintf("The tag %s is longer than %d characters; shorten it.", name, maxValue), nil)
		case isOwn(name):
			return apierr.Refused(fmt.Sprintf("The tag %s is ohgw's own; use another name.", name), nil)
		}
	}
	return nil
}

// isOwn reports whether a tag is one that ohgw keeps its own notes in.
func isOwn(name string) bool { return strings.HasPrefix(name, own) }

// Others are tags without ohgw's own; never nil.
func Others(tags map[string]string) map[string]string {
	out := make(map[string]string, len(tags))
	for name, value := range tags {
		if !strings.HasPrefix(name, own) {
			out[name] = value
		}
	}
	return out
}

// WithOwn are tags of others with those of ohgw that a conversation has.
func WithOwn(tags, now map[string]string) map[string]string {
	out := maps.Clone(tags)
	if out == nil {
		out = make(map[string]string)
	}
	for name, value := range now {
		if strings.HasPrefix(name, own) {
			out[name] = value
		}
	}
	return out
}

// SetLimits notes what a run may take.
func SetLimits(tags map[string]string, limit budget.Amount) {
	if limit.Cost > 0 {
		tags[Budget] = strconv.FormatFloat(limit.Cost, 'g', -1, 64)
	}
	if limit.Tokens > 0 {
		tags[Tokens] = strconv.FormatInt(limit.Tokens, 10)
	}
}

// Limits reads what a run may take. What is not a number limits nothing.
func Limits(tags map[string]string) (limit budget.Amount) {
	limit.Cost, _ = strconv.ParseFloat(tags[Budget], 64)
	limit.Tokens, _ = strconv.ParseInt(tags[Tokens], 10, 64)
	return limit
}

// ReadOnly reports whether a conversation does not change its workspace.
func ReadOnly(s store.State) bool { return s.Tags[Access] == Read }
