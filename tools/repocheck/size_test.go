package repocheck_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of sizes in docs/architecture.md is right to a tenth, or to half a thousand lines.
func TestTheTableOfSizesIsTrue(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "docs/architecture.md"), "\n## What is big, and why\n")
	table, _, _ = strings.Cut(table, "\n## ")
	lines := map[string]int{}
	for _, s := range sources(t) {
		if !s.forTests() {
			lines[s.dir] += strings.Count(read(t, s.name), "\n")
		}
	}
	below := func(tree string) (n int) {
		for dir, count := range lines {
			if tree != "" && within(dir, tree) {
				n += count
			}
		}
		return n
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`(?: without `([^`]+)`)? \\| (\\d+) \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 5 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	for _, row := range rows {
		said, _ := strconv.Atoi(row[3])
		got := below(row[1]) - below(row[2])
		if off := max(got-1000*said, 1000*said-got); off > max(100*said, 550) {
			t.Errorf("%s has %d lines, and the table says %d thousand", row[1], got, said)
		}
	}
}

// What a package has at most: files, and packages of ohgw that it imports.
const mostFiles, mostImports = 20, 40

// A package of setup that puts several things together is several packages.
func TestNoPackageOfSetupAssemblesEverything(t *testing.T) {
	t.Parallel()
	sizes := sizesBelow(t, "setup")
	if len(sizes) < 10 {
		t.Fatalf("setup has only %d packages", len(sizes))
	}
	for dir, n := range sizes {
		if n.files+n.tests > mostFiles || n.imports > mostImports {
			t.Errorf("%s has %d files and imports %d packages of ohgw; %d and %d are the most", dir, n.files+n.tests, n.imports, mostFiles, mostImports)
		}
	}
}

// mostBelow is how many files a package of these trees has at most; packages of the program
// that are in none of them have no commands and no state.
var mostBelow = map[string]int{"agentapi": 25, "cli": mostFiles, "daemon": 25, "internal": 25, "tui": mostFiles}

// wide are the packages that have more files, with how many. The numbers only go down.
var wide = map[string]int{
	"agentapi/agentserver":         33, // one conversation of an agent-server, in its steps
	"agentapi/engine/conversation": 33, // the parts of an open conversation: docs/adr/0039
	"agentapi/engine/llm":          29, // one client of models, and what each provider needs
	"daemon/run":                   29, // one run: from its request to its end, and what is left of it
	"tui":                          35, // one screen and the chat line by line
	"tui/session":                  23, // the chat without a screen
}

// No part of the program does everything in one package. Tests are not counted: most of them
// are of the whole.
func TestNoPackageHasEverything(t *testing.T) {
	t.Parallel()
	seen := 0
	for tree, bound := range mostBelow {
		for dir, n := range sizesBelow(t, tree) {
			seen++
			most := bound
			if known, ok := wide[dir]; ok {
				most = known
				if n.files < known {
					t.Errorf("%s has only %d files; lower its number in the list of wide packages, or take it out", dir, n.files)
				}
			}
			if n.files > most || n.imports > mostImports {
				t.Errorf("%s has %d files and imports %d packages of ohgw; %d and %d are the most", dir, n.files, n.imports, most, mostImports)
			}
		}
	}
	if seen < 200 {
		t.Fatalf("only %d packages were counted", seen)
	}
}

// size is how many files and imports a package has.
type size struct {
	files, tests int
	imports      int // packages of ohgw; those of tests are not counted
}

// sizesBelow are the sizes of the packages of some trees.
func sizesBelow(t *testing.T, trees ...string) map[string]size {
	t.Helper()
	imports, sizes := map[string]map[string]bool{}, map[string]size{}
	for _, s := range sources(t) {
		if !inTrees(s.dir, trees) {
			continue
		}
		n := sizes[s.dir]
		if s.test {
			n.tests++
			sizes[s.dir] = n
			continue
		}
		n.files++
		if imports[s.dir] == nil {
			imports[s.dir] = map[string]bool{}
		}
		for _, spec := range s.tree.Imports {
			if at, err := strconv.Unquote(spec.Path.Value); err == nil && within(at, module) {
				imports[s.dir][at] = true
			}
		}
		n.imports = len(imports[s.dir])
		sizes[s.dir] = n
	}
	return sizes
}
