package shellrisk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/rescue"
)

// parse reads the programs of a text: one, if it is shell source. Another text is read as
// far as its lines are some: a file that an agent writes is most often no script.
func parse(text string) (list []*program) {
	if p := parsed(text); p != nil {
		if list = append(list, p); p.broken {
			list = append(list, lines(text)...)
		}
		return list
	}
	whole := text
	tries := maxTries // each reads all that is left
	for text != "" {
		var p *program
		end := 0
		if tries > 0 {
			p = beginning(text)
		}
		if p != nil {
			end = int(p.root.Stmts[len(p.root.Stmts)-1].End().Offset())
		} else {
			tries--
			if line := firstLine(text); line != whole { // which does not parse
				p = parsed(line)
			}
		}
		if p != nil {
			list = append(list, p)
		}
		end += len(firstLine(text[end:]))
		text = text[end:]
	}
	return list
}

// lines are the lines of a text that parse by themselves: what is missing in the text may
// be a quote too much in a line.
func lines(text string) (list []*program) {
	if firstLine(text) == text {
		return nil
	}
	for line := range strings.Lines(text) {
		if root := tryParse(line, 0); root != nil {
			list = append(list, newProgram(line, root, false))
		}
	}
	return list
}

// maxTries is how many lines may have a mistake before the lines are read one by one.
const maxTries = 20

func firstLine(text string) string {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return text[:end+1]
	}
	return text
}

// parsed parses a text, if need be with something added; nil if that fails.
func parsed(text string) *program {
	if root := tryParse(text, 0); root != nil {
		return newProgram(text, root, false)
	}
	if root := tryParse(text, maxErrors); root != nil {
		return newProgram(text, root, true)
	}
	if len(text) > maxRepaired {
		return nil
	}
	closers := ends[:]
	if found := openDocument().FindAllStringSubmatch(text, -1); found != nil {
		end := "\n" + found[len(found)-1][1]
		closers = append([]string{end, end + "\n)", end + "\n}", end + "\nfi", end + "\ndone"}, closers...)
	}
	for _, end := range closers {
		if root := tryParse(text+end, 0); root != nil {
			return newProgram(text+end, root, true)
		}
	}
	return nil
}

// tryParse returns nil if the text does not parse. The parser panics at some texts that
// are not shell source.
func tryParse(text string, errors int) (root *syntax.File) {
	err := rescue.Do(func() (err error) {
		root, err = newParser(errors).Parse(strings.NewReader(text), "")
		return err
	})
	if err != nil {
		return nil
	}
	return root
}

// beginning parses the statements before the first mistake of a text; nil if there are
// none.
func beginning(text string) *program {
	var stmts []*syntax.Stmt
	_ = rescue.Do(func() error { // see tryParse; what stands before the mistake counts
		for stmt, err := range newParser(0).StmtsSeq(strings.NewReader(text)) {
			if err != nil {
				return err
			}
			stmts = append(stmts, stmt)
		}
		return nil
	})
	if len(stmts) == 0 || int(stmts[len(stmts)-1].End().Offset()) > len(text) {
		return nil
	}
	return newProgram(text, &syntax.File{Stmts: stmts}, false)
}

func newParser(errors int) *syntax.Parser {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(errors))
}

// maxRepaired is how long a text may be for which several repairs are tried.
const maxRepaired = 4000

// maxErrors is how much may be missing in a text that is read all the same.
const maxErrors = 5

// ends are what may close a text that ends too early, besides the end of a here-document.
var ends = [...]string{`"`, `'`, "`", ")", "\n}", "\nfi", "\ndone"}

var openDocument = pattern.Of(`<<-?\s*['"]?(\w+)`)
