package shellrisk

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// mayBeRecursiveForce reports whether words with * or braces may become the options of a
// recursive forced rm: a file may be called -rf.
func (c command) mayBeRecursiveForce() bool {
	var f flags
	for _, w := range c.args {
		if w.known && w.text == "--" {
			break
		}
		if !w.known {
			continue
		}
		f.option(w.text)
		if w.many {
			f.expanded(w)
		}
	}
	return f.both()
}

// expanded adds the options that a word may become.
func (f *flags) expanded(w word) {
	glob, brace := expansions(w.raw)
	switch {
	case glob && strings.HasPrefix(w.text, "-"):
		f.letters("rf")
	case strings.HasPrefix(w.text, "-"):
		f.letters(w.text)
	case glob && strings.ContainsRune("*?[", rune(w.raw[0])):
		f.named(w.text)
	case brace:
		for _, name := range braced(w.text) {
			if strings.HasPrefix(name, "-") {
				f.letters(name)
			}
		}
	}
}

// named adds the options that are names of files which match a pattern.
func (f *flags) named(pattern string) {
	if strings.Contains(pattern, "[^") || strings.Contains(pattern, "[[:") {
		f.letters("rf")
		return
	}
	for _, name := range [...]string{"-r", "-R", "-f", "-rf", "-fr", "-Rf", "-fR", "--recursive", "--force"} {
		if ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name); ok && err == nil {
			f.option(name)
		}
	}
}

// maxBraces is how many braces of a word are expanded: each doubles the words.
const maxBraces = 8

// braced lists the words that braces make of a word. Of too many braces it is one with
// all letters.
func braced(text string) (names []string) {
	if strings.Count(text, "{") > maxBraces {
		if strings.Contains(text, "-") {
			names = append(names, "-"+text)
		}
		return names
	}
	w := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
	syntax.SplitBraces(w)
	for one, err := range expand.BracesSeq(nil, w) {
		if err != nil {
			return append(names, "-"+text)
		}
		names = append(names, one.Lit())
	}
	return names
}

// shellOptions reads the options before the first word that a shell runs.
type shellOptions struct {
	script   bool // -c
	stdin    bool // -s
	parsing  bool // -n: it runs nothing
	strings  bool // bash's -D: it runs nothing either
	finished bool // by -- or -
}

func (o *shellOptions) idle() bool { return o.parsing || o.strings }

// What becomes of a word among the options.
type optionKind int

const (
	operand   optionKind = iota // not an option
	taken                       // an option
	takesWord                   // an option with a value
	refused                     // the shell ends with an error
	strange                     // it cannot be known
)

// take reads a word that is known.
func (o *shellOptions) take(shell, text string) optionKind {
	switch {
	case o.finished:
		return operand
	case text == "--" || text == "-":
		o.finished = true
		return taken
	case len(text) < 2 || !isSign(text[0]):
		return operand
	case text[0] == '-' && text[1] == '-':
		return longOption(shell, text)
	case isSign(text[1]):
		return refused
	}
	return o.letters(shell, text[0] == '-', text[1:])
}

func isSign(c byte) bool { return c == '-' || c == '+' }

// letters reads options of one letter each, which are set, or with + no longer are.
func (o *shellOptions) letters(shell string, set bool, letters string) optionKind {
	has := func(some string) bool { return strings.ContainsAny(letters, some) }
	last := letters[len(letters)-1:]
	if strings.Trim(letters, "abefhkmnptuvxBCDHPcilrsoO") != "" || strings.ContainsAny(strings.TrimSuffix(letters, last), "oO") || shell != "bash" && has("D") {
		return strange
	}
	o.script = o.script || has("c")
	o.stdin = o.stdin || set && has("s")
	o.strings = o.strings || has("D")
	if has("n") {
		o.parsing = set
	}
	if strings.ContainsAny(last, "oO") {
		return takesWord
	}
	return taken
}

func longOption(shell, text string) optionKind {
	if shell != "bash" {
		return strange
	}
	switch text {
	case "--rcfile", "--init-file":
		return takesWord
	case "--debugger", "--login", "--noediting", "--noprofile", "--norc", "--posix", "--restricted", "--verbose":
		return taken
	}
	return strange
}

// script finds the word behind a shell's -c. It is doubtful where the options cannot be
// told from what follows them.
func (c command) script() source {
	var o shellOptions
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		if w.many || !w.known {
			return o.unsure(w, i+1 == len(c.args))
		}
		switch o.take(c.name, w.text) {
		case operand:
			if !o.script || o.idle() {
				return source{}
			}
			return text(w.text)
		case refused:
			return source{}
		case strange:
			return source{there: o.script, doubt: true}
		case takesWord:
			i++
			if i >= len(c.args) {
				return source{}
			}
			if c.args[i].many || c.args[i].isValue() {
				return source{there: o.script, doubt: true}
			}
		case taken:
		}
	}
	return source{there: o.script && !o.idle()}
}

// unsure is the script where a word comes that has to be looked up.
func (o *shellOptions) unsure(w word, last bool) source {
	switch {
	case w.many && o.finished && (o.idle() || !o.script):
		return source{}
	case w.many:
		return source{there: o.script, doubt: true}
	case o.script:
		return source{there: !o.idle()}
	case o.finished || w.isValue():
		return source{}
	}
	return source{doubt: !last}
}

// readsInput reports whether a shell takes its commands from its standard input.
func (c command) readsInput() (reads, known bool) {
	var o shellOptions
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		if !w.known || w.many {
			if !o.finished {
				return false, false
			}
			return o.stdin && !o.idle(), o.idle() || o.stdin
		}
		switch o.take(c.name, w.text) {
		case operand:
			return o.stdin && !o.idle(), true
		case refused:
			return false, true
		case strange:
			return false, false
		case takesWord:
			i++
			if i >= len(c.args) {
				return false, true
			}
		case taken:
		}
	}
	return !o.idle(), true
}
