package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

func TestReportWithDebugHasTheWholeChain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	a := &kit.App{Env: &kit.Env{Stderr: iostream.New(&b, false, nil)}}
	err := fmt.Errorf("outer: %w", fault.New("it went wrong", "try again", errors.New("inner")))
	report(a, newVersion(a), nil, err)
	a.Debug = true
	report(a, newVersion(a), nil, err)
	report(a, newVersion(a), nil, errors.New("bare"))
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
