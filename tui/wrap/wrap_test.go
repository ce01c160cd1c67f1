package wrap_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

func TestLinesBreakWherePeopleWould(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"nothing", "", 10, []string{""}},
		{"words", "one two three", 8, []string{"one two", "three"}},
		{"exactly full", "12345678 next", 8, []string{"12345678", "next"}},
		{"long word", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"word then long word", "ab cdefghij", 5, []string{"ab", "cdefg", "hij"}},
		{"line feeds", "a\n\nb", 5, []string{"a", "", "b"}},
		{"hyphen", "well-known", 7, []string{"well-", "known"}},
		{"option", "-v", 7, []string{"-v"}},
		{"options", "add --key-from env:A-B -x", 12, []string{"add", "--key-from", "env:A-B -x"}},
		{"wide", "日本語です", 5, []string{"日本", "語で", "す"}},
		{"emoji", "👩‍💻👩‍💻", 4, []string{"👩‍💻", "👩‍💻"}},
		{"wide behind a short word", " a日", 2, []string{"", "a", "日"}},
		{"tab", "a\tb", 20, []string{"a    b"}},
		{"right to left", "שלום עולם", 5, []string{"שלום", "עולם"}},
	} {
		if diff := cmp.Diff(tc.want, wrap.Text(tc.in, tc.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestLooksEndWithTheLine(t *testing.T) {
	t.Parallel()
	got := wrap.Lines([]wrap.Span{{Text: "see "}, {Text: "the page", SGR: "\x1b[4m", Link: "https://x.test"}}, 8)
	want := []string{
		"see \x1b]8;;https://x.test\a\x1b[4mthe\x1b[m\x1b]8;;\a",
		"\x1b]8;;https://x.test\a\x1b[4mpage\x1b[m\x1b]8;;\a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoLineRunsOverAndNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := safe.Text(rapid.StringOfN(rapid.RuneFrom([]rune("ab -日🇩👩\u200d💻é\u0301❤\ufe0f\n\tש")), 0, 80, -1).Draw(t, "text"))
		width := rapid.IntRange(2, 20).Draw(t, "width")
		lines := wrap.Text(text, width)
		for _, l := range lines {
			n := wrap.Width(l)
			if measured := max(ansi.StringWidth(l), ansi.StringWidthWc(l)); measured > n {
				t.Errorf("%q takes %d cells, measured as %d", l, measured, n)
			}
			if first, w := "", 0; n > width {
				// One character may be wider than a line.
				if first, w = wrap.First(l); first != l || w <= width {
					t.Errorf("%q takes %d of %d cells", l, n, width)
				}
			}
		}
		letters := func(s string) string { return strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s) }
		if got, want := letters(strings.Join(lines, "")), letters(text); got != want {
			t.Errorf("%q became %q", want, got)
		}
		if cut := wrap.Cut(text, width); ansi.StringWidth(cut) > width {
			t.Errorf("Cut(%q, %d) = %q", text, width, cut)
		}
	})
}
