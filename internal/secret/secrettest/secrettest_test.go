package secrettest_test

import (
	"errors"
	"testing"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

func TestTheFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	store := new(secrettest.Store)
	secrettest.Contract(t, func(*testing.T) secret.Store { return store })
}

func TestTheFakeFailsWhenTold(t *testing.T) {
	t.Parallel()
	store := secrettest.New(map[string]string{"a": "key"})
	broken := errors.New("broken")
	store.Fail(broken)
	if _, err := store.Get(t.Context(), "a"); !errors.Is(err, broken) {
		t.Errorf("Get: %v", err)
	}
	if err := store.Set(t.Context(), "a", secret.Value{}); !errors.Is(err, broken) {
		t.Errorf("Set: %v", err)
	}
	if err := store.Delete(t.Context(), "a"); !errors.Is(err, broken) {
		t.Errorf("Delete: %v", err)
	}
	if names, err := store.List(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("List: %v, %v", names, err)
	}
}
