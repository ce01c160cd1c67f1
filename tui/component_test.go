package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// shown is what a component draws, without looks.
func shown(lines []string) string {
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n")
}

// fruits is a picker that notes what was picked.
func fruits(picked *string) *picker {
	var items []item
	for _, name := range []string{"apple", "banana", "cherry"} {
		items = append(items, item{name: name, detail: "a fruit", pick: func() tea.Cmd { *picked = name; return nil }})
	}
	return newPicker("Fruits", items)
}

func TestPickerTakesKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, keys, picked string
		closed             bool
	}{
		{"first", "enter", "apple", true},
		{"next", "down enter", "banana", true},
		{"before the first", "up enter", "apple", true},
		{"behind the last", "pgdown enter", "cherry", true},
		{"there and back", "pgdown pgup enter", "apple", true},
		{"narrowed", "c h enter", "cherry", true},
		{"an erased letter", "c backspace enter", "apple", true},
		{"a cleared query", "c ctrl+u enter", "apple", true},
		{"nothing", "z enter", "", true},
		{"esc", "down esc", "", true},
		{"open", "down", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var picked string
			var closed bool
			p := fruits(&picked)
			for _, k := range strings.Fields(tc.keys) {
				msg, ok := named[k]
				if !ok {
					msg = tea.KeyPressMsg{Text: k, Code: rune(k[0])}
				}
				_, closed = p.key(msg)
			}
			if picked != tc.picked {
				t.Errorf("picked %q, want %q", picked, tc.picked)
			}
			if closed != tc.closed {
				t.Errorf("closed = %v, want %v", closed, tc.closed)
			}
		})
	}
}

func TestPickerShowsTheChosenLine(t *testing.T) {
	t.Parallel()
	var picked string
	p := fruits(&picked)
	p.move(2)
	want := "── Fruits  ▏ ────────────────\n  banana  a fruit\n› cherry  a fruit"
	if diff := cmp.Diff(want, shown(p.view(looks{}, 29, 3))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPickerIsNarrowedByAPaste(t *testing.T) {
	t.Parallel()
	var picked string
	p := fruits(&picked)
	if !p.paste("ban\x1b[2J\nana") {
		t.Error("the paste is not taken")
	}
	if want := "ban ana"; p.query != want {
		t.Errorf("the query is %q, want %q", p.query, want)
	}
}

func TestPickerKeepsItsQueryWhenItsItemsChange(t *testing.T) {
	t.Parallel()
	var picked string
	p := fruits(&picked)
	p.write("kiwi")
	if n := len(p.shown); n != 0 {
		t.Errorf("%d fruits are shown", n)
	}
	p.setItems([]item{{name: "kiwi"}, {name: "lemon"}})
	if n := len(p.shown); n != 1 {
		t.Errorf("%d fruits are shown, want 1", n)
	}
}

func TestHelpScrollsAndEveryOtherKeyClosesIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys   string
		top    int
		closed bool
	}{
		{"down", 1, false},
		{"down down up", 1, false},
		{"up", 0, false},
		{"pgdown", 10, false},
		{"pgdown ctrl+home", 0, false},
		{"shift+down", 1, false},
		{"enter", 0, true},
		{"esc", 0, true},
	} {
		h := &helper{title: "Help", rows: helpRows()}
		closed := false
		for _, k := range strings.Fields(tc.keys) {
			_, closed = h.key(named[k])
		}
		if h.top != tc.top {
			t.Errorf("after %s the top is line %d, want %d", tc.keys, h.top, tc.top)
		}
		if closed != tc.closed {
			t.Errorf("after %s closed = %v, want %v", tc.keys, closed, tc.closed)
		}
	}
}

func TestHelpEndsAtItsLastLine(t *testing.T) {
	t.Parallel()
	h := &helper{title: "Help", rows: helpRows(), top: 10_000}
	lines := h.view(looks{}, 80, 10)
	if len(lines) != 10 {
		t.Errorf("%d lines, want 10", len(lines))
	}
	if last := ansi.Strip(lines[9]); !strings.Contains(last, "path") {
		t.Errorf("the last line is %q", last)
	}
}

func TestHelpLeavesAPasteToTheInput(t *testing.T) {
	t.Parallel()
	if (&helper{}).paste("text") {
		t.Error("the help takes a paste")
	}
}

// hay is a finder in a transcript.
func hay(texts ...string) *finder {
	log := transcript.New(transcript.Theme{})
	for _, text := range texts {
		log.Add(transcript.NewQuestion(text, nil))
	}
	return &finder{log: log, ready: func() {}, look: func(action) bool { return true }}
}

func TestFinderSaysWhatItFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ keys, want string }{
		{"", "/  text to find · ↑ ↓ next · Esc"},
		{"n e e", "/nee  in 2 messages · ↑ ↓ next · Esc"},
		{"n e e d l e s", "/needles  in 1 message · ↑ ↓ next · Esc"},
		{"x", "/x  not found · ↑ ↓ next · Esc"},
		{"x backspace", "/  text to find · ↑ ↓ next · Esc"},
		{"x ctrl+u n e e", "/nee  in 2 messages · ↑ ↓ next · Esc"},
	} {
		f := hay("a needle", "hay", "two needles")
		for _, k := range strings.Fields(tc.keys) {
			msg, ok := named[k]
			if !ok {
				msg = tea.KeyPressMsg{Text: k, Code: rune(k[0])}
			}
			f.key(msg)
		}
		line, _ := f.prompt(looks{}, 60)
		if got := strings.TrimRight(ansi.Strip(line), " "); got != tc.want {
			t.Errorf("after %q the line is %q, want %q", tc.keys, got, tc.want)
		}
	}
}

func TestFinderClosesWithEsc(t *testing.T) {
	t.Parallel()
	if _, closed := hay("a").key(named["esc"]); !closed {
		t.Error("Esc does not close the search")
	}
	if _, closed := hay("a").key(named["enter"]); closed {
		t.Error("Enter closes the search")
	}
}

func TestComposerGivesQuestionsBackInTheirOrder(t *testing.T) {
	t.Parallel()
	var c composer
	c.typed("three")
	c.giveBack([]string{"one", "two"})
	if got, want := c.Value(), "one\ntwo\nthree"; got != want {
		t.Errorf("the input is %q, want %q", got, want)
	}
}

func TestComposerKeepsEqualQuestionsOnce(t *testing.T) {
	t.Parallel()
	var c composer
	for _, q := range []string{"a", "a", "b", "a"} {
		c.sent(q)
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, c.history); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestComposerKeepsAChangedOldQuestion(t *testing.T) {
	t.Parallel()
	var c composer
	c.SetWidth(40)
	c.sent("old")
	c.typed("draft")
	c.move(earlier)
	c.typed("er")
	c.move(earlier)
	c.move(earlier)
	if got, want := c.history, []string{"old", "older"}; !cmp.Equal(got, want) {
		t.Errorf("history %q, want %q", got, want)
	}
	for range 3 {
		c.move(later)
	}
	if got := c.Value(); got != "draft" {
		t.Errorf("the draft is %q", got)
	}
}

func TestEveryEditIsAKey(t *testing.T) {
	t.Parallel()
	keys := map[action]bool{}
	for _, b := range bindings {
		keys[b.do] = true
	}
	for do := range edits {
		if !keys[do] {
			t.Errorf("no key does the edit %d", do)
		}
	}
	for do := range scrolls {
		if !keys[do] {
			t.Errorf("no key scrolls as %d does", do)
		}
	}
}

func TestWheelIsThreeFastArrows(t *testing.T) {
	t.Parallel()
	const fast, slow = 5 * time.Millisecond, 40 * time.Millisecond
	up := func(n int, after time.Duration) []time.Duration {
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = after
		}
		return all
	}
	for _, tc := range []struct {
		name  string
		pace  []time.Duration
		can   bool
		lines int // in all
	}{
		{"two", up(2, fast), true, 0},
		{"three", up(3, fast), true, -3},
		{"five", up(5, fast), true, -5},
		{"a held key", up(9, slow), true, 0},
		{"nothing to scroll", up(9, fast), false, 0},
		{"the end of a gesture", append(up(3, fast), up(2, slow)...), true, -5},
		{"a pause", append(up(3, fast), time.Second, fast), true, -3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var w wheel
			var in composer
			now := time.Unix(1, 0)
			lines := 0
			for _, d := range tc.pace {
				now = now.Add(d)
				lines += w.arrow(earlier, now, &in, func(bool) bool { return tc.can })
			}
			if lines != tc.lines {
				t.Errorf("scrolled %d lines, want %d", lines, tc.lines)
			}
		})
	}
}

func TestWheelTakesBackWhatItsFirstArrowsDid(t *testing.T) {
	t.Parallel()
	var w wheel
	var in composer
	in.SetWidth(40)
	in.sent("old")
	in.typed("draft")
	now := time.Unix(1, 0)
	for range 3 {
		now = now.Add(time.Millisecond)
		if w.arrow(earlier, now, &in, func(bool) bool { return true }) == 0 {
			in.move(earlier)
		}
	}
	if got := in.Value(); got != "draft" {
		t.Errorf("the input is %q", got)
	}
}

func TestCardFitsItsRoom(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 10, 23, 24, 40, 80, 200} {
		c := confirmation(looks{}, width, []string{"$ one", "$ two", "$ three", "$ four"})
		for room := range 12 {
			lines := c.view(looks{}, width, room)
			if len(lines) > max(room, 0) {
				t.Errorf("%d lines in a room of %d at width %d", len(lines), room, width)
			}
			for _, l := range lines {
				if n := ansi.StringWidth(l); n > max(width, visibleWidth(c.keys)) {
					t.Errorf("%q takes %d of %d cells", l, n, width)
				}
			}
		}
	}
}

func TestCardSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	c := confirmation(looks{}, 40, []string{"$ one", "$ two", "$ three", "$ four"})
	for room, want := range map[int]string{8: "four", 6: "…", 4: "more"} {
		if got := shown(c.view(looks{}, 40, room)); !strings.Contains(got, want) {
			t.Errorf("in %d lines %q is missing:\n%s", room, want, got)
		}
	}
}

func TestTroubleHasACardAndReadyHasNone(t *testing.T) {
	t.Parallel()
	for state := session.Connecting; state <= session.Broken; state++ {
		c := trouble(looks{}, 80, session.Link{State: state, Err: errors.New("cause")}, Config{})
		quiet := state == session.Connecting || state == session.Ready
		if (c == nil) != quiet {
			t.Errorf("state %d has the card %+v", state, c)
		}
	}
}

func TestWelcomeFillsTheScreen(t *testing.T) {
	t.Parallel()
	w := welcome{notices: []string{"A notice."}}
	for height := range 30 {
		if got := len(w.view(looks{}, "model", "place", 40, height)); got != height {
			t.Errorf("%d lines, want %d", got, height)
		}
	}
	if got := shown(w.view(looks{}, "a model", "a place", 40, 20)); !strings.Contains(got, "a model") {
		t.Errorf("the model is missing:\n%s", got)
	}
}

func TestWelcomeGivesItsNoticesOnce(t *testing.T) {
	t.Parallel()
	w := welcome{notices: []string{"A notice."}}
	if diff := cmp.Diff([]string{"A notice."}, w.leave()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := w.leave(); again != nil {
		t.Errorf("the second time it gives %q", again)
	}
}

func TestALaterMessageIsNotTakenAwayByAnEarlier(t *testing.T) {
	t.Parallel()
	var s status
	s.say("one")
	s.say("two")
	if s.over(flashMsg{1}) {
		t.Error("the first message took the second away")
	}
	if s.flash != "two" {
		t.Errorf("the message is %q", s.flash)
	}
	if !s.over(flashMsg{2}) {
		t.Error("the second message stays")
	}
}

func TestPathsOfPicturesAreKnown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"/tmp/a.png", "/tmp/a.png"},
		{" 'a shot.JPG'\n", "a shot.JPG"},
		{`"q.webp"`, "q.webp"},
		{`/tmp/a\ \(1\).gif`, "/tmp/a (1).gif"},
		{"file:///tmp/x.jpeg", "/tmp/x.jpeg"},
		{"/tmp/a.txt", ""},
		{"a.png\nb.png", ""},
		{"", ""},
		{"'", ""},
		{strings.Repeat("x", 5000) + ".png", ""},
	} {
		if got := imagePath(tc.text); got != tc.want {
			t.Errorf("imagePath(%.40q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}
