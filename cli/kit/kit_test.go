package kit

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

func TestTableCellsHoldNoSeparators(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var tab Table
	tab.Add("a\tb", "c\nd", "")
	if err := tab.Write(iostream.New(&b, false, nil)); err != nil {
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
		// Commands are whole.
		{"store the key: ohgw keys set work --replace", 30, []string{"store the key:", "ohgw keys set work --replace"}},
		{"ohgw chat --list lists yours; ohgw chat starts a new one", 36, []string{"ohgw chat --list lists yours;", "ohgw chat starts a new one"}},
		{"type: ohgw keys set NAME --key-store file; or wait", 20, []string{"type:", "ohgw keys set NAME --key-store file;", "or wait"}},
		{"make it yours: sudo chown $USER /var/lib/x, and try again", 24, []string{"make it yours:", "sudo chown $USER /var/lib/x,", "and try again"}},
		{"(see ohgw serve --help) then ohgw sees it", 20, []string{"(see", "ohgw serve --help)", "then ohgw sees it"}},
		{"edit it: ${EDITOR:-vi} 'my own file' soon", 20, []string{"edit it:", "${EDITOR:-vi} 'my own file'", "soon"}},
		{"add --workspace . with ohgw chat --workspace . hi", 20, []string{"add --workspace .", "with", "ohgw chat --workspace .", "hi"}},
		{"what git refuses and ohgw does not", 20, []string{"what git refuses and", "ohgw does not"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d), -want +got:\n%s", tt.text, tt.width, diff)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	stopped := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	bySignal := stopped(stopError{syscall.SIGTERM})
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
			if got, ok := Interrupted(tt.ctx, tt.err); got != tt.want || ok != (tt.want != 0) {
				t.Errorf("interrupted = %d, %t; want %d", got, ok, tt.want)
			}
		})
	}
}
