package iostream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/iostream"
)

func TestUseColor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mode iostream.ColorMode
		tty  bool
		env  map[string]string
		want bool
	}{
		{"a terminal has colour", iostream.ColorAuto, true, nil, true},
		{"a pipe has none", iostream.ColorAuto, false, nil, false},
		{"NO_COLOR", iostream.ColorAuto, true, map[string]string{"NO_COLOR": "1"}, false},
		{"NO_COLOR beats CLICOLOR_FORCE", iostream.ColorAuto, true, map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, false},
		{"CLICOLOR_FORCE in a pipe", iostream.ColorAuto, false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{"CLICOLOR_FORCE=0 forces nothing", iostream.ColorAuto, false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{"CLICOLOR_FORCE beats a dumb terminal", iostream.ColorAuto, true, map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true},
		{"a dumb terminal", iostream.ColorAuto, true, map[string]string{"TERM": "dumb"}, false},
		{"always beats everything", iostream.ColorAlways, false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{"never beats everything", iostream.ColorNever, true, map[string]string{"CLICOLOR_FORCE": "1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := iostream.UseColor(tt.mode, tt.tty, func(k string) string { return tt.env[k] }); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestParseColorMode(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"auto", "always", "never"} {
		if got, err := iostream.ParseColorMode(s); err != nil || string(got) != s {
			t.Errorf("ParseColorMode(%q) = %q, %v", s, got, err)
		}
	}
	if _, err := iostream.ParseColorMode("sometimes"); err == nil {
		t.Error("an unknown mode passed")
	}
}

func TestStyledNeedsColor(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := iostream.New(&b, true, nil)
	fmt.Fprint(w, w.Styled(iostream.Red, "a"))
	w.SetColor(true)
	fmt.Fprint(w, w.Styled(iostream.Red, "b"), w.Styled(iostream.Bold, ""))
	if got, want := b.String(), "a\x1b[31mb\x1b[0m"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	if got := iostream.New(nil, true, nil).Width(); got != 80 {
		t.Errorf("unknown width = %d, want 80", got)
	}
	width := 40
	w := iostream.New(nil, true, func() int { return width })
	width = 50
	if got := w.Width(); got != 50 {
		t.Errorf("width after a resize = %d, want 50", got)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if w := iostream.FromFile(f); w.TTY() || w.Width() != iostream.DefaultWidth {
		t.Errorf("TTY = %t, width = %d", w.TTY(), w.Width())
	}
}
