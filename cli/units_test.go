package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/setup"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, east)
	tests := []struct {
		text string
		want time.Time
	}{
		{"", time.Time{}},
		{"12h", now.Add(12 * time.Hour)},
		{"30d", time.Date(2026, 12, 21, 15, 0, 0, 0, east)},
		{"2026-11-21", time.Date(2026, 11, 22, 0, 0, 0, 0, east)}, // the whole day, here
		{"2026-11-21T14:00:00Z", time.Date(2026, 11, 21, 16, 0, 0, 0, east)},
	}
	for _, tt := range tests {
		if got, err := expiry(tt.text, now); err != nil || !got.Equal(tt.want) {
			t.Errorf("expiry(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "soon", "30", "2026-13-01", "2026-11-20", "0", "-1h", "99999999d"} {
		if got, err := expiry(text, now); fault.CodeOf(err) != fault.Usage {
			t.Errorf("expiry(%q) = %v, %v; want a usage error", text, got, err)
		}
	}
}

func TestCleanTakesWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"plain ünïcode …", "plain ünïcode …"},
		{"a\nb\tc\r", "a b c "},
		{"\x1b[31mred\x1b[0m\x07", "[31mred[0m"},
		{"\u009b31mred\x7f", "31mred"},
		{"the key sk-1234567890abcdef is wrong", "the key [redacted] is wrong"},
	}
	for _, tt := range tests {
		if got := setup.Clean(tt.text); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTableCellsHoldNoSeparators(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var tab table
	tab.add("a\tb", "c\nd", "")
	if err := tab.write(iostream.New(&b, false, nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "a b\tc d\t\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		width int
		want  []string
	}{
		{"", 30, []string{""}},
		{"one two", 30, []string{"one two"}},
		{"exactly twenty chars", 20, []string{"exactly twenty chars"}},
		{"a word more than twenty", 20, []string{"a word more than", "twenty"}},
		{"äöü äöü äöü äöü äöü äöü", 23, []string{"äöü äöü äöü äöü äöü äöü"}},
		{"narrow terminals get twenty", 3, []string{"narrow terminals get", "twenty"}},
		{"a-word-that-is-longer-than-that then", 20, []string{"a-word-that-is-longer-than-that", "then"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d), -want +got:\n%s", tt.text, tt.width, diff)
		}
	}
}

func TestReportWithDebugHasTheWholeChain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	a := &App{Env: &Env{Stderr: iostream.New(&b, false, nil)}}
	err := fmt.Errorf("outer: %w", fault.New("it went wrong", "try again", errors.New("inner")))
	a.report(newVersion(a), nil, err)
	a.debug = true
	a.report(newVersion(a), nil, err)
	a.report(newVersion(a), nil, errors.New("bare"))
	want := `ohgw: it went wrong
  cause: inner
  hint:  try again
ohgw: it went wrong
  cause: outer: it went wrong: inner
  hint:  try again
ohgw: bare
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	stopped := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	bySignal := stopped(signalError{syscall.SIGTERM})
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want fault.Code
	}{
		{"a command that gave up", bySignal, fmt.Errorf("ask: %w", context.Canceled), 143},
		{"one that says why", bySignal, fmt.Errorf("ask: %w", context.Cause(bySignal)), 143},
		{"another failure after the signal", bySignal, io.ErrClosedPipe, 0},
		{"nobody sent a signal", stopped(nil), context.Canceled, 0},
		{"nothing was stopped", t.Context(), context.Canceled, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := interrupted(tt.ctx, tt.err); got != tt.want || ok != (tt.want != 0) {
				t.Errorf("interrupted = %d, %t; want %d", got, ok, tt.want)
			}
		})
	}
}
