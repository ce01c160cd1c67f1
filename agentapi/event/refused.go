package event

import (
	"fmt"
	"strings"
)

const (
	refusedBegin = "[sandbox] refused: "
	refusedEnd   = ". Continue without it, or tell the user what is needed and why."
	refusedGap   = "; "
	// maxRefused is how many refusals an observation lists.
	maxRefused = 10
)

// The verbs of refusals. A path and an address are told apart by their beginning.
const (
	verbConnect = "connect"
	verbRead    = "read"
	verbWrite   = "write"
)

// RefusedNote writes what an observation says of the things that the sandbox refused, in
// one line. Their texts have no line feeds.
func RefusedNote(list []Block) string {
	var b strings.Builder
	b.WriteString(refusedBegin)
	for i, block := range list {
		if i == maxRefused {
			fmt.Fprintf(&b, "%sand %d more", refusedGap, len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(refusedGap)
		}
		verb := block.Access
		if verb != verbRead && verb != verbWrite {
			verb = verbConnect
		}
		fmt.Fprintf(&b, "%s %s (%s)", verb, block.Target, block.Why)
	}
	b.WriteString(refusedEnd)
	return b.String()
}

// Refused reads the refusals in a line of an observation, as [RefusedNote] writes them:
// without what opens them. Every other line has none.
func Refused(line string) []Block {
	text, begins := strings.CutPrefix(line, refusedBegin)
	text, ends := strings.CutSuffix(text, refusedEnd)
	if !begins || !ends {
		return nil
	}
	var list []Block
	for _, entry := range entries(text) {
		verb, rest, _ := strings.Cut(entry, " ")
		at := strings.LastIndex(rest, " (")
		if at < 0 || !strings.HasSuffix(rest, ")") { // "and 3 more"
			continue
		}
		b := Block{Access: verb, Target: rest[:at], Why: strings.TrimSuffix(rest[at+2:], ")")}
		if verb == verbConnect {
			b.Access = "net"
			if strings.HasPrefix(b.Target, "/") || strings.HasPrefix(b.Target, "@") {
				b.Access = "socket"
			}
		}
		list = append(list, b)
	}
	return list
}

// entries are the refusals of a list. A target may have the gap between two in it.
func entries(text string) (list []string) {
	for piece := range strings.SplitSeq(text, refusedGap) {
		verb, _, _ := strings.Cut(piece, " ")
		switch verb {
		case verbConnect, verbRead, verbWrite, "and":
			list = append(list, piece)
		default:
			if len(list) > 0 {
				list[len(list)-1] += refusedGap + piece
			}
		}
	}
	return list
}
