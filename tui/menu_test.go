package tui

import (
	"fmt"
	"strings"
	"testing"
)

// A menu that was scrolled in a small window shows all that fits in a larger one.
func TestAScrolledMenuFitsALargerWindow(t *testing.T) {
	t.Parallel()
	n := menu{word: "/", at: 20}
	for i := range 30 {
		n.entries = append(n.entries, entry{name: fmt.Sprintf("/%d", i)})
	}
	for _, height := range []int{5, 45, 12, 31, 2} {
		lines := n.view(looks{}, 80, height)
		if want := min(height, 1+len(n.entries)); len(lines) != want {
			t.Errorf("%d lines in a window of %d, want %d", len(lines), height, want)
		}
		if text := strings.Join(lines, "\n"); !strings.Contains(text, "› /20") {
			t.Errorf("the chosen entry is not in %q", text)
		}
	}
}
