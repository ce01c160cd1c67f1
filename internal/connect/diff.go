package connect

import "strings"

// context is how many lines around a change are shown.
const context = 3

// Diff shows what changes between two texts, as one piece, in the form of a
// unified diff without line numbers. It is "" when nothing does.
func Diff(old, changed string) string {
	if old == changed {
		return ""
	}
	a, b := lines(old), lines(changed)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(sign string, lines []string) {
		for _, l := range lines {
			out.WriteString(sign + l + "\n")
		}
	}
	write(" ", a[max(0, head-context):head])
	write("-", a[head:len(a)-tail])
	write("+", b[head:len(b)-tail])
	write(" ", a[len(a)-tail:len(a)-tail+min(context, tail)])
	return out.String()
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
