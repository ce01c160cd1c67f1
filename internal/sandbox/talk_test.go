//go:build unix

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

func TestTalkKeepsOutputAndErrorsApart(t *testing.T) {
	t.Parallel()
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	defer func() { _ = box.Close() }()
	long := []byte(strings.Repeat("x", 1<<20))
	for command, want := range map[string][2]string{
		"cat | wc -c | tr -d ' '; echo bad >&2": {"1048576\n", "bad\n"},
		"echo out":                              {"out\n", ""}, // it does not read its input
		"(sleep 1000 &) ; echo out":             {"out\n", ""},
		"exec 0<&-; echo out":                   {"out\n", ""},
	} {
		var out, errs bytes.Buffer
		p := sandbox.Program{Args: []string{"/bin/sh", "-c", command}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
		if err := sandbox.Talk(t.Context(), box, p, long, &out, &errs, 2*time.Second); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if out.String() != want[0] || errs.String() != want[1] {
			t.Errorf("%s: output = %q, errors %q", command, out.String(), errs.String())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var out, errs bytes.Buffer
	p := sandbox.Program{Args: []string{"/bin/sh", "-c", "sleep 1000"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
	if err := sandbox.Talk(ctx, box, p, long, &out, &errs, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
