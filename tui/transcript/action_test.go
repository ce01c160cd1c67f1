package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

const patch = "@@ -10,4 +10,5 @@\n func retry() {\n-\tfor i := 0; i < 3; i++ {\n+\tfor i := range 5 {\n \t\ttry()\n+\t\tpause()\n"

func edit() transcript.Action {
	return transcript.Action{ID: "e", State: transcript.Done, Kind: transcript.Edit, Line: "Edit retry.go", Diff: patch, Added: 2, Removed: 1, Took: "12 ms"}
}

// acted is a list with one answer that has these actions.
func acted(width, height int, actions ...transcript.Action) *transcript.List {
	var a transcript.Answer
	for _, act := range actions {
		a.Act(act)
	}
	a.Text("done")
	a.End("done", false, nil)
	l := transcript.New(transcript.Theme{})
	l.SetSize(width, height)
	l.Add(&a)
	return l
}

func hasLines(t *testing.T, view string, lines ...string) {
	t.Helper()
	rest := view
	for _, line := range lines {
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			t.Errorf("%q is missing, or comes too early:\n%s", line, view)
			return
		}
		rest = after
	}
}

func TestAnEditIsShownUnified(t *testing.T) {
	t.Parallel()
	hasLines(t, view(acted(80, 20, edit())),
		"✓ Edit retry.go  +2 −1 · 12 ms",
		"│ 10   func retry() {",
		"│ 11 -     for i := 0; i < 3; i++ {",
		"│ 11 +     for i := range 5 {",
		"│ 12           try()",
		"│ 13 +         pause()",
	)
}

func TestAnEditIsShownSideBySideWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	hasLines(t, view(acted(140, 20, edit())),
		"│ 10   func retry() {",
		"│ 10   func retry() {",
		"│ 11 -     for i := 0; i < 3; i++ {",
		"│ 11 +     for i := range 5 {",
		"│ 13 +         pause()",
	)
	for line := range strings.Lines(view(acted(140, 20, edit()))) {
		if strings.Contains(line, "i < 3") && !strings.Contains(line, "range 5") {
			t.Errorf("the sides are not beside each other: %q", line)
		}
	}
}

func TestWordsThatDifferAreSetOff(t *testing.T) {
	t.Parallel()
	l := acted(80, 20, edit())
	l.SetTheme(transcript.Theme{AddedWord: "\x1b[1m", RemovedWord: "\x1b[4m"})
	v := strings.Join(l.View(), "\n")
	if !strings.Contains(v, "\x1b[1mrange\x1b[m") && !strings.Contains(v, "\x1b[1mrange 5\x1b[m") {
		t.Errorf("view = %q", v)
	}
}

func TestALongDiffIsFoldedUntilItIsOpened(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("@@ -0,0 +1,2000 @@\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "+line %d\n", i)
	}
	act := edit()
	act.Diff, act.DiffCut = b.String(), 7
	l := acted(80, 40, act)
	if v := view(l); !strings.Contains(v, "line 3") || strings.Contains(v, "line 20\n") || !strings.Contains(v, "1,999 more lines") && !strings.Contains(v, "2000 more lines") {
		t.Errorf("view = %s", v)
	}
	l.Unfold()
	l.Scroll(1995)
	if v := view(l); !strings.Contains(v, "line 1999") || !strings.Contains(v, "7 more lines are not shown") {
		t.Errorf("view = %s", v)
	}
}

func TestAPlanIsAPanelAndOnlyTheNewestIsShown(t *testing.T) {
	t.Parallel()
	old := transcript.Action{ID: "1", State: transcript.Done, Kind: transcript.Plan, Line: "Plan the work", Tasks: []transcript.Task{{Title: "An old task", Status: "todo"}}}
	plan := old
	plan.ID, plan.Tasks = "2", []transcript.Task{{Title: "Read", Status: "done"}, {Title: "Write", Status: "in_progress", Notes: "carefully"}, {Title: "Test", Status: "todo"}}
	v := view(acted(80, 30, old, plan))
	hasLines(t, v, "Plan · 1 of 3 done", "✓ Read", "• Write", "○ Test")
	if strings.Contains(v, "An old task") || strings.Contains(v, "carefully") {
		t.Errorf("view = %s", v)
	}
}

func TestAFailureShowsItsReason(t *testing.T) {
	t.Parallel()
	exit := 2
	act := transcript.Action{ID: "1", State: transcript.Failed, Kind: transcript.Command, Line: "$ make", Output: "1\n2\n3\n4\nmake: *** no rule\n", ExitCode: &exit, Took: "8 ms"}
	v := view(acted(80, 30, act))
	hasLines(t, v, "✗ $ make  exit code 2 · 8 ms", "│ 3", "│ make: *** no rule")
	if strings.Contains(v, "│ 2") {
		t.Errorf("too much is shown:\n%s", v)
	}
}

func TestAnActionIsReplacedByItsResult(t *testing.T) {
	t.Parallel()
	running := transcript.Action{ID: "1", State: transcript.Running, Kind: transcript.Command, Line: "$ sleep 1", Input: "sleep 1\necho done"}
	ended := running
	ended.State, ended.Input, ended.Output = transcript.Done, "", "done"
	l := acted(80, 30, running, ended)
	l.Unfold()
	v := view(l)
	hasLines(t, v, "✓ $ sleep 1", "$ sleep 1", "echo done", "done")
	if strings.Count(v, "$ sleep 1") != 2 {
		t.Errorf("view = %s", v)
	}
}

// Whatever a tool says, and however narrow the screen is, no line is too long.
func TestHostileActionsKeepTheLayout(t *testing.T) {
	t.Parallel()
	bits := []string{
		"\x1b[31mred", "\x1b]52;c;eA==\a", "世界", "👩‍💻", "e\u0301\u0301", "\u202eabc", "\u200b", "\t", "\n", "\r\n", "+", "-", "@@ -1 +1 @@\n", "@@ -9999999999 +x @@\n",
		"\\ No newline", strings.Repeat("x", 500), strings.Repeat("長", 100), "\xff", "\x00", " ", "--- a\n+++ b\n", "```", "word word",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return safe.Text(strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 12).Draw(t, name), ""))
		}
		var a transcript.Answer
		for i := range rapid.IntRange(1, 6).Draw(t, "actions") {
			act := transcript.Action{
				ID: fmt.Sprint(i), State: transcript.State(rapid.IntRange(0, 5).Draw(t, "state")), Kind: transcript.Kind(rapid.IntRange(0, 5).Draw(t, "kind")),
				Line: safe.Line(text("line")), Input: text("input"), Output: text("output"), Diff: text("diff"), DiffCut: rapid.IntRange(0, 2).Draw(t, "cut"),
				OutputCut: rapid.IntRange(0, 2).Draw(t, "output cut"),
			}
			if rapid.Bool().Draw(t, "tasks") {
				act.Tasks = []transcript.Task{{Title: safe.Line(text("title")), Notes: safe.Line(text("notes")), Status: "done"}, {}}
			}
			a.Act(act)
		}
		l := transcript.New(transcript.Theme{Faint: "\x1b[2m", Added: "\x1b[32m", AddedWord: "\x1b[1m"})
		l.Add(&a)
		for range 4 {
			width, height := rapid.IntRange(2, 150).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
			l.SetSize(width, height)
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0:
				l.Unfold()
			case 1:
				l.Select(rapid.Bool().Draw(t, "earlier"))
				l.Toggle()
			case 2:
				l.View()
				l.Click(rapid.IntRange(-1, 40).Draw(t, "row"))
			case 3:
				l.Scroll(rapid.IntRange(-50, 50).Draw(t, "by"))
			case 4:
				l.Find("x", rapid.Bool().Draw(t, "down"), false)
			}
			lines := l.View()
			if len(lines) != height {
				t.Fatalf("%d lines, want %d", len(lines), height)
			}
			for _, line := range lines {
				if width >= 12 && ansi.StringWidth(line) > width || strings.ContainsAny(line, "\n\r\t\a\x00") {
					t.Fatalf("%q is too wide for %d", line, width)
				}
			}
		}
	})
}
