package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// cleaned is what a cleaner makes of pieces.
func cleaned(pieces ...string) string {
	var b strings.Builder
	c := cleaner{emit: func(p []byte) { b.Write(p) }}
	for _, p := range pieces {
		c.write([]byte(p))
	}
	c.finish()
	return b.String()
}

// It is the property that the rest relies on: a program does not decide where
// its output is cut.
func FuzzCleanerDoesNotCareWhereItsInputIsCut(f *testing.F) {
	for _, seed := range []string{
		"a\r\nb\rc\n", "é\b\x1b[2Kx", "\x1b]0;t\aabc\x1b\\", "\x1b[5;1Hx\x1b[3Cy\x1b[2Dz", "\x1bPq\x1b\x1b[m", "\xff\xfe\x1b[999999999999C", "ab\x1b[10Gc\rd\x1b[Pq\x1b[J",
	} {
		f.Add(seed, uint16(3))
	}
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		want := cleaned(text)
		if !utf8.ValidString(want) {
			t.Fatalf("%q: not UTF-8: %q", text, want)
		}
		if len(text) > 0 {
			i := int(at) % len(text)
			if got := cleaned(text[:i], text[i:]); got != want {
				t.Fatalf("cut at %d: %q, want %q", i, got, want)
			}
		}
		var bytes []string
		for i := range len(text) {
			bytes = append(bytes, text[i:i+1])
		}
		if got := cleaned(bytes...); got != want {
			t.Fatalf("byte by byte: %q, want %q", got, want)
		}
	})
}

func TestCleanerShowsARewrittenLineAgain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	c := cleaner{emit: func(p []byte) { b.Write(p) }}
	for _, step := range []struct{ write, want string }{
		{"10%", "10%"}, {"\r20%", "20%"}, {" more", " more"}, {"\r\n", "\n"}, {"next \xe2\x82", "next "}, {"\xac!", "€!"},
	} {
		b.Reset()
		c.write([]byte(step.write))
		c.settle()
		if b.String() != step.want {
			t.Errorf("after %q: %q, want %q", step.write, b.String(), step.want)
		}
	}
}

func TestCleanerDoesNotKeepAnEndlessLine(t *testing.T) {
	t.Parallel()
	size := 0
	c := cleaner{emit: func(p []byte) { size += len(p) }}
	for range 1000 {
		c.write([]byte(strings.Repeat("x", 4096)))
	}
	if cap(c.line) > 4*maxLine {
		t.Errorf("it keeps %d bytes", cap(c.line))
	}
	c.finish()
	if size != 1000*4096 {
		t.Errorf("%d bytes came out", size)
	}
}

func FuzzMarkersAreFoundAndNothingElse(f *testing.F) {
	f.Add("one\x1e", "two\x1eN:x\x1e", uint16(4))
	f.Fuzz(func(t *testing.T, before, after string, at uint16) {
		const nonce = "NONCE"
		if strings.Contains(before+after, nonce) {
			t.Skip("it cannot know the nonce")
		}
		text := before + "\x1e" + nonce + ":7\x1e" + after
		i := int(at) % len(text)
		m := newMarkers(nonce)
		var got strings.Builder
		found := 0
		for _, piece := range []string{text[:i], text[i:]} {
			m.scan([]byte(piece), func(p []byte) { got.Write(p) }, func() {
				found++
				if got.String() != before {
					t.Fatalf("at the marker: %q, want %q", got.String(), before)
				}
			})
		}
		got.Write(m.held)
		if found != 1 || m.last != 7 || got.String() != before+after {
			t.Fatalf("found %d, last %d, %q", found, m.last, got.String())
		}
	})
}
