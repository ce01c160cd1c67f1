// Package shellrisk reads shell source for what would be hard to undo: a recursive forced
// rm, a download that another program of the pipe reads, a write to a raw disk. It says
// the same as the analyzers of OpenHands 1.58.2, and ../testdata/risks.jsonl is the proof.
//
// It runs nothing, reads no file, and knows no variable: what only a shell could find out
// is unknown, and Unknown is said where that decides.
package shellrisk

// Verdict is what was found in a text.
type Verdict int

// The verdicts, in the order in which they replace each other.
const (
	None    Verdict = iota // nothing of what is looked for
	Unknown                // it depends on what only a shell can find out
	Found
)

// maxDepth is how deep source inside of source is read, such as sh -c "sh -c …".
const maxDepth = 8

// source is a text that a shell takes for commands, or that a program writes.
type source struct {
	there bool
	known bool // what the text is
	text  string
	// doubt is set where it is not even clear whether the text is read.
	doubt bool
}

func text(s string) source { return source{there: true, known: true, text: s} }

// unclear is a source of which nothing is known.
func unclear() source { return source{there: true, doubt: true} }

// Deletes looks for rm with options that mean "recursive" and "force", however it is
// spelled.
func Deletes(text string) Verdict { return deletes(text, 0) }

func deletes(text string, depth int) Verdict {
	found := None
	for _, p := range parse(text) {
		if p.deep {
			found = max(found, Unknown)
		}
		for _, c := range p.commands {
			found = max(found, c.deletes(), c.runsDelete(depth))
		}
	}
	return found
}

func (c command) deletes() Verdict {
	switch {
	case c.recursiveForce():
		if c.name == "rm" {
			return Found
		}
		if c.name == "" || c.broken {
			return Unknown
		}
	case c.name == "rm" && c.mayBeRecursiveForce():
		return Unknown
	}
	return None
}

// runsDelete looks into the source that a command runs.
func (c command) runsDelete(depth int) Verdict {
	run := c.executed()
	if run.there && run.known {
		if depth >= maxDepth {
			return Unknown
		}
		if found := deletes(run.text, depth+1); found != None {
			return found
		}
	}
	runs := c.isShell() || c.name == "eval" || c.name == "builtin" || c.name == "command"
	if run.doubt || runs && c.broken {
		return Unknown
	}
	return None
}
