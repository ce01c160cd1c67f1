package tui

import (
	"github.com/ohgw/ohgw/tui/wrap"
)

// welcome fills an empty transcript.
type welcome struct {
	notices []string // of the start; later they are in the transcript
}

// leave returns the notices when the transcript begins.
func (w *welcome) leave() []string {
	notices := w.notices
	w.notices = nil
	return notices
}

// view draws exactly height lines. model is who is asked, place is where.
func (w *welcome) view(l looks, model, place string, width, height int) []string {
	var lines []string
	add := func(look, s string) {
		for _, part := range wrap.Text(s, max(width-4, 4)) {
			lines = append(lines, paint(look, part))
		}
	}
	lines = append(lines, paint(l.picked, "ohgw")+paint(l.strong, " chat"), "")
	add("", model)
	if height > 6 {
		add(l.faint, place)
	}
	for _, n := range w.notices {
		lines = append(lines, "")
		add(l.faint, n)
	}
	if height >= len(lines)+8 {
		lines = append(lines, "")
		for _, k := range [][2]string{
			{"Enter", "send"}, {"Ctrl+J", "new line"}, {"Ctrl+P", "pick a model"}, {"Ctrl+R", "resume a conversation"}, {"?", "all keys"},
		} {
			lines = append(lines, paint(l.accent, wrap.Pad(k[0], 8))+paint(l.faint, wrap.Cut(k[1], max(width-12, 1))))
		}
	}
	out := make([]string, max((height-len(lines))/3, 0), height)
	for _, line := range lines {
		if line != "" {
			line = "  " + line
		}
		out = append(out, line)
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out[:height]
}
