package repocheck_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryErrorCodeIsExplained wants a heading in the questions for each code
// that the daemon can answer with, and no other. The errors of the commands are
// put there by tools/gen.
func TestEveryErrorCodeIsExplained(t *testing.T) {
	t.Parallel()
	codes := map[string]string{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains([]string{"daemon/gate", "daemon/completions", "daemon/responses", "daemon/conversations", "daemon/openai"}, s.dir) {
			continue
		}
		for name, value := range constants(s.tree) {
			if strings.HasPrefix(strings.ToLower(name), "code") {
				codes[value] = s.name
			}
		}
	}
	if len(codes) < 30 {
		t.Fatalf("found only %d error codes: %v", len(codes), codes)
	}
	_, part, _ := strings.Cut(read(t, "docs/faq.md"), "\n## Error codes of the API\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var last string
	for _, m := range regexp.MustCompile("(?m)^### `([a-z0-9_]+)`\n(.)").FindAllStringSubmatch(part, -1) {
		if _, known := codes[m[1]]; !known {
			t.Errorf("docs/faq.md explains %s, which nothing answers with", m[1])
		}
		if m[1] < last {
			t.Errorf("docs/faq.md has %s after %s", m[1], last)
		}
		last = m[1]
		delete(codes, m[1])
	}
	for code, name := range codes {
		t.Errorf("docs/faq.md does not explain the error code %s of %s", code, name)
	}
}

// constants are the texts that a file gives names to.
func constants(tree *ast.File) map[string]string {
	found := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				continue
			}
			if lit, ok := spec.Values[i].(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					found[name.Name] = text
				}
			}
		}
		return true
	})
	return found
}
