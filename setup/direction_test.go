package setup_test

import (
	"testing"

	"github.com/ohgw/ohgw/setup"
)

func TestACleanTextHasNoControlsOfDirection(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\u202eb\u202c": "ab", "\u2067x\u2069": "x", "\u200frtl\u061c": "rtl",
		"اختبار": "اختبار", "👩‍👩‍👧 🇩🇪": "👩‍👩‍👧 🇩🇪",
	} {
		if got := setup.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}
