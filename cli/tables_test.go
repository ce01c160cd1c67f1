package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/tui/wrap"
)

var updateTables = flag.Bool("update-tables", false, "write the golden tables")

// oddTexts are what people write into titles, names and paths.
var oddTexts = []string{
	"修复登录页面上的不稳定测试，并检查所有超时设置是否正确", "أصلح الاختبار غير المستقر في صفحة تسجيل الدخول", "🛠️ fix 👩‍👩‍👧 the 🇩🇪 login 🧪 test",
	"abc\u202egnp.exe\u2066 and \u200ffiles", "/srv/projects/of/一个很长的目录名字/src/github.com/example/project", "-",
}

// oddCell is the cell of a row in a column.
func oddCell(header string, row, column int) string {
	switch header {
	case "ID", "CONVERSATION":
		return "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	case "USED", "MADE", "ENDS", "CHANGED", "LAST":
		return "2026-11-29 04:40"
	case "STATUS", "ACTION", "OUTCOME":
		return "finished"
	case "":
		return []string{"*", ""}[row%2]
	case "COST", "SIZE", "EDITS", "VIEWS", "AGE", "TIME":
		return strconv.Itoa(1000 + row)
	}
	return oddTexts[(row+column)%len(oddTexts)]
}

// headersOfTables are the headers of all tables of the program, by where they are.
func headersOfTables(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			member, ok := n.(*ast.KeyValueExpr)
			if !ok || fmt.Sprint(member.Key) != "Header" {
				return true
			}
			list, ok := member.Value.(*ast.CompositeLit)
			if !ok {
				return true
			}
			var header []string
			for _, e := range list.Elts {
				text, err := strconv.Unquote(e.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				header = append(header, text)
			}
			found[filepath.ToSlash(path)+" "+strings.Join(header, "|")] = header
			return true
		})
		return nil
	})
	if err != nil || len(found) < 20 {
		t.Fatalf("%d tables, %v", len(found), err)
	}
	return found
}

// Every table of the program, with texts of all kinds, on terminals of three widths.
func TestTablesLookAsReviewed(t *testing.T) {
	t.Parallel()
	tables := headersOfTables(t)
	names := make([]string, 0, len(tables))
	for name := range tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, width := range []int{80, 60, 40} {
		var all strings.Builder
		for _, name := range names {
			screen := oddTable(t, tables[name], width)
			for line := range strings.Lines(screen) {
				if line = strings.TrimSuffix(line, "\n"); wrap.Width(line) > width {
					t.Errorf("%s, %d columns: a line of %d: %q", name, width, wrap.Width(line), line)
				}
			}
			if strings.ContainsAny(screen, "\u202e\u2066\u200f") {
				t.Errorf("%s, %d columns: a control of direction is on the screen:\n%q", name, width, screen)
			}
			fmt.Fprintf(&all, "-- %s --\n%s", name, screen)
		}
		golden := filepath.Join("testdata", "tables", strconv.Itoa(width)+".golden")
		if *updateTables {
			if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), all.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", width, diff)
		}
	}
}

func oddTable(t *testing.T, header []string, width int) string {
	t.Helper()
	table := kit.Table{Header: header}
	for row := range len(oddTexts) {
		cells := make([]string, len(header))
		for column := range header {
			cells[column] = oddCell(header[column], row, column)
		}
		table.Add(cells...)
	}
	var b bytes.Buffer
	if err := table.Write(iostream.New(&b, true, func() int { return width })); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
