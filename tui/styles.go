package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/transcript"
	"github.com/ohgw/ohgw/tui/wrap"
)

// looks are all styles, by what they mean, each the escape sequence that
// begins it. Colour never tells anything alone; where there is none, weight
// and marks do.
type looks struct {
	accent, strong, faint, bad, good, warn, picked string
	theme                                          transcript.Theme
}

// Theme is a choice of colours.
type Theme string

// The themes. Auto is Light or Dark, as the terminal says; Terminal takes the 16
// colours that the terminal's user has chosen.
const (
	Auto     Theme = "auto"
	Light    Theme = "light"
	Dark     Theme = "dark"
	Terminal Theme = "terminal"
)

// canvas is what the terminal can show.
type canvas struct {
	theme          Theme
	dark, coloured bool
	rich           bool // 256 colours or more
}

// shade is one colour: on a light background, on a dark one, and as one of 16.
type shade string

// The colours.
const (
	violet shade = "#6D28D9 #A78BFA 5"
	grey   shade = "#6B7280 #8B90A0 8"
	red    shade = "#B91C1C #F87171 1"
	green  shade = "#15803D #4ADE80 2"
	amber  shade = "#B45309 #FBBF24 3"
	blue   shade = "#1D4ED8 #93C5FD 4"
	sky    shade = "#1D4ED8 #7DD3FC 6"
	pink   shade = "#BE185D #F0ABFC 5"
	lilac  shade = "#7C3AED #C4B5FD 5"
	mint   shade = "#047857 #86EFAC 2"
	orange shade = "#B45309 #FDBA74 3"
)

// onDark reports whether the background counts as dark.
func (c canvas) onDark() bool { return c.theme == Dark || c.theme != Light && c.dark }

// colour is what a shade is on the canvas.
func (c canvas) colour(s shade) ansi.Style {
	of := strings.Fields(string(s))
	switch {
	case !c.coloured:
		return ansi.Style{}
	case c.theme == Terminal:
		return ansi.Style{}.ForegroundColor(lipgloss.Color(of[2]))
	case c.onDark():
		return ansi.Style{}.ForegroundColor(lipgloss.Color(of[1]))
	}
	return ansi.Style{}.ForegroundColor(lipgloss.Color(of[0]))
}

// newLooks makes the looks for a canvas. Bubble Tea takes colours down to
// what the terminal has; background of code needs 256 of them to look well.
func newLooks(c canvas) looks {
	fg := c.colour
	accent, faint := fg(violet), fg(grey)
	if !c.coloured {
		faint = faint.Faint()
	}
	l := looks{
		accent: sgr(accent), strong: sgr(ansi.Style{}.Bold()), faint: sgr(faint), bad: sgr(fg(red)),
		good: sgr(fg(green)), warn: sgr(fg(amber)), picked: sgr(accent.Bold()),
	}
	if !c.coloured {
		l.picked = sgr(ansi.Style{}.Reverse(true))
	}
	l.theme = transcript.Theme{
		Accent: l.accent, Strong: "", Faint: l.faint, Bad: l.bad, Good: l.good, Warn: l.warn, Found: sgr(ansi.Style{}.Reverse(true)),
		Selected: l.picked, Added: sgr(fg(green)), Removed: sgr(fg(red)),
		AddedWord: sgr(fg(green).Bold().Underline(true)), RemovedWord: sgr(fg(red).Bold().Underline(true)),
		Markdown: markdown.Theme{
			Heading: sgr(accent.Bold()), Strong: l.strong, Emphasis: sgr(ansi.Style{}.Italic(true)), Strike: sgr(ansi.Style{}.Strikethrough(true)),
			Link: sgr(fg(blue).Underline(true)), Address: sgr(fg(blue)), Code: sgr(fg(pink)),
			Faint: l.faint, Keyword: sgr(fg(lilac)), String: sgr(fg(mint)), Number: sgr(fg(orange)),
			Comment: sgr(faint.Italic(true)), Function: sgr(fg(sky)), Added: sgr(fg(green)),
			Removed: sgr(fg(red)), Marked: !c.coloured,
		},
	}
	if c.rich && c.theme != Terminal {
		bg := lipgloss.Color("#F3F4F6")
		if c.onDark() {
			bg = lipgloss.Color("#262626")
		}
		l.theme.Markdown.Block = sgr(ansi.Style{}.BackgroundColor(bg))
	}
	return l
}

func sgr(s ansi.Style) string {
	if len(s) == 0 {
		return ""
	}
	return s.String()
}

// paint puts s into a look.
func paint(look, s string) string {
	if look == "" || s == "" {
		return s
	}
	return look + s + ansi.ResetStyle
}

// rule is a line over the width with a title in it.
func rule(look, title string, width int) string {
	if title == "" {
		return paint(look, strings.Repeat("─", width))
	}
	used := ansi.StringWidth(title) + 4
	if used > width {
		return paint(look, strings.Repeat("─", width))
	}
	return paint(look, "──") + " " + title + " " + paint(look, strings.Repeat("─", width-used))
}

// visibleWidth is the width of a text that has looks.
func visibleWidth(s string) int { return wrap.Width(ansi.Strip(s)) }
