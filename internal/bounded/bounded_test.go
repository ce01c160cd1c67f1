package bounded_test

import (
	"errors"
	"io"
	"testing"

	"github.com/ohgw/ohgw/internal/bounded"
)

func write(t *testing.T, w io.Writer, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Errorf("write of %q: %d, %v", p, n, err)
		}
	}
}

func TestTheBeginningIsKept(t *testing.T) {
	t.Parallel()
	h := bounded.Head{Max: 5}
	write(t, &h, "ab", "cd", "ef", "gh")
	if got := string(h.Bytes()); got != "abcde" {
		t.Errorf("kept %q", got)
	}
}

func TestWhatDoesNotFitIsTold(t *testing.T) {
	t.Parallel()
	calls := 0
	h := bounded.Head{Max: 4, Full: func() error { calls++; return nil }}
	write(t, &h, "ab", "cd", "ef", "gh")
	if got := string(h.Bytes()); got != "abcd" || calls != 2 {
		t.Errorf("kept %q, %d calls", got, calls)
	}
	full := errors.New("full")
	h = bounded.Head{Max: 3, Full: func() error { return full }}
	write(t, &h, "abc")
	if n, err := h.Write([]byte("d")); n != 0 || !errors.Is(err, full) {
		t.Errorf("a write that does not fit: %d, %v", n, err)
	}
}

func TestTheEndIsKept(t *testing.T) {
	t.Parallel()
	for want, pieces := range map[string][]string{
		"":     {},
		"ab":   {" ab\n"},
		"efgh": {"ab", "cdefgh"},
		"defg": {"abcd", "ef", "g"},
		"üd":   {"äüd"}, // half of ä is not shown
		"d":    {"äbc", "   d"},
	} {
		tail := bounded.Tail{Max: 4}
		write(t, &tail, pieces...)
		if got := tail.String(); got != want {
			t.Errorf("of %q: %q, want %q", pieces, got, want)
		}
	}
	var none bounded.Tail
	write(t, &none, "a")
	if none.String() != "" {
		t.Errorf("the zero Tail keeps %q", &none)
	}
}
