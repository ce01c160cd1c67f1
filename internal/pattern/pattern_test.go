package pattern_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/pattern"
)

func TestExpressionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	word := pattern.Of(`^[a-z]+$`)
	if !word().MatchString("word") || word().MatchString("two words") {
		t.Errorf("the pattern %v matches other texts than words", word())
	}
	if first, second := word(), word(); first != second {
		t.Error("the expression was compiled again")
	}
}

func TestExpressionIsNotCompiledBeforeItsUse(t *testing.T) {
	t.Parallel()
	broken := pattern.Of(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a broken expression was compiled")
		}
	}()
	broken()
}
