package turn

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/redact"
)

// maxBlocked bounds the refusals that a turn tells of.
const maxBlocked = 64

// blocked tells of something that the sandbox refused. It is a line of progress, so
// that every client shows it.
func (r *Reader) blocked(b agentapi.Block) []Update {
	b = bounded(b)
	i := slices.IndexFunc(r.blocks, b.Same)
	switch {
	case i >= 0 && r.blocks[i] == b, i < 0 && len(r.blocks) == maxBlocked:
		return nil
	case i >= 0:
		r.blocks[i] = b
	default:
		r.blocks = append(r.blocks, b)
	}
	return []Update{{Kind: Progress, Text: blockLine(b), Block: &b}}
}

// bounded is a refusal as it may be told.
func bounded(b agentapi.Block) agentapi.Block {
	b.Why = shorten(b.Why, maxLine)
	if redact.Text(b.Target) != b.Target || len(b.Target) > maxPath { // it cannot be named, so it cannot be allowed
		b.Target, b.Allow = shorten(b.Target, maxPath), ""
	}
	return b
}

// blockLine is a refusal in one line for a person.
func blockLine(b agentapi.Block) string {
	if command := b.Command(); b.Held && command != "" {
		return shorten("sandbox: waits up to 60 s for: "+command, maxLine)
	}
	verb := ""
	if b.Access != "net" {
		verb = b.Access + " "
	}
	const brackets = len("sandbox: refused  ()")
	target := shorten(b.Target, maxLine/2)
	return "sandbox: refused " + verb + target + " (" + shorten(b.Why, maxLine-brackets-len(verb)-len([]rune(target))) + ")"
}

// refusedBlocks are the refusals of the turn. What was held and is not among them was
// granted, or still waits.
func (r *Reader) refusedBlocks() []agentapi.Block {
	return slices.DeleteFunc(slices.Clone(r.blocks), func(b agentapi.Block) bool { return b.Held })
}
