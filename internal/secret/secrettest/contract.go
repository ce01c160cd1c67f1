package secrettest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/secret"
)

// Contract checks what every secret.Store promises. open gives an empty store;
// the same one when it is called again with the same t.
func Contract(t *testing.T, open func(t *testing.T) secret.Store) {
	t.Helper()
	const first, second = "provider/openai", "profile/0123456789ab/my-profile.v1"
	keys := map[string]secret.Value{
		first:  secret.New("sk-example-not-a-real-key-0123456789"),
		second: secret.New("ключ-测试-🔑 \"quoted\" \\ " + strings.Repeat("x", 2000)),
	}
	ctx, store := t.Context(), open(t)

	if names, err := store.List(ctx); err != nil || len(names) != 0 {
		t.Fatalf("a new store lists %q, %v", names, err)
	}
	if v, err := store.Get(ctx, first); !errors.Is(err, secret.ErrNotFound) || !v.IsZero() {
		t.Errorf("Get of nothing: %v, %v", v.IsZero(), err)
	}
	if err := store.Delete(ctx, first); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("Delete of nothing: %v", err)
	}
	for name, key := range keys {
		must(t, store.Set(ctx, name, secret.New("an older key")))
		must(t, store.Set(ctx, name, key))
	}
	for name, key := range keys {
		if got, err := open(t).Get(ctx, name); err != nil || !got.Equal(key) {
			t.Errorf("Get(%s) gives another key, or %v", name, err)
		}
	}
	if names, err := store.List(ctx); err != nil || !slices.Equal(names, []string{second, first}) {
		t.Errorf("List = %q, %v", names, err)
	}
	must(t, store.Delete(ctx, first))
	if _, err := store.Get(ctx, first); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("Get after Delete: %v", err)
	}
	if names, err := store.List(ctx); err != nil || !slices.Equal(names, []string{second}) {
		t.Errorf("List after Delete = %q, %v", names, err)
	}
	must(t, store.Delete(ctx, second))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
