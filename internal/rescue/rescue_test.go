package rescue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/rescue"
)

func TestAPanicBecomesAnError(t *testing.T) {
	t.Parallel()
	err := rescue.Do(func() error { return fill(nil) })
	p := rescue.Of(fmt.Errorf("work: %w", err))
	if p == nil || err.Error() != "panic: assignment to entry in nil map" || !strings.Contains(p.Stack(), "TestAPanicBecomesAnError") {
		t.Errorf("the panic: %v, %+v", err, p)
	}
}

func fill(m map[string]int) error {
	m["x"] = 1
	return nil
}

func TestAnErrorStaysOne(t *testing.T) {
	t.Parallel()
	want := errors.New("no")
	if err := rescue.Do(func() error { return want }); err != want || rescue.Of(err) != nil || rescue.Of(nil) != nil { //nolint:errorlint // the very same
		t.Errorf("the error: %v", err)
	}
}

func TestAPanicTellsNoKeyAndIsShort(t *testing.T) {
	t.Parallel()
	err := rescue.Do(func() error { panic("bad key sk-proj-abcdefghijklmnop: " + strings.Repeat("ü", 5000)) })
	if s := err.Error(); strings.Contains(s, "abcdefgh") || len(s) > 1100 || !utf8.ValidString(s) {
		t.Errorf("%d bytes: %.80s", len(s), s)
	}
}
