// Package prompt is what the agent is told besides its history: the system
// prompt, and what belongs to a message or a file.
package prompt

import (
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/tool"
)

// Config is what a prompt is made of.
type Config struct {
	Workspace string
	Home      string // for the user's own skills; empty: none
	Suffix    string // appended to the system prompt
	Now       func() time.Time
}

// Prompt is the prompt of one conversation.
type Prompt struct{ cfg Config }

// New makes a prompt.
func New(cfg Config) *Prompt { return &Prompt{cfg: cfg} }

// System is the system prompt: a part that is the same everywhere, and one that
// belongs to the conversation.
func (p *Prompt) System(tools []tool.Definition, model string) (static, dynamic string) {
	return "You are an agent that works on the user's computer.", p.cfg.Suffix
}

// Message finds what belongs to a message of the user.
func (p *Prompt) Message(text string, active []string) (extended []event.Content, activated []string) {
	return nil, nil
}

// Path finds the rules for a file.
func (p *Prompt) Path(path string, active []string) (extended []event.Content, activated []string) {
	return nil, nil
}
