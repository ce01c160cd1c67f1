package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

var update = flag.Bool("update", false, "write the golden files")

func render(text string, width int) []string {
	var s markdown.Splitter
	return lines(append(s.Add(text), s.Open()), width, markdown.Theme{Marked: true})
}

func lines(blocks []markdown.Block, width int, theme markdown.Theme) []string {
	r := markdown.New(theme)
	var all []string
	for _, b := range blocks {
		if len(all) > 0 && !b.Joined && b.Src != "" {
			all = append(all, "")
		}
		if b.Src != "" {
			all = append(all, r.Render(b, width)...)
		}
	}
	return all
}

func TestPagesLookAsReviewed(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("testdata/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages %v, error %v", pages, err)
	}
	for _, page := range pages {
		for _, width := range []int{72, 24} {
			src, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			got := ansi.Strip(strings.Join(render(string(src), width), "\n")) + "\n"
			golden := strings.TrimSuffix(page, ".md") + map[int]string{72: ".72.golden", 24: ".24.golden"}[width]
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s at %d (-want +got):\n%s", page, width, diff)
			}
		}
	}
}

// pieces is Markdown that meets every rule of the splitter.
var pieces = []string{
	"# Title\n", "text of a line", "\n", "\n\n", "- item\n", "  more of it\n", "1. one\n", "2) two\n", "```go\n", "x := 1 // c\n",
	"```\n", "~~~\n", "````\n", "> quoted\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "**bold** *it* `code` ", "[l](http://x.test) ",
	"---\n", "===\n", "    indented\n", "<div>\nhtml\n</div>\n", "a <T> b ", "日本 👩‍💻 ", "\\* &lt; ", "[r]: http://y.test\n", "\t- deep\n",
	strings.Repeat("long ", 900), strings.Repeat("x", 9000), strings.Repeat("- item\n", 1300), "```\n" + strings.Repeat("code\n", 2000),
}

func TestStreamedIsRenderedAsTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		var whole, streamed markdown.Splitter
		want := append(whole.Add(text), whole.Open())
		var got []markdown.Block
		for rest := text; rest != ""; {
			n := min(rapid.IntRange(1, 3000).Draw(t, "cut"), len(rest))
			got = append(got, streamed.Add(rest[:n])...)
			rest = rest[n:]
		}
		got = append(got, streamed.Open())
		if len(got) != len(want) {
			t.Fatalf("%d blocks, of the whole %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("block %d begins with %.80q, joined %v; of the whole with %.80q, joined %v", i, got[i].Src, got[i].Joined, want[i].Src, want[i].Joined)
			}
		}
		var src strings.Builder
		for _, b := range got {
			src.WriteString(b.Src)
		}
		if src.String() != text {
			t.Errorf("the blocks are not the text")
		}
	})
}

// The last line of an answer has no line feed, and while it comes none has.
func TestALineMeansTheSameBeforeItsEnd(t *testing.T) {
	t.Parallel()
	want := []string{"one", "", "  code", "", "tail"}
	if diff := cmp.Diff(want, render("one\n\n```\ncode\n```\n\ntail", 40)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Title", "", "text"}, render("# Title\ntext", 40)); diff != "" {
		t.Error(diff)
	}
}

func TestNoLineIsWiderThanAsked(t *testing.T) {
	t.Parallel()
	theme := markdown.Theme{Block: "\x1b[48;5;236m", Keyword: "\x1b[35m", Link: "\x1b[4m", Faint: "\x1b[2m", Strong: "\x1b[1m"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		width := rapid.IntRange(12, 60).Draw(t, "width")
		var s markdown.Splitter
		for _, l := range lines(append(s.Add(text), s.Open()), width, theme) {
			if n := wrap.Width(ansi.Strip(l)); n > width {
				t.Fatalf("%q takes %d of %d cells", l, n, width)
			}
			if strings.Contains(l, "\n") {
				t.Fatalf("%q is no line", l)
			}
		}
	})
}

func FuzzEveryWordIsShown(f *testing.F) {
	for _, p := range pieces {
		f.Add(p[:min(len(p), 200)], 30)
	}
	f.Add("a <T> b <!-- hidden --> c", 20)
	f.Add("[a][1]\n\n[1]: http://x.test", 20)
	f.Fuzz(func(t *testing.T, text string, width int) {
		text = safe.Text(text)
		width = 10 + (width%70+70)%70
		out := ansi.Strip(strings.Join(render(text, width), ""))
		for _, r := range out {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q is shown for %q", r, text)
			}
		}
		letters := func(s string) map[rune]int {
			m := map[rune]int{}
			for _, r := range s {
				if r >= 'a' && r <= 'z' {
					m[r]++
				}
			}
			return m
		}
		if strings.ContainsAny(text, "&|\x60~[]") {
			return // Entities, tables, names of languages and titles of links are shown in another way.
		}
		if diff := cmp.Diff(letters(text), letters(out)); diff != "" {
			t.Errorf("%q is shown as %q (-want +got):\n%s", text, out, diff)
		}
	})
}

func TestWhatFollowsCodeIsNoCode(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "\n"} {
		got := strings.Join(render("```\nx\n```\n\nand *then*"+end, 40), "\n")
		if want := "  x\n\nand then"; got != want {
			t.Errorf("rendered %q, want %q", got, want)
		}
	}
}

func TestCodeIsFoundAsWritten(t *testing.T) {
	t.Parallel()
	got := markdown.Code("a\n```go\nx\n\ty\n```\n- b\n  ~~~\n  z\n  ~~~\n```\nopen")
	if diff := cmp.Diff([]string{"x\n\ty\n", "  z\n", "open"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLinksLeadWhereTheySayAndNowhereElse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"[a](https://x.test)", "\x1b]8;;https://x.test\aa\x1b]8;;\a (\x1b]8;;https://x.test\ahttps://x.test\x1b]8;;\a)"},
		{"[a](javascript:x)", "a (javascript:x)"},
		{"[a](file:///etc/passwd)", "a (file:///etc/passwd)"},
		{"https://x.test", "\x1b]8;;https://x.test\ahttps://x.test\x1b]8;;\a"},
	} {
		if got := strings.Join(render(tc.in, 60), "\n"); got != tc.want {
			t.Errorf("%s: rendered = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestCodeIsHighlighted(t *testing.T) {
	t.Parallel()
	theme := markdown.Theme{Keyword: "<k>", String: "<s>", Number: "<n>", Comment: "<c>", Function: "<f>", Added: "<+>", Removed: "<->"}
	for _, tc := range []struct{ lang, code, want string }{
		{"go", `return f("a\"b", 1) // c`, `<k>return| <f>f|(<s>"a\"b"|, <n>1|) <c>// c|`},
		{"go", "/* a\nb */ if", "<c>/* a|\n<c>b */| <k>if|"},
		{"py", `x = """a`, `x = <s>"""a|`},
		{"diff", "+a\n-b\n c", "<+>+a|\n<->-b|\n c"},
		{"yaml", "a-b: 'c' # d", "<f>a-b|: <s>'c'| <c># d|"},
		{"SQL", "SELECT 1 -- x", "<k>SELECT| <n>1| <c>-- x|"},
		{"text", `return "a" 1`, `return "a" 1`},
		{"unknown", `return "a"`, `return <s>"a"|`},
	} {
		var s markdown.Splitter
		s.Add("```" + tc.lang + "\n" + tc.code + "\n```\n")
		got := lines([]markdown.Block{s.Open()}, 60, theme)[1:]
		for i := range got {
			got[i] = strings.ReplaceAll(strings.TrimPrefix(got[i], "  "), "\x1b[m", "|")
		}
		if s := strings.Join(got, "\n"); s != tc.want {
			t.Errorf("%s: lines = %s, want %s", tc.lang, s, tc.want)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	r := markdown.New(markdown.Theme{})
	block := markdown.Block{Src: strings.Repeat("some **bold** words and `code` in a paragraph of text\n", 150)}
	b.SetBytes(int64(len(block.Src)))
	b.ReportAllocs()
	for b.Loop() {
		r.Render(block, 80)
	}
}
