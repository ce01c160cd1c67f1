package editor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/editor"
	"github.com/ohgw/ohgw/tui/wrap"
)

func TestLongPasteIsOneCharacterAndSentWhole(t *testing.T) {
	t.Parallel()
	var e editor.Editor
	e.SetWidth(40)
	long := strings.Repeat("0123456789abcde\n", 65536)
	e.Type("see ")
	e.Paste(long)
	e.Type("!")
	lines, y, x := e.View(5)
	if diff := cmp.Diff([]string{"see [pasted 1.0 MB]!"}, lines); diff != "" || y != 0 || x != 20 {
		t.Errorf("cursor %d,%d (-want +got):\n%s", y, x, diff)
	}
	if e.Value() != "see "+long+"!" {
		t.Error("the value is not what was pasted")
	}
	e.Left()
	e.Backspace()
	if got := e.Value(); got != "see !" {
		t.Errorf("after a backspace: %q", got)
	}
}

func TestShortPasteIsHarmless(t *testing.T) {
	t.Parallel()
	var e editor.Editor
	e.Paste("a\r\nb\x1b[31mc\xff")
	if got, want := e.Value(), "a\nbc\ufffd"; got != want {
		t.Errorf("Value() = %q, want %q", got, want)
	}
}

func TestKeysOfAShell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(*editor.Editor)
		want string // with | for the cursor
	}{
		{"word left", func(e *editor.Editor) { e.WordLeft() }, "one two\nthree |four"},
		{"home", func(e *editor.Editor) { e.Home() }, "one two\n|three four"},
		{"up", func(e *editor.Editor) { e.Up() }, "one two|\nthree four"},
		{"up and down keep the column", func(e *editor.Editor) { e.Up(); e.Down() }, "one two\nthree four|"},
		{"delete word", func(e *editor.Editor) { e.DeleteWord() }, "one two\nthree |"},
		{"delete to begin", func(e *editor.Editor) { e.DeleteToBegin() }, "one two\n|"},
		{"delete to end", func(e *editor.Editor) { e.Up(); e.Home(); e.WordRight(); e.DeleteToEnd() }, "one|\nthree four"},
		{"join", func(e *editor.Editor) { e.Home(); e.Backspace() }, "one two|three four"},
		{"delete", func(e *editor.Editor) { e.Up(); e.Home(); e.Delete() }, "|ne two\nthree four"},
	} {
		var e editor.Editor
		e.SetWidth(30)
		e.Set("one two\nthree four")
		tc.do(&e)
		e.Type("|")
		if got := e.Value(); got != tc.want {
			t.Errorf("%s: text = %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTextWrapsAtWords(t *testing.T) {
	t.Parallel()
	var e editor.Editor
	e.SetWidth(10)
	e.Set("one two three 日本語日本語 ")
	got, _, _ := e.View(9)
	if diff := cmp.Diff([]string{"one two ", "three 日本", "語日本語 "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnyEditingKeepsTheCursorOnTheScreen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e editor.Editor
		width := rapid.IntRange(4, 20).Draw(t, "width")
		e.SetWidth(width)
		steps := []func(){
			e.Left, e.Right, e.WordLeft, e.WordRight, e.Home, e.End, e.Backspace, e.Delete, e.DeleteWord, e.DeleteToBegin, e.DeleteToEnd,
			func() { e.Up() }, func() { e.Down() }, func() { e.Type("a ") }, func() { e.Type("日") }, func() { e.Type("\n") }, func() { e.Type("\t") },
			func() { e.Type("word") }, func() { e.Type("👩‍💻") }, func() { e.Paste(strings.Repeat("x", 5000)) }, func() { e.Restore(e.Draft()) },
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			before := e.Value()
			i := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
			steps[i]()
			if i < 6 && e.Value() != before {
				t.Fatalf("moving changed %q to %q", before, e.Value())
			}
			height := rapid.IntRange(1, 4).Draw(t, "height")
			lines, y, x := e.View(height)
			if y < 0 || y >= len(lines) || len(lines) > height || x < 0 || x > max(width, 16) {
				t.Fatalf("cursor %d,%d in %d lines", y, x, len(lines))
			}
			for _, l := range lines {
				if wrap.Width(l) > max(width, 16) {
					t.Fatalf("%q is wider than %d", l, width)
				}
			}
		}
	})
}

func BenchmarkTypeAfterLongPaste(b *testing.B) {
	var e editor.Editor
	e.SetWidth(80)
	e.Paste(strings.Repeat("x", 1<<20))
	for b.Loop() {
		e.Type("a")
		e.View(5)
		e.Backspace()
	}
}

func TestWhatIsTypedIsShownHarmless(t *testing.T) {
	t.Parallel()
	const typed = "a\x1b[31mb\u202e\u2028c\x07d\xffe"
	var e editor.Editor
	e.SetWidth(40)
	e.Type(typed)
	if e.Value() != typed {
		t.Errorf("the value is %q", e.Value())
	}
	lines, _, x := e.View(5)
	if want := "a[31mbcd\ufffde"; len(lines) != 1 || lines[0] != want || e.Shown() != want || x != 10 {
		t.Errorf("shown: %q, %q, cursor at %d", lines, e.Shown(), x)
	}
}
