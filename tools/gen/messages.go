package main

import (
	"cmp"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// message is a text that the program can show. What is only known when it is
// shown is a "…" in it.
type message struct {
	place string // the package, and the function or variable that has the text
	kind  string // error, cause, problem, help, log or text
	code  string // of an error the name in package fault, of a problem the constant of its code
	text  string
	hint  string
}

// words and apart match a text of at least two words, or of a word and what is
// known later. A single word is a key, a value or a label far more often than a
// message.
var (
	words = regexp.MustCompile(`\p{L}{2}`)
	apart = regexp.MustCompile(`[\p{L}…][,;:.)"']* [("']*[\p{L}…]`)
)

// statement matches a statement of SQL, which only a database reads. Parts of one are
// constants whose names end in SQL.
var statement = regexp.MustCompile(`^(BEGIN|CREATE TABLE|DELETE FROM|INSERT INTO|LISTEN|SELECT|UPDATE|WITH)\b`)

// helpKeys are the fields of composite literals that are shown as help.
var helpKeys = []string{"Help", "Short", "Long", "Example"}

// messages finds all texts for people in the source, sorted by place so
// that a rewritten message changes one line of the list.
func messages(program []source) []message {
	var all []message
	for _, s := range program {
		if dir := path.Dir(s.file); !forTests(dir) {
			all = append(all, messagesOf(dir, s.tree)...)
		}
	}
	slices.SortFunc(all, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text), cmp.Compare(a.hint, b.hint), cmp.Compare(a.code, b.code))
	})
	return slices.Compact(all)
}

// forTests reports whether the package in dir only helps tests.
func forTests(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part == "testkit" || part == "fakeserver" || strings.HasSuffix(part, "test") {
			return true
		}
	}
	return false
}

// messagesOf finds the texts of one file of the package in dir.
func messagesOf(dir string, tree *ast.File) []message {
	c := &collector{seen: map[ast.Node]bool{}}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if strings.HasPrefix(d.Name.Name, "is") { // a predicate matches the texts of others
				continue
			}
			c.place = dir + "." + d.Name.Name
			c.collect(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if spec, ok := s.(*ast.ValueSpec); ok {
					c.place = dir + "." + spec.Names[0].Name
					c.collect(spec)
				}
			}
		}
	}
	return c.all
}

// collector gathers the messages of one file. A literal that is part of a
// message is in seen, so that it is not a message of its own, too.
type collector struct {
	place string
	seen  map[ast.Node]bool
	all   []message
}

func (c *collector) collect(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if f, ok := faultOf(n); ok {
			c.add("error", f.code, f.sentence, f.hint, n)
			return true
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			c.call(n)
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(helpKeys, key.Name) {
				c.text("help", n.Value)
			}
		case *ast.BinaryExpr:
			c.text("text", n)
		case *ast.BasicLit:
			c.text("text", n)
		case *ast.Field: // its tag is not text
			c.seen[n.Tag] = true
		}
		return true
	})
}

// call adds what a call shows.
func (c *collector) call(n *ast.CallExpr) {
	on, name := named(n.Fun)
	switch {
	case name == "NewProblem" && len(n.Args) == 3:
		_, code := named(n.Args[0])
		c.add("problem", code, sentence(n.Args[1]), "", n.Args[1])
	case on == "errors" && name == "New" || on == "fmt" && name == "Errorf":
		c.cause(n.Args[0])
	case on == "fmt" && name == "Sprintf":
		c.text("text", n)
	case slices.Contains([]string{"regexp", "pattern"}, on):
		c.mark(n)
	case (on == "flags" || isFlags(n.Fun)) && len(n.Args) > 2:
		c.text("help", n.Args[len(n.Args)-1])
	case logs(name):
		for _, a := range n.Args[:min(2, len(n.Args))] { // the first may be a context
			c.text("log", a)
		}
	}
}

// named is the name that an expression is, and what it is selected from.
func named(e ast.Expr) (on, name string) {
	switch e := e.(type) {
	case *ast.Ident:
		return "", e.Name
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			on = id.Name
		}
		return on, e.Sel.Name
	}
	return "", ""
}

// cause adds the text of an error, if it has words.
func (c *collector) cause(e ast.Expr) {
	if s := formatted(sentence(e)); words.MatchString(s) {
		c.add("cause", "", s, "", e)
	}
}

// isFlags reports whether a function is a method of what Flags or
// PersistentFlags of a command returned.
func isFlags(f ast.Expr) bool {
	s, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	made, ok := s.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	by, ok := made.Fun.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(by.Sel.Name, "Flags")
}

// logs reports whether a function of this name writes a line of the log.
func logs(name string) bool {
	return slices.Contains([]string{"Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext"}, name)
}

// text adds an expression if it is prose. Most literals have no space: matching the
// patterns takes longer than parsing.
func (c *collector) text(kind string, e ast.Expr) {
	if c.seen[e] {
		return
	}
	s := sentence(e)
	if !strings.Contains(s, " ") {
		return
	}
	switch s = formatted(s); {
	case statement.MatchString(s), strings.HasSuffix(c.place, "SQL"):
		c.mark(e)
	case words.MatchString(s) && apart.MatchString(s):
		c.add(kind, "", s, "", e)
	}
}

// add adds a message and remembers its literals.
func (c *collector) add(kind, code, text, hint string, n ast.Node) {
	if c.seen[n] {
		return
	}
	if strings.Trim(hint, gap+" ") == "" {
		hint = ""
	}
	c.all = append(c.all, message{c.place, kind, code, text, hint})
	c.mark(n)
}

// mark remembers the literals that sentence reads in an expression. Other
// calls in it have texts of their own.
func (c *collector) mark(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		c.seen[n] = true
		for _, a := range n.Args {
			if _, call := a.(*ast.CallExpr); !call || sentence(a) != gap {
				c.mark(a)
			}
		}
	case *ast.UnaryExpr:
		c.mark(n.X)
	case *ast.CompositeLit:
		c.seen[n] = true
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				c.mark(kv.Value)
			}
		}
	case *ast.ParenExpr:
		c.mark(n.X)
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			c.seen[n] = true
			c.mark(n.X)
			c.mark(n.Y)
		}
	case *ast.BasicLit:
		c.seen[n] = true
	}
}

// messageTable is the list as tab-separated lines.
func messageTable(all []message) string {
	var b strings.Builder
	b.WriteString("place\tkind\tcode\ttext\thint\n")
	line := strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`)
	for _, m := range all {
		b.WriteString(strings.Join([]string{m.place, m.kind, m.code, line.Replace(m.text), line.Replace(m.hint)}, "\t") + "\n")
	}
	return b.String()
}
