package transcript

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/wrap"
)

const (
	// maxPreview is how many lines of an edit are shown while it is folded.
	maxPreview = 8
	// maxWhy is how many lines of a failed command's output are.
	maxWhy = 3
	// maxTasks is how many tasks of a plan are.
	maxTasks = 12
)

// body draws what is behind the line of a step, as far as it is shown.
func (p *painter) body(s *step) []string {
	width := max(p.width-margin-3, 2)
	var lines []string
	switch {
	case s.bare:
	case s.open || p.expanded:
		lines = p.whole(s, width)
	case p.small:
	default:
		lines = p.preview(s, width)
	}
	lines = append(lines, p.picture(s, width)...)
	lines = append(lines, p.refusals(s, width)...)
	bar := style(p.theme.Faint, "│ ")
	for i, l := range lines {
		lines[i] = bar + l
	}
	return lines
}

// preview draws what is shown of a folded step.
func (p *painter) preview(s *step, width int) []string {
	switch {
	case len(s.Tasks) > 0 && !s.stale:
		return p.plan(s.Tasks, width, maxTasks)
	case s.Diff != "":
		changes := parsePatch(s.Diff)
		if len(changes) > 0 && changes[0].kind == '@' {
			changes = changes[1:] // the numbers say it
		}
		lines := p.patch(changes[:min(len(changes), 2*maxPreview)], width)
		if len(lines) <= maxPreview && len(changes) <= 2*maxPreview && s.DiffCut == 0 {
			return lines
		}
		more := len(changes) - maxPreview + 1 + s.DiffCut
		return append(lines[:min(len(lines), maxPreview-1)], style(p.theme.Faint, cutLine("… "+count(more, "more line", "more lines")+" · Ctrl+O", width)))
	case s.State == Failed || s.State == Rejected:
		return p.lastLines(s.Output, width)
	case s.written() != "":
		return p.lastLines(s.written(), width)
	}
	return nil
}

// picture draws the picture of a step, or a line about it.
func (p *painter) picture(s *step, width int) []string {
	switch {
	case s.Picture == nil:
		return nil
	case len(s.shown) > 0 && wrap.Width(ansi.Strip(s.shown[0])) <= width:
		return slices.Clone(s.shown)
	}
	return []string{p.faint("▣ "+s.Picture.About, width)}
}

// lastLines are the last lines of an output, where the reason mostly is.
func (p *painter) lastLines(output string, width int) []string {
	all := strings.Split(strings.TrimRight(output, "\n"), "\n")
	var lines []string
	for _, l := range all[max(0, len(all)-maxWhy):] {
		if strings.TrimSpace(l) != "" {
			lines = append(lines, cutLine(strings.ReplaceAll(l, "\t", "    "), width))
		}
	}
	return lines
}

// whole is all that is known of a step.
func (p *painter) whole(s *step, width int) []string {
	switch {
	case s.Kind == Think:
		return wrap.Text(s.Input, width)
	case len(s.Tasks) > 0:
		return p.plan(s.Tasks, width, len(s.Tasks))
	case s.Diff != "" || s.DiffCut > 0:
		return p.edit(s, width)
	}
	return append(p.input(s, width), p.output(s, width)...)
}

// input is what a tool was told, where the line of the step does not say it.
func (p *painter) input(s *step, width int) []string {
	input := strings.TrimSpace(s.Input)
	switch {
	case input == "" || s.Kind == Read || s.Kind == Command && strings.HasSuffix(s.Line, " "+input):
		return nil
	case s.Kind == Command:
		var lines []string
		for i, l := range wrap.Verbatim([]wrap.Span{{Text: input, SGR: p.theme.Strong}}, max(width-2, 2)) {
			lines = append(lines, [2]string{"$ ", "  "}[min(i, 1)]+l)
		}
		return lines
	}
	return append([]string{p.faint("arguments", width)}, verbatim(input, width)...)
}

// output draws what a tool said.
func (p *painter) output(s *step, width int) []string {
	var lines []string
	switch {
	case s.Output != "" && s.Input != "" && s.Kind != Command && s.Kind != Read:
		lines = append([]string{p.faint("result", width)}, verbatim(s.Output, width)...)
	case s.Output != "":
		lines = verbatim(s.Output, width)
	case s.State == Done && s.Kind == Command:
		lines = []string{p.faint("no output", width)}
	case s.State == Running:
		lines = []string{p.faint("running", width)}
	}
	if s.OutputCut > 0 {
		lines = append(lines, p.faint(human.Size(int64(s.OutputCut))+" in the middle of the output are not shown", width))
	}
	return lines
}

func (p *painter) faint(text string, width int) string {
	return style(p.theme.Faint, cutLine(text, width))
}

func verbatim(text string, width int) []string {
	return wrap.Verbatim([]wrap.Span{{Text: strings.TrimRight(text, "\n")}}, width)
}

// edit is the patch of an edit.
func (p *painter) edit(s *step, width int) []string {
	lines := p.patch(parsePatch(s.Diff), width)
	switch {
	case s.DiffCut > 0 && s.Diff == "":
		lines = append(lines, style(p.theme.Faint, cutLine("the file is too large to compare", width)))
	case s.DiffCut > 0:
		lines = append(lines, style(p.theme.Faint, cutLine(count(s.DiffCut, "more line is not shown", "more lines are not shown"), width)))
	}
	return lines
}

// plan draws a list of tasks: what is done, what is at work, what is to do.
func (p *painter) plan(tasks []Task, width, most int) []string {
	done := 0
	for _, t := range tasks {
		if t.Status == "done" {
			done++
		}
	}
	lines := []string{style(p.theme.Faint, cutLine("Plan · "+human.Tokens(int64(done))+" of "+human.Tokens(int64(len(tasks)))+" done", width))}
	from := 0
	if len(tasks) > most { // those at work and to come
		from = min(max(0, done-1), len(tasks)-most)
	}
	for _, t := range tasks[from:min(from+most, len(tasks))] {
		mark, look := "○ ", ""
		switch t.Status {
		case "done":
			mark, look = "✓ ", p.theme.Faint
		case "in_progress":
			mark, look = "• ", p.theme.Accent
		}
		lines = append(lines, style(look, cutLine(mark+t.Title, width)))
		if t.Notes != "" && most == len(tasks) {
			for _, l := range wrap.Text(t.Notes, max(width-2, 2)) {
				lines = append(lines, style(p.theme.Faint, "  "+l))
			}
		}
	}
	if more := len(tasks) - most - from; more > 0 {
		lines = append(lines, style(p.theme.Faint, cutLine("… "+count(more, "more task", "more tasks"), width)))
	}
	return lines
}
