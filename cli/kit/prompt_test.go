package kit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/iostream"
)

func TestAQuestionMarkIsNoKey(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	a.StdinTTY, a.Stderr = true, iostream.New(&a.Err, true, nil)
	typed := []string{"?", " ? ", "sk-" + strings.Repeat("a1", 10)}
	want := typed[2]
	a.ReadHidden = func(context.Context, string, func()) ([]byte, error) {
		line := typed[0]
		typed = typed[1:]
		return []byte(line), nil
	}
	got, err := a.AskKey(t.Context(), "API key")
	if err != nil || got.Reveal() != want || strings.Count(a.Err.String(), "is not shown") != 2 {
		t.Errorf("AskKey() = %v; it said %q", err, a.Err.String())
	}
}
