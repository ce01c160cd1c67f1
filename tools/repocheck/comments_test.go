package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode"
)

// TestCommentsArePlain reads the comments of all Go files, tests included.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			for _, o := range offences(group.Text()) {
				t.Errorf("%s:%d says %s", s.name, s.line(group.Pos()), o)
			}
		}
	}
}

// TestCommentsBeginWithTheNameOfTheFunction keeps comments whole when a function is
// renamed: go doc and editors show them without the line below.
func TestCommentsBeginWithTheNameOfTheFunction(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, f := range misnamed(s.tree, s.test) {
			first, _, _ := strings.Cut(f.Doc.Text(), "\n")
			t.Errorf("%s:%d: the comment of %s does not begin with its name: %q", s.name, s.line(f.Pos()), f.Name.Name, first)
		}
	}
}

// misnamed are the functions and methods of a file whose comment begins with another
// word than their name. The name of a test is a claim, which its comment need not repeat.
// The comment of a command of test scripts begins as a script writes it.
func misnamed(tree *ast.File, test bool) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, decl := range tree.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Doc.Text() == "" {
			continue
		}
		first := strings.TrimPrefix(f.Doc.Text(), "[!] ")
		if end := strings.IndexFunc(first, notOfName); end >= 0 {
			first = first[:end]
		}
		command, isCommand := strings.CutPrefix(f.Name.Name, "cmd")
		claims := test && f.Recv == nil && isTest(f.Name.Name) && !isTest(first)
		asWritten := test && isCommand && first == strings.ToLower(command)
		if first != f.Name.Name && !claims && !asWritten {
			found = append(found, f)
		}
	}
	return found
}

// notOfName reports whether a character is not part of a name.
func notOfName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isTest reports whether a function of a name is one that "go test" calls.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && !unicode.IsLower([]rune(rest)[0]) {
			return true
		}
	}
	return false
}

func TestMisnamedFindsCommentsOfOtherFunctions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"// F is right.\nfunc F() {}":                     false,
		"// F's result is right.\nfunc F() {}":            false,
		"//go:noinline\nfunc F() {}":                      false,
		"func F() {}":                                     false,
		"// TestF is right.\nfunc TestF() {}":             false,
		"// TestG was the name.\nfunc TestF() {}":         true,
		"// A test may say why.\nfunc TestF() {}":         false,
		"// G was the name.\nfunc F() {}":                 true,
		"// Former names.\nfunc F() {}":                   true,
		"// [!] f ARG\nfunc cmdF() {}":                    false,
		"// [!] g ARG\nfunc cmdF() {}":                    true,
		"// The type.\nfunc (T) F() {}":                   true,
		"// A method is not a test.\nfunc (T) TestF() {}": true,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.ParseComments)
		if err != nil {
			t.Fatalf("the source %q: %v", text, err)
		}
		if got := len(misnamed(tree, true)) == 1; got != want {
			t.Errorf("misnamed in %q: %t, want %t", text, got, want)
		}
	}
}
