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

// A package of setup that puts several things together is several packages.
func TestNoPackageOfSetupAssemblesEverything(t *testing.T) {
	t.Parallel()
	const mostImports, mostFiles = 40, 20
	imports, files := map[string]map[string]bool{}, map[string]int{}
	for _, s := range sources(t) {
		if !within(s.dir, "setup") {
			continue
		}
		files[s.dir]++
		if s.test {
			continue
		}
		for _, spec := range s.tree.Imports {
			if imports[s.dir] == nil {
				imports[s.dir] = map[string]bool{}
			}
			if at, err := strconv.Unquote(spec.Path.Value); err == nil && within(at, module) {
				imports[s.dir][at] = true
			}
		}
	}
	if len(files) < 10 {
		t.Fatalf("setup has only %d packages", len(files))
	}
	for dir, n := range files {
		if n > mostFiles || len(imports[dir]) > mostImports {
			t.Errorf("%s has %d files and imports %d packages of ohgw; %d and %d are the most", dir, n, len(imports[dir]), mostFiles, mostImports)
		}
	}
}
