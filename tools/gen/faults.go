package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// told is an error as a person reads it. What is only known when it happens is
// a "…" in it.
type told struct {
	sentence, hint string
	code           string // the name in package fault
}

// gap stands for what is only known when an error happens.
const gap = "…"

// faults finds all errors for people in the source: wherever a
// fault.Error or a fault.UsageError is made. A sentence that is a
// variable is found where it is written, so that it is there once.
func faults(program []source) []told {
	var all []told
	for _, s := range program {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if f, ok := faultOf(n); ok {
				all = append(all, f)
			}
			return true
		})
	}
	slices.SortFunc(all, func(a, b told) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(strings.ToLower(a.sentence), strings.ToLower(b.sentence)), cmp.Compare(a.hint, b.hint))
	})
	return slices.CompactFunc(all, func(a, b told) bool { return a.sentence == b.sentence && a.code == b.code })
}

// source is a Go file of the program.
type source struct {
	file string // its path below the root, with slashes
	tree *ast.File
}

// sources parses each Go file of the program at root that is not a test. Parsing takes
// most of the time of this command.
func sources(root string) ([]source, error) {
	var all []source
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || slices.Contains([]string{"node_modules", "e2e", "tools", "dist", "testdata"}, d.Name())):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse source: %w", err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("name source file: %w", err)
		}
		all = append(all, source{filepath.ToSlash(name), tree})
		return nil
	})
	return all, err
}

// faultOf finds the error that a piece of source makes, if it makes one.
func faultOf(n ast.Node) (told, bool) {
	f := told{code: "Failed"}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if !isFault(n.Type, "Error") {
			return told{}, false
		}
		for _, e := range n.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return told{}, false
			}
			switch kv.Key.(*ast.Ident).Name {
			case "Msg":
				f.sentence = sentence(kv.Value)
			case "Hint":
				f.hint = sentence(kv.Value)
			case "Code":
				f.code = "" // It depends on what has happened.
				if s, ok := kv.Value.(*ast.SelectorExpr); ok {
					f.code = s.Sel.Name
				}
			}
		}
	case *ast.CallExpr:
		switch {
		case len(n.Args) == 2 && isFault(n.Fun, "NewUsage"):
			f.code = "Usage"
		case len(n.Args) == 3 && isFault(n.Fun, "New"):
		default:
			return told{}, false
		}
		f.sentence, f.hint = sentence(n.Args[0]), sentence(n.Args[1])
	}
	return f, strings.Trim(f.sentence, gap+" :,.") != ""
}

// isFault reports whether an expression is fault.NAME.
func isFault(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == "fault" && s.Sel.Name == name
}

// sentence reads the text of an expression as far as the source has it.
func sentence(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return gap
		}
		return text
	case *ast.ParenExpr:
		return sentence(e.X)
	case *ast.BinaryExpr:
		return strings.ReplaceAll(sentence(e.X)+sentence(e.Y), gap+gap, gap)
	case *ast.CallExpr:
		s, ok := e.Fun.(*ast.SelectorExpr)
		if ok && s.Sel.Name == "Sprintf" && len(e.Args) > 0 {
			return formatted(sentence(e.Args[0]))
		}
	}
	return gap
}

// formatted replaces the verbs of a format by gaps.
func formatted(format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		for i++; i+1 < len(format) && strings.IndexByte("+-# 0123456789.[]*", format[i]) >= 0; i++ {
		}
		if format[i] == '%' {
			b.WriteByte('%')
		} else {
			b.WriteString(gap)
		}
	}
	return b.String()
}

// faultList writes the part of the questions that has all errors of the commands.
func faultList(all []told) string {
	var b strings.Builder
	for _, group := range []struct {
		title, code string
	}{
		{"Exit code 1", "Failed"},
		{"Exit code 2", "Usage"},
		{"Exit code 3", "Partly"},
		{"Exit code 4", "Credential"},
		{"Exit code 5", "Unreachable"},
		{"Exit code 6", "Conflict"},
		{"An exit code of the cause", ""},
	} {
		begun := false
		for _, f := range all {
			if f.code != group.code {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "### %s\n\n", group.title)
				begun = true
			}
			hint := strings.TrimSpace(f.hint)
			if strings.Trim(hint, gap+" ") == "" {
				hint = "the hint depends on the case"
			}
			fmt.Fprintf(&b, "#### %s\n%s.\n\n", code(f.sentence), asSentence(hint))
		}
	}
	return b.String()
}

// asSentence begins a hint as a sentence begins, unless that is a command or
// what is not known here.
func asSentence(hint string) string {
	if strings.HasPrefix(hint, "ohgw ") || strings.HasPrefix(hint, gap) {
		return hint
	}
	return upperFirst(hint)
}
