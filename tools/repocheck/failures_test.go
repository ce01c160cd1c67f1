package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A failure that begins with a value does not say what was looked at.
func TestFailuresSayWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, call := range bare(s.tree) {
			t.Errorf(`%s:%d: the failure begins with a value; say what it is, "status = %%d"`, s.name, s.line(call.Pos()))
		}
	}
}

// verb is one verb of a format.
const verb = `%[-+# 0-9.]*[a-zA-Z]`

var (
	aVerb = regexp.MustCompile(verb)

	// valueOnly matches a format that begins with values and says nothing of them: "%d",
	// "%q, %v", "%s want %s". In "%d frames are kept" the words come next.
	valueOnly = regexp.MustCompile(`^` + verb + `(?:\s*` + verb + `)*\s*(?:$|[,;.]|want\b)`)

	// label matches what is in front of a colon: the name of a case, or a sentence about it, as
	// in "%s, line %d: the text %q".
	label = regexp.MustCompile(`^` + verb + `[^:]*:`)

	// nameOnly matches the name of a case that is only values: "%s: ", "%s %s: ".
	nameOnly = regexp.MustCompile(`^` + verb + `(?:[ ,]+` + verb + `)*: `)

	// telling matches an argument that says itself what it is: an error, or a difference.
	telling = regexp.MustCompile(`^(?:err|diff|d|e|failed)$|(?:\.|^)err\b|\(err\)$`)
)

// bare are the failures whose format begins with a value.
func bare(tree *ast.File) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		method, isMethod := call.Fun.(*ast.SelectorExpr)
		literal, isText := call.Args[0].(*ast.BasicLit)
		if !isMethod || !isText || code(method.X) == "fmt" || !slices.Contains([]string{"Errorf", "Fatalf"}, method.Sel.Name) {
			return true
		}
		if format, err := strconv.Unquote(literal.Value); err == nil && isBare(format, call.Args[1:]) {
			found = append(found, call)
		}
		return true
	})
	return found
}

// isBare reports whether a format begins with a value that has no name, itself or behind the
// name of a case.
func isBare(format string, args []ast.Expr) bool {
	if strings.HasPrefix(format, "%v") {
		return true
	}
	if before := label.FindString(format); before == "" || strings.Contains(before, "want %") {
		return valueOnly.MatchString(format)
	}
	name := nameOnly.FindString(format)
	at := len(aVerb.FindAllString(name, -1))
	return name != "" && valueOnly.MatchString(format[len(name):]) && at < len(args) && !telling.MatchString(code(args[at]))
}

func TestBareFindsFailuresWithoutAName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`t.Errorf("%v, want 1", got)`:     1,
		"w.t.Fatalf(`%v`, err)":           1,
		`t.Errorf("the status: %v", got)`: 0,
		`t.Error("%v")`:                   0,
		`err = fmt.Errorf("%v", e)`:       0,

		`t.Errorf("%d", got)`:                              1,
		`t.Errorf("%+v, %v", got, err)`:                    1,
		`t.Errorf("%.300q %s", got, text)`:                 1,
		`t.Errorf("%s\nwant\n%s", got, text)`:              1,
		`t.Errorf("%q, want %q: the log needs it", a, b)`:  1,
		`t.Errorf("%q; want %s", a, b)`:                    1,
		`t.Errorf("status = %d, want %d", a, b)`:           0,
		`t.Errorf("%d frames are kept", n)`:                0,
		`t.Errorf("%s: error %v", path, err)`:              0,
		`t.Errorf("%s, line %d: the text %q", path, a, b)`: 0,
		`t.Errorf("%s: %q, want %q", name, got, want)`:     1,
		`t.Errorf("%s %s: %d", method, path, status)`:      1,
		`t.Errorf("%s: text = %q", name, got)`:             0,
		`t.Errorf("%s: %s", name, diff)`:                   0,
		`t.Errorf("%s (-want +got):\n%s", path, diff)`:     0,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+text+"\n}", 0)
		if err != nil {
			t.Fatalf("the source %q: %v", text, err)
		}
		if got := len(bare(tree)); got != want {
			t.Errorf("bare in %q: %d, want %d", text, got, want)
		}
	}
}
