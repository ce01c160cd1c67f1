package shellrisk

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// executed finds the shell source that the command itself brings along: behind -c or eval,
// or in a here-document.
func (c command) executed() source {
	if c.isShell() {
		if run := c.script(); run.there || run.doubt {
			return run
		}
	}
	if run, found := c.evaluated(); found {
		return run
	}
	if !c.isShell() {
		return source{}
	}
	input := c.input(source{}, nil)
	if !input.there {
		return source{}
	}
	reads, known := c.readsInput()
	switch {
	case !known:
		return unclear()
	case !reads:
		return source{}
	}
	return input
}

// evaluated finds the source that eval runs, also behind builtin and command; found reports
// whether the command is an eval.
func (c command) evaluated() (run source, found bool) {
	name, args := c.name, c.args
	if !c.plain {
		return source{}, false
	}
	for range maxDepth + 1 {
		switch name {
		case "eval":
			return joinedSource(args), true
		case "command":
			for isWord(args, "-p") {
				args = args[1:]
			}
		case "builtin":
		default:
			return source{}, false
		}
		if isWord(args, "--") {
			args = args[1:]
		}
		if len(args) == 0 {
			return source{}, false
		}
		if !args[0].known || args[0].many {
			return unclear(), true
		}
		if name, args = args[0].text, args[1:]; strings.HasPrefix(name, "-") || strings.Contains(name, "/") {
			return source{}, false
		}
	}
	return unclear(), true
}

// isWord reports whether the first of some words is a text.
func isWord(args []word, text string) bool {
	return len(args) > 0 && args[0].known && args[0].text == text
}

// joinedSource joins the words of eval to its source.
func joinedSource(args []word) source {
	if len(args) > 0 && args[0].known {
		switch {
		case args[0].text == "--":
			args = args[1:]
		case strings.HasPrefix(args[0].text, "-"):
			return source{} // eval has no options
		}
	}
	if len(args) == 0 {
		return source{}
	}
	texts := make([]string, len(args))
	for i, w := range args {
		if !w.known || w.many {
			return unclear()
		}
		texts[i] = w.text
	}
	return text(strings.Join(texts, " "))
}

// redirects are those of the command, and with a stage of a pipe those of all that is around
// it inside of the stage.
func (c command) redirects(stage *syntax.Stmt) (list []*syntax.Redirect) {
	for _, stmt := range c.stmts {
		list = append(list, stmt.Redirs...)
		if stage == nil || stmt == stage {
			break
		}
	}
	return list
}

// descriptor is the file descriptor that a redirect changes.
func descriptor(r *syntax.Redirect) string {
	if r.N != nil {
		return number(r.N.Value)
	}
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return "0"
	}
	return "1"
}

func number(text string) string {
	if n, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(n)
	}
	return text
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// target is the file, or the descriptor, that a redirect names.
func target(r *syntax.Redirect) (name string, known bool) {
	if r.Word == nil {
		return "", false
	}
	return literal(r.Word.Parts)
}

// alias returns the descriptor that a name of a file stands for.
func alias(name string) string {
	switch name {
	case "/dev/stdin":
		return "0"
	case "/dev/stdout":
		return "1"
	case "/dev/stderr":
		return "2"
	}
	for _, dir := range [...]string{"/dev/fd/", "/proc/self/fd/"} {
		if fd, ok := strings.CutPrefix(name, dir); ok && isNumber(fd) {
			return number(fd)
		}
	}
	return ""
}

// input finds what the command reads from its standard input, where that is in the source,
// or comes by a pipe.
func (c command) input(piped source, stage *syntax.Stmt) source {
	open := map[string]source{}
	if piped.there {
		open["0"] = piped
	}
	for _, r := range c.redirects(stage) {
		fd := descriptor(r)
		name, known := target(r)
		switch r.Op {
		case syntax.WordHdoc:
			open[fd] = source{there: true, known: known, text: name, doubt: !known}
			continue
		case syntax.Hdoc, syntax.DashHdoc:
			doc := c.document(r)
			doc.doubt = doc.doubt || c.broken // its end may be what is missing
			open[fd] = doc
			continue
		case syntax.RdrAll, syntax.AppAll:
			delete(open, "1")
			delete(open, "2")
			continue
		case syntax.DplIn, syntax.DplOut:
			if known = known && isNumber(name); known {
				name = "/dev/fd/" + name
			}
		}
		from, has := open[alias(name)]
		switch {
		case known && has:
			open[fd] = from
		case !known && (fd == "0" || len(open) > 0):
			open[fd] = unclear()
		default:
			delete(open, fd)
		}
	}
	return open["0"]
}

// document is the text of a here-document. It is unclear where a shell changes it.
func (c command) document(r *syntax.Redirect) source {
	if r.Hdoc == nil {
		return text("")
	}
	raw := c.program.source(r.Hdoc)
	asItIs := strings.ContainsAny(c.program.source(r.Word), `'"\`)
	if !asItIs && (strings.Contains(raw, `\`) || slices.ContainsFunc(r.Hdoc.Parts, isNoText)) {
		return unclear()
	}
	return text(raw)
}

func isNoText(part syntax.WordPart) bool {
	_, ok := part.(*syntax.Lit)
	return !ok
}

// answer is yes, no, or, if the source does not decide it, maybe.
type answer int

const (
	no answer = iota
	maybe
	yes
)

// writesToPipe reports whether what the command prints goes into the pipe behind it.
func (c command) writesToPipe(stage *syntax.Stmt) answer {
	open := map[string]answer{"1": yes}
	for _, r := range c.redirects(stage) {
		name, known := target(r)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		case syntax.DplIn, syntax.DplOut:
			if known = known && isNumber(name); known {
				name = "/dev/fd/" + name
			}
		}
		to := maybe
		if known {
			to = open[alias(name)]
		}
		if r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
			open["1"], open["2"] = to, to
			continue
		}
		open[descriptor(r)] = to
	}
	return open["1"]
}

// output finds what the command writes into the pipe behind it.
func (c command) output(stage *syntax.Stmt) source {
	switch c.writesToPipe(stage) {
	case no:
		return source{}
	case maybe:
		return unclear()
	}
	switch {
	case c.open:
	case c.name == "echo":
		return c.echoed()
	case c.name == "printf":
		return c.printed()
	case c.name == "cat" && len(c.args) == 0:
		if in := c.input(source{}, stage); in.there {
			return in
		}
	}
	return unclear()
}

func (c command) echoed() source {
	texts := make([]string, len(c.args))
	for i, w := range c.args {
		if !w.known || w.many || strings.Contains(w.text, `\`) || i == 0 && strings.HasPrefix(w.text, "-") {
			return unclear()
		}
		texts[i] = w.text
	}
	return text(strings.Join(texts, " ") + "\n")
}

func (c command) printed() source {
	args := c.args
	if isWord(args, "--") {
		args = args[1:]
	} else if len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		return unclear()
	}
	if len(args) == 0 {
		return text("")
	}
	if !args[0].known || args[0].many || strings.Contains(args[0].text, `\`) {
		return unclear()
	}
	return formatted(args[0].text, args[1:])
}

// formatted puts words into a format of printf that has no other verb than %s.
func formatted(form string, values []word) source {
	var b strings.Builder
	pieces := strings.Split(strings.ReplaceAll(form, "%%", "\x00"), "%")
	if used := len(pieces) - 1; used > 0 && used != len(values) {
		return unclear()
	}
	b.WriteString(pieces[0])
	for i, piece := range pieces[1:] {
		rest, ok := strings.CutPrefix(piece, "s")
		if !ok || !values[i].known || values[i].many {
			return unclear()
		}
		b.WriteString(values[i].text + rest)
	}
	return text(strings.ReplaceAll(b.String(), "\x00", "%"))
}
