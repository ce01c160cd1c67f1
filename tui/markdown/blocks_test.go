package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// text is what is rendered of Markdown at a width, without looks and links.
func text(src string, width int) []string {
	lines := render(src, width)
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return lines
}

func TestBlocksAreLaidOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, src string
		width     int
		want      []string
	}{
		{"a paragraph", "one two three four", 10, []string{"one two", "three four"}},
		{"two paragraphs", "one\n\ntwo", 20, []string{"one", "", "two"}},
		{"a soft line end", "one\ntwo", 20, []string{"one two"}},
		{"a hard line end", "one  \ntwo", 20, []string{"one", "two"}},
		{"a heading", "# One\ntwo", 20, []string{"One", "", "two"}},
		{"an underlined heading", "One\n===\n\ntwo", 20, []string{"One", "", "two"}},
		{"a rule", "---", 6, []string{"──────"}},
		{"bullets", "- one\n- two", 20, []string{"• one", "• two"}},
		{"bullets with room", "- one\n\n- two", 20, []string{"• one", "", "• two"}},
		{"a long item", "- one two three", 9, []string{"• one two", "  three"}},
		{"numbers", "9. nine\n10. ten", 20, []string{"9. nine", "10. ten"}},
		{"a list in a list", "- one\n  - two", 20, []string{"• one", "  ◦ two"}},
		{"paragraphs of an item", "- first\n\n  second", 20, []string{"• first", "", "  second"}},
		{"tasks", "- [x] done\n- [ ] open", 20, []string{"• [x] done", "• [ ] open"}},
		{"a quotation", "> one\n> two", 20, []string{"▎ one two"}},
		{"code", "```go\nif x {\n\ty()\n}\n```", 30, []string{"  go", "  if x {", "      y()", "  }"}},
		{"indented code", "    x\n    y", 20, []string{"  x", "  y"}},
		{"long code", "```\n0123456789abcdef\n```", 12, []string{"  01234567", "  89abcdef"}},
		{"HTML is shown", "<div>\n<b>x</b>\n</div>", 20, []string{"<div>", "<b>x</b>", "</div>"}},
		{"HTML in a line", "a Vec<T> and <name>", 40, []string{"a Vec<T> and <name>"}},
		{"entities", "a &lt; b &amp; c", 40, []string{"a < b & c"}},
		{"escapes", `\*no\* \# \\`, 40, []string{`*no* # \`}},
		{"emphasis", "**b** *i* ~~s~~ `c`", 40, []string{"b i s `c`"}},
		{"a word of stars", "2 * 3 * 4", 40, []string{"2 * 3 * 4"}},
		{"a picture", "![alt](http://x.test/a.png)", 60, []string{"image: alt (http://x.test/a.png)"}},
		{"a mailbox", "<me@x.test>", 40, []string{"me@x.test"}},
		{"nothing", "", 40, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, text(tc.src, tc.width)); diff != "" {
				t.Errorf("%q at %d (-want +got):\n%s", tc.src, tc.width, diff)
			}
		})
	}
}

func TestTablesFitTheScreen(t *testing.T) {
	t.Parallel()
	const table = "| name | n | note |\n|:--|--:|:-:|\n| a | 12 | x |\n| long name | 3 | yes or no |\n"
	for _, tc := range []struct {
		name, src string
		width     int
		want      []string
	}{
		{"wide", table, 40, []string{
			"name      │  n │   note",
			"──────────┼────┼──────────",
			"a         │ 12 │     x",
			"long name │  3 │ yes or no",
		}},
		{"no room", table, 16, []string{
			"name: a", "n: 12", "note: x", "", "name: long name", "n: 3", "note: yes or no",
		}},
		{"a heading alone", "| a | b |\n|---|---|\n", 20, []string{"a │ b", "──┼──"}},
		{"short rows", "| a | b |\n|---|---|\n| 1 |\n", 20, []string{"a │ b", "──┼──", "1 │"}},
		{"wide characters", "| 日本 | b |\n|---|---|\n| 1 | 2 |\n", 20, []string{"日本 │ b", "─────┼──", "1    │ 2"}},
		{"looks in cells", "| **a** | b |\n|---|---|\n| `x` | [y](http://z) |\n", 40, []string{"a   │ b", "────┼─────────────", "`x` │ y (http://z)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, text(tc.src, tc.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongCellIsWrappedInItsColumn(t *testing.T) {
	t.Parallel()
	got := text("| key | value |\n|---|---|\n| k | one two three four five |\n", 22)
	want := []string{"key │ value", "────┼─────────────────", "k   │ one two three", "    │ four five"}
	for i := range got {
		if n := wrap.Width(got[i]); n > 22 {
			t.Errorf("line %d takes %d of 22 cells", i, n)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	if !strings.HasPrefix(got[3], "    │ ") {
		t.Errorf("the second line of the cell is %q", got[3])
	}
}

// TestTablesLoseNothing draws tables of any shape: each cell is shown, no line
// is too wide, and the columns stand one under the other.
func TestTablesLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		width := rapid.IntRange(10, 90).Draw(t, "width")
		align := rapid.SliceOfN(rapid.SampledFrom([]string{"---", ":--", "--:", ":-:"}), columns, columns).Draw(t, "align")
		var src strings.Builder
		want := 0
		for row := range rows + 1 {
			for col := range columns {
				words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "xx", "xxxxxxxx", "日x"}), 1, 4).Draw(t, "cell")
				cell := strings.Join(words, " ")
				if row > 0 {
					want += strings.Count(cell, "x")
				}
				fmt.Fprintf(&src, "| %s ", cell)
				_ = col
			}
			src.WriteString("|\n")
			if row == 0 {
				src.WriteString("|" + strings.Join(align, "|") + "|\n")
			}
		}
		lines := text(src.String(), width)
		got := 0
		for _, l := range lines {
			if n := wrap.Width(l); n > width {
				t.Fatalf("%q takes %d of %d cells", l, n, width)
			}
			got += strings.Count(l, "x")
		}
		if got < want {
			t.Fatalf("%d letters of %d are shown:\n%s\n%s", got, want, src.String(), strings.Join(lines, "\n"))
		}
	})
}

func TestBlocksBeginWhereALineSaysSo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, src string
		want      []string
	}{
		{"paragraphs", "a\n\nb\n", []string{"a\n\n", "b\n"}},
		{"a list is one", "- a\n\n- b\n\nc\n", []string{"- a\n\n- b\n\n", "c\n"}},
		{"code is one", "```\na\n\nb\n```\nc\n", []string{"```\na\n\nb\n```\n", "c\n"}},
		{"code in a list", "- a\n  ```\n\n  b\n  ```\n- c\n", []string{"- a\n  ```\n\n  b\n  ```\n- c\n"}},
		{"a heading ends", "# a\nb\n", []string{"# a\n", "b\n"}},
		{"a heading begins", "a\n# b\n", []string{"a\n", "# b\n"}},
		{"no heading", "a\n#b\n", []string{"a\n#b\n"}},
		{"a longer fence", "````\n```\n````\nb\n", []string{"````\n```\n````\n", "b\n"}},
		{"open code", "```\na\n\n# b\n", []string{"```\na\n\n# b\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var s markdown.Splitter
			var got []string
			for _, b := range append(s.Add(tc.src), s.Open()) {
				if b.Src != "" {
					got = append(got, b.Src)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoBlockIsLargerThanItsBound(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		strings.Repeat("x", 100_000), strings.Repeat("日", 30_000), "```\n" + strings.Repeat("code\n", 20_000), strings.Repeat("- item\n", 20_000),
	} {
		var s markdown.Splitter
		for i, b := range append(s.Add(src), s.Open()) {
			if n := len(b.Src); n > 8<<10 {
				t.Errorf("block %d of %.10q has %d bytes", i, src, n)
			}
		}
	}
}

func FuzzCodeIsHighlightedWithoutLoss(f *testing.F) {
	for _, lang := range []string{"go", "python", "yaml", "sql", "html", "diff", "sh", "", "unknown"} {
		f.Add(lang, "x := \"a\\\"b\" // c\n/* d\ne */ f(1) 'g' `h`\n# i\n\"\"\"j")
	}
	f.Fuzz(func(t *testing.T, lang, code string) {
		lang, code = safe.Line(lang), safe.Text(code)
		if strings.ContainsAny(lang, "`~ \\&") || strings.Contains(code, "~~~") || strings.ContainsAny(code, "\t") {
			return // Another block, or shown in another way.
		}
		r := markdown.New(markdown.Theme{Keyword: "\x1b[1m", String: "\x1b[2m", Number: "\x1b[3m", Comment: "\x1b[4m", Function: "\x1b[5m"})
		lines := r.Render(markdown.Block{Src: "~~~" + lang + "\n" + code + "\n~~~\n"}, 1<<20)
		if strings.Trim(strings.TrimSpace(lang), "{}.") != "" { // what stands around a name is not shown
			lines = lines[1:]
		}
		var got strings.Builder
		for _, l := range lines {
			got.WriteString(strings.TrimSpace(strings.TrimPrefix(ansi.Strip(l), "  ")))
		}
		var want strings.Builder
		for l := range strings.SplitSeq(code, "\n") {
			want.WriteString(strings.TrimSpace(l))
		}
		if got.String() != want.String() {
			t.Errorf("%q in %q is shown as %q", want.String(), lang, got.String())
		}
	})
}

func FuzzCodeBlocksAreFound(f *testing.F) {
	f.Add("a\n```go\nx\n```\n")
	f.Add("- b\n  ~~~\n  z\n  ~~~\n```\nopen")
	f.Fuzz(func(t *testing.T, src string) {
		for _, code := range markdown.Code(src) {
			if !strings.Contains(src, code) {
				t.Errorf("%q is not in %q", code, src)
			}
		}
	})
}
