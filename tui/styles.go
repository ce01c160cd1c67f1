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

// canvas is what the terminal can show.
type canvas struct {
	dark, coloured bool
	rich           bool // 256 colours or more
}

// newLooks makes the looks for a canvas. Bubble Tea takes colours down to
// what the terminal has; background of code needs 256 of them to look well.
func newLooks(c canvas) looks {
	pick := lipgloss.LightDark(c.dark)
	fg := func(light, dark string) ansi.Style {
		if !c.coloured {
			return ansi.Style{}
		}
		return ansi.Style{}.ForegroundColor(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	accent, faint := fg("#6D28D9", "#A78BFA"), fg("#6B7280", "#8B90A0")
	if !c.coloured {
		faint = faint.Faint()
	}
	l := looks{
		accent: sgr(accent), strong: sgr(ansi.Style{}.Bold()), faint: sgr(faint), bad: sgr(fg("#B91C1C", "#F87171")),
		good: sgr(fg("#15803D", "#4ADE80")), warn: sgr(fg("#B45309", "#FBBF24")), picked: sgr(accent.Bold()),
	}
	if !c.coloured {
		l.picked = sgr(ansi.Style{}.Reverse(true))
	}
	l.theme = transcript.Theme{
		Accent: l.accent, Strong: "", Faint: l.faint, Bad: l.bad, Good: l.good, Found: sgr(ansi.Style{}.Reverse(true)),
		Selected: l.picked, Added: sgr(fg("#15803D", "#4ADE80")), Removed: sgr(fg("#B91C1C", "#F87171")),
		AddedWord: sgr(fg("#15803D", "#4ADE80").Bold().Underline(true)), RemovedWord: sgr(fg("#B91C1C", "#F87171").Bold().Underline(true)),
		Markdown: markdown.Theme{
			Heading: sgr(accent.Bold()), Strong: l.strong, Emphasis: sgr(ansi.Style{}.Italic(true)), Strike: sgr(ansi.Style{}.Strikethrough(true)),
			Link: sgr(fg("#1D4ED8", "#93C5FD").Underline(true)), Address: sgr(fg("#1D4ED8", "#93C5FD")), Code: sgr(fg("#BE185D", "#F0ABFC")),
			Faint: l.faint, Keyword: sgr(fg("#7C3AED", "#C4B5FD")), String: sgr(fg("#047857", "#86EFAC")), Number: sgr(fg("#B45309", "#FDBA74")),
			Comment: sgr(faint.Italic(true)), Function: sgr(fg("#1D4ED8", "#7DD3FC")), Added: sgr(fg("#15803D", "#4ADE80")),
			Removed: sgr(fg("#B91C1C", "#F87171")), Marked: !c.coloured,
		},
	}
	if c.rich {
		bg := pick(lipgloss.Color("#F3F4F6"), lipgloss.Color("#262626"))
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
