package safe_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/tui/safe"
)

func TestTextIsHarmlessAndKeepsWhatPeopleRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"ascii", "a\tb\nc", "a\tb\nc"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		{"link", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"c1 csi", "a\u009b2Jb", "ab"},
		{"c1 osc", "a\u009d0;x\u009cb", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"bell and backspace", "a\a\bb", "ab"},
		{"windows lines", "a\r\nb", "a\nb"},
		{"override of direction", "a\u202eb\u2066c\u2069", "abc"},
		{"tags", "a\U000e0041b", "ab"},
		{"separator", "a\u2028b", "a\nb"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"unfinished title ends with the line", "\x1b]0;a\nb", "\nb"},
		{"unfinished colour", "\x1b[31", ""},
		{"no sequence", "\x1bé", "é"},
		{"emoji", "👩‍💻 ❤️ 🇩🇪", "👩‍💻 ❤️ 🇩🇪"},
		{"nothing to choose or join", "\ufe0fa \ufe0f\n\u200db", "a \nb"},
		{"right to left", "שלום عليكم", "שלום عليكم"},
		{"marks", "e" + strings.Repeat("\u0301", 50), "e" + strings.Repeat("\u0301", 8)},
	} {
		if got := safe.Text(tc.in); got != tc.want {
			t.Errorf("%s: Text(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

func TestUnfinishedSequenceSwallowsNoBook(t *testing.T) {
	t.Parallel()
	if got := safe.Text("\x1b]0;" + strings.Repeat("x", 10000) + "end"); !strings.HasSuffix(got, "end") {
		t.Errorf("the text after an unfinished sequence is gone: %d bytes left", len(got))
	}
}

func TestLineIsOne(t *testing.T) {
	t.Parallel()
	if got, want := safe.Line(" a\n\tb\x1b[K  c "), "a b c"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func FuzzPiecesAreCleanedAsTheWhole(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]52;c;x\x07é\u202e\xff👩‍💻", 3)
	f.Add("\x1b\x1b]\x1b\\\x9b", 1)
	f.Add("\xe2\x80", 1)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		whole := safe.Text(s)
		var c safe.Cleaner
		cut = max(cut%7, 1)
		var pieces strings.Builder
		for rest := s; rest != ""; {
			n := min(cut, len(rest))
			pieces.WriteString(c.Clean(rest[:n]))
			rest = rest[n:]
		}
		pieces.WriteString(c.Rest())
		if pieces.String() != whole {
			t.Errorf("pieces %q, whole %q", pieces.String(), whole)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q is not valid", whole)
		}
		for _, r := range whole {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
				t.Errorf("%q is left in %q", r, whole)
			}
		}
		if again := safe.Text(whole); again != whole {
			t.Errorf("cleaning %q twice gives %q", whole, again)
		}
	})
}
