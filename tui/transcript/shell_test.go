package transcript

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheOutputOfACommandIsBounded(t *testing.T) {
	t.Parallel()
	s := NewShell("yes")
	for i := range 100_000 {
		s.Print(fmt.Sprintf("line %d\n", i))
	}
	text := s.Text()
	if len(text) > shellHead+2*shellTail+100 || !strings.HasPrefix(text, "line 0\n") || !strings.HasSuffix(text, "line 99999\n") || !strings.Contains(text, " left out …") {
		t.Errorf("%d bytes: %.20q … %q", len(text), text, text[len(text)-20:])
	}
}

func TestTheLastLinesOfACommandAreShown(t *testing.T) {
	t.Parallel()
	s := NewShell("seq 50")
	for i := range 50 {
		s.Print(fmt.Sprintf("n%d\n", i))
	}
	s.End("exit code 0", false)
	p := &painter{width: 80}
	got := strings.Join(s.cell(0, p), "\n")
	if !strings.Contains(got, "! seq 50") || !strings.Contains(got, "30 earlier lines\n  n30\n") || !strings.HasSuffix(got, "n49\n  exit code 0") {
		t.Errorf("cell = %s", got)
	}
	p.expanded = true
	if got := strings.Join(s.cell(0, p), "\n"); !strings.Contains(got, "n0\n") {
		t.Errorf("opened: %s", got)
	}
}
