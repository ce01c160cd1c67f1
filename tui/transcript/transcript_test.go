package transcript_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/transcript"
)

func answered(texts ...string) *transcript.Answer {
	var a transcript.Answer
	for _, s := range texts {
		a.Text(s)
	}
	a.End("done", false, nil)
	return &a
}

// dialogue is a list of n questions and answers.
func dialogue(n int) *transcript.List {
	l := transcript.New(transcript.Theme{})
	for i := range n {
		l.Add(transcript.NewQuestion(fmt.Sprintf("question %d", i), nil))
		l.Add(answered(fmt.Sprintf("answer %d with **some** words\n\n- one\n- two\n\n```go\nreturn %d\n```\n", i, i)))
	}
	return l
}

func view(l *transcript.List) string { return ansi.Strip(strings.Join(l.View(), "\n")) }

func TestEndStaysInViewUntilSomebodyScrolls(t *testing.T) {
	t.Parallel()
	l := dialogue(50)
	l.SetSize(60, 12)
	if v := view(l); !strings.Contains(v, "return 49") || !l.Following() {
		t.Fatalf("the end is not in view:\n%s", v)
	}
	l.Scroll(-20)
	before := view(l)
	l.Add(answered("more"))
	if after := view(l); after != before || l.Following() {
		t.Errorf("what is read moves (-before +after):\n%s", cmp.Diff(before, after))
	}
	l.Scroll(1000)
	if v := view(l); !strings.Contains(v, "more") || !l.Following() {
		t.Errorf("scrolling to the end does not follow it:\n%s", v)
	}
}

func TestTheLastLineOfATextMayBeginABlock(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"```\ncode\n```\n\n", "<div>\nhtml\n</div>\n"} {
		var a transcript.Answer
		a.Text(first + "# Title")
		a.Progress("$ ls")
		a.Text(first + "# End")
		a.End("done", false, nil)
		l := transcript.New(transcript.Theme{})
		l.Add(&a)
		l.SetSize(40, 40)
		if v := view(l); strings.Contains(v, "#") || strings.Contains(v, "```") {
			t.Errorf("view = %s", v)
		}
		if src := a.Source(); src != first+"# Title\n\n"+first+"# End" {
			t.Errorf("source %q", src)
		}
	}
}

func TestResizeKeepsWhatIsRead(t *testing.T) {
	t.Parallel()
	l := dialogue(50)
	l.SetSize(60, 12)
	l.Top()
	l.Scroll(200)
	first, _, _ := strings.Cut(strings.TrimSpace(view(l)), "\n")
	l.SetSize(30, 5)
	l.SetSize(60, 12)
	if v := view(l); !strings.Contains(v, first) {
		t.Errorf("%q is gone:\n%s", first, v)
	}
}

// TestScrollingIsALook compares every way of scrolling with the whole text.
func TestScrollingIsALook(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := dialogue(rapid.IntRange(0, 6).Draw(t, "messages"))
		width, height := rapid.IntRange(8, 60).Draw(t, "width"), rapid.IntRange(1, 15).Draw(t, "height")
		l.SetSize(width, 500)
		whole := strings.TrimRight(view(l), "\n")
		total := strings.Count(whole, "\n") + 1
		l.SetSize(width, height)
		l.Top()
		at := 0
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			n := rapid.IntRange(-12, 12).Draw(t, "by")
			l.Scroll(n)
			l.View()
			at = min(max(at+n, 0), max(total-height, 0))
			want := strings.Split(whole, "\n")[min(at, total-1):]
			got := l.View()
			for i := range got {
				if i < len(want) && ansi.Strip(got[i]) != want[i] {
					t.Fatalf("line %d at %d of %d is %q, want %q", i, at, total, ansi.Strip(got[i]), want[i])
				}
			}
			if len(got) != height {
				t.Fatalf("%d lines, want %d", len(got), height)
			}
		}
	})
}

func TestAnswerRestartsWithoutATrace(t *testing.T) {
	t.Parallel()
	l := transcript.New(transcript.Theme{})
	l.SetSize(40, 10)
	var a transcript.Answer
	l.Add(&a)
	a.Progress("$ one")
	a.Text("first\n\nhalf")
	l.View()
	a.Become(&transcript.Answer{})
	if v := strings.TrimSpace(view(l)); v != "" {
		t.Errorf("after a restart there is %q", v)
	}
	a.Text("whole")
	a.End("", false, nil)
	if v := strings.TrimSpace(view(l)); v != "whole" || a.Actions() != 0 || a.Source() != "whole" {
		t.Errorf("then %q", v)
	}
}

func TestNoticeIsCutOffTheEnd(t *testing.T) {
	t.Parallel()
	a := answered("said\n\n", "It waits.\n\n- a\n")
	a.Cut("It waits.\n\n- a\n")
	if a.Source() != "said" {
		t.Errorf("left %q", a.Source())
	}
	a.Cut("other")
	if a.Source() != "said" {
		t.Errorf("left %q", a.Source())
	}
}

func TestSearchGoesAroundBothEnds(t *testing.T) {
	t.Parallel()
	l := dialogue(30)
	l.SetSize(60, 6)
	seen := map[string]bool{}
	if !l.Find("QUESTION 1", false, false) {
		t.Fatal("not found")
	}
	for range 20 {
		for line := range strings.SplitSeq(view(l), "\n") {
			if _, n, ok := strings.Cut(line, "question 1"); ok {
				seen[n] = true
			}
		}
		l.Find("question 1", false, true)
	}
	if len(seen) != 11 { // 1 and 10 to 19
		t.Errorf("found %v", seen)
	}
	if l.Matches() != 11 {
		t.Errorf("%d messages match", l.Matches())
	}
	if l.Find("nowhere", true, true) {
		t.Error("what is not there is found")
	}
}

func TestLongAnswerTakesLittleMemory(t *testing.T) {
	l := transcript.New(transcript.Theme{})
	l.SetSize(80, 24)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var a transcript.Answer
	l.Add(&a)
	a.Text("the beginning\n\n")
	piece := strings.Repeat("A paragraph of **words** that goes on for a while, with `code` in it. ", 30) + "\n\n"
	for n := 0; n < 5<<20; n += len(piece) {
		a.Text(piece)
		if n%(64<<10) < len(piece) {
			l.View()
		}
	}
	for l.Scroll(-400); ; l.Scroll(-400) {
		if strings.Contains(view(l), "the beginning") {
			break
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; used > 10 {
		t.Errorf("an answer of 5 MB takes %d MB", used)
	}
	runtime.KeepAlive(l)
}

func BenchmarkScroll(b *testing.B) {
	l := dialogue(1000)
	l.SetSize(120, 40)
	l.Top()
	b.ReportAllocs()
	for b.Loop() {
		l.Scroll(3)
		if l.Following() {
			l.Top()
		}
		l.View()
	}
}

func BenchmarkResize(b *testing.B) {
	l := dialogue(1000)
	l.Scroll(-3000)
	b.ReportAllocs()
	width := 80
	for b.Loop() {
		width = 80 + (width+1)%60
		l.SetSize(width, 40)
		l.View()
	}
}

// BenchmarkLongAnswer adds 5 MB to an answer in pieces of a batch, with a view
// after each.
func BenchmarkLongAnswer(b *testing.B) {
	piece := strings.Repeat("some words of an answer, ", 3) + "\n\n"
	for b.Loop() {
		l := transcript.New(transcript.Theme{})
		var a transcript.Answer
		l.Add(&a)
		for n := 0; n < 5<<20; n += len(piece) * 20 {
			for range 20 {
				a.Text(piece)
			}
			l.View()
		}
	}
}
