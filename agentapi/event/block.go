package event

import (
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/shellword"
)

// Block is something that the sandbox of the embedded engine refused. Its JSON is
// what clients get.
type Block struct {
	Access string `json:"access"` // "net", "read", "write" or "socket"
	Target string `json:"target"` // a host, host:port, or a path
	Why    string `json:"why"`    // a sentence without its full stop
	// Allow is what stands after `ohgw sandbox allow` to open it, not quoted for a
	// shell; "" if nothing opens it. [Block.Command] is the whole command.
	Allow string `json:"allow,omitempty"`
	// Held says that the program waits for a grant. Where none comes, the same block
	// follows without it.
	Held bool `json:"held,omitempty"`
}

// Block is the refusal that a state update announces; ok is false for every other
// event.
func (e Event) Block() (b Block, ok bool) { return announced[Block](e, KeyBlock) }

// Same reports whether both are refusals of the same thing.
func (b Block) Same(other Block) bool { return b.Access == other.Access && b.Target == other.Target }

// Command is the command that opens it, to be typed in a shell; "" if there is
// none. The target is the model's choice, so nothing in it may mean something to
// the shell.
func (b Block) Command() string {
	access, target, found := strings.Cut(b.Allow, " ")
	if !found || strings.ContainsFunc(b.Allow, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return ""
	}
	return "ohgw sandbox allow " + access + " " + shellword.Of(target)
}
