package truncate_test

import (
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/truncate"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		n     int
		head  string
		tail  string
		mark  string // Marked
		fit   string // Within
		bytes string
		last  string
	}{
		{"", 3, "", "", "", "", "", ""},
		{"", 0, "", "", "", "", "", ""},
		{"abc", 4, "abc", "abc", "abc", "abc", "abc", "abc"},
		{"abc", 3, "abc", "abc", "abc", "abc", "abc", "abc"},
		{"abcd", 3, "abc", "bcd", "abc…", "ab…", "abc…", "…bcd"},
		{"abc", 1, "a", "c", "a…", "…", "a…", "…c"},
		{"abc", 0, "", "", "…", "…", "…", "…"},
		{"abc", -1, "", "", "…", "…", "", ""},
		{"äöü", 3, "äöü", "äöü", "äöü", "äöü", "ä…", "…ü"},
		{"äöü", 2, "äö", "öü", "äö…", "ä…", "ä…", "…ü"},
		{"äöü", 6, "äöü", "äöü", "äöü", "äöü", "äöü", "äöü"},
		{"a😀b", 2, "a😀", "😀b", "a😀…", "a…", "a…", "…b"},
		{"a😀b", 4, "a😀b", "a😀b", "a😀b", "a😀b", "a…", "…b"},
		{"a😀b", 5, "a😀b", "a😀b", "a😀b", "a😀b", "a😀…", "…😀b"},
		{"日本語", 1, "日", "語", "日…", "…", "…", "…"},
	} {
		for name, got := range map[string][2]string{
			"Head":   {truncate.Head(c.text, c.n), c.head},
			"Tail":   {truncate.Tail(c.text, c.n), c.tail},
			"Marked": {truncate.Marked(c.text, c.n, "…"), c.mark},
			"Within": {truncate.Within(c.text, c.n, "…"), c.fit},
		} {
			if got[0] != got[1] || !utf8.ValidString(got[0]) {
				t.Errorf("%s(%q, %d) = %q, want %q", name, c.text, c.n, got[0], got[1])
			}
		}
		if c.n < 0 {
			continue // so many bytes are a mistake of the caller
		}
		if got := truncate.Bytes(c.text, c.n, "…"); got != c.bytes || !utf8.ValidString(got) {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.n, got, c.bytes)
		}
		if got := truncate.LastBytes(c.text, c.n, "…"); got != c.last || !utf8.ValidString(got) {
			t.Errorf("LastBytes(%q, %d) = %q, want %q", c.text, c.n, got, c.last)
		}
	}
}

func TestWhatIsCutInBytesIsValid(t *testing.T) {
	t.Parallel()
	if got := truncate.Bytes("a\xff\xc3bcd", 4, "…"); got != "ab…" {
		t.Errorf("Bytes = %q", got)
	}
	if got := truncate.LastBytes("bcd\xffa\xc3", 4, "…"); got != "…da" {
		t.Errorf("LastBytes = %q", got)
	}
	if got := truncate.Bytes("a\xff", 2, "…"); got != "a\xff" {
		t.Errorf("what is short enough became %q", got)
	}
}
