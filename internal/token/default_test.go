package token_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/internal/token"
)

// with makes a store in dir that keeps the default token in values.
func with(dir string, values secret.Store) *token.Store {
	return token.NewStore(token.Config{Dir: dir, Now: func() time.Time { return noon }, Values: values})
}

// wantDefault checks that the default token has a value, which opens the door.
func wantDefault(t *testing.T, s *token.Store, place token.Place) string {
	t.Helper()
	value, got, err := s.Default(t.Context())
	if err != nil || got != place {
		t.Fatalf("Default is in %q, %v; want %q", got, err, place)
	}
	if where, err := s.WhereDefault(t.Context()); err != nil || where != place {
		t.Errorf("WhereDefault = %q, %v; want %q", where, err, place)
	}
	if who, err := s.Check(value.Reveal()); err != nil || who.Name != "default" {
		t.Errorf("Check of the default token: %q, %v", who.Name, err)
	}
	return value.Reveal()
}

func wantNoDefault(t *testing.T, s *token.Store, want error) {
	t.Helper()
	if _, _, err := s.Default(t.Context()); !errors.Is(err, want) {
		t.Errorf("Default: error = %v, want %v", err, want)
	}
}

func TestTheDefaultTokenIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(dir)
	wantNoDefault(t, s, token.ErrNotFound)
	create(t, s, token.Spec{Name: "other"}) // does not stand in for the first start
	for i, want := range []string{"default", ""} {
		if made, err := s.EnsureDefault(t.Context(), false); err != nil || made.Name != want || made.NotKept != nil {
			t.Errorf("start %d: made %q, %v, %v", i, made.Name, made.NotKept, err)
		}
	}
	value := wantDefault(t, open(dir), token.InStore)
	if err := s.Revoke(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, err := values(dir).List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("what stays after Forget: %q, %v", names, err)
	}
	if err := s.Forget(t.Context()); err != nil {
		t.Errorf("the second Forget: %v", err)
	}
	if made, err := s.EnsureDefault(t.Context(), true); err != nil || made.Name != "" {
		t.Errorf("a revoked default token came back: %q, %v", made.Name, err)
	}
	again := create(t, s, token.Spec{Name: "default"})
	if got := wantDefault(t, s, token.InStore); got != again || got == value {
		t.Error("made by hand: it has another value")
	}
}

// Nobody gets a token that nobody has the value of.
func TestWithoutAStoreTheDefaultTokenIsMadeOnlyIfItIsShown(t *testing.T) {
	t.Parallel()
	broken := errors.New("no keyring")
	keys := new(secrettest.Store)
	keys.Fail(broken)
	for name, store := range map[string]secret.Store{"none": nil, "broken": keys} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := with(dir, store)
			_, err := s.EnsureDefault(t.Context(), false)
			if lost, ok := errors.AsType[*token.NotKeptError](err); !ok || store != nil && !errors.Is(lost, broken) {
				t.Fatalf("error = %v, want a *NotKeptError with its cause", err)
			}
			wantNoDefault(t, s, token.ErrNotFound)
			made, err := s.EnsureDefault(t.Context(), true)
			if err != nil || made.NotKept == nil {
				t.Fatalf("shown: %v, not kept: %v", err, made.NotKept)
			}
			if who, err := s.Check(made.Value.Reveal()); err != nil || who.Name != "default" {
				t.Errorf("Check: %q, %v", who.Name, err)
			}
			wantNoDefault(t, s, token.ErrNoValue)
			if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 2 {
				t.Errorf("the files are %q, %v; want the hashes and the lock", names, err)
			}
			if err := s.Revoke(t.Context(), "default"); err != nil {
				t.Errorf("revoking needs no keyring: %v", err)
			}
		})
	}
}

// What is in the store must be the value of the token that there is.
func TestAValueThatIsNotTheTokensIsNoValue(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), new(secrettest.Store)
	s := with(dir, keys)
	if _, err := s.EnsureDefault(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	entry := secret.TokenEntry(dir, "default")
	if err := keys.Set(t.Context(), entry, secret.New("ohgw-other")); err != nil {
		t.Fatal(err)
	}
	wantNoDefault(t, s, token.ErrNoValue)
	broken := errors.New("locked")
	keys.Fail(broken)
	wantNoDefault(t, s, broken)
	keys.Fail(nil)
	if err := keys.Delete(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	wantNoDefault(t, s, token.ErrNoValue)
	if _, err := s.WhereDefault(t.Context()); !errors.Is(err, token.ErrNoValue) {
		t.Errorf("WhereDefault: %v", err)
	}
}

// Two gateways of one user have one keyring.
func TestGatewaysDoNotShareTheDefaultToken(t *testing.T) {
	t.Parallel()
	keys := new(secrettest.Store)
	one, two := with(t.TempDir(), keys), with(t.TempDir(), keys)
	for _, s := range []*token.Store{one, two} {
		if _, err := s.EnsureDefault(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if wantDefault(t, one, token.InStore) == wantDefault(t, two, token.InStore) {
		t.Error("both have the same token")
	}
}

// older makes what a release left behind that kept the value in a file.
func older(t *testing.T, dir string) (value, path string) {
	t.Helper()
	keys := new(secrettest.Store)
	made, err := with(dir, keys).EnsureDefault(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "default-token")
	if err := os.WriteFile(path, []byte(made.Value.Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return made.Value.Reveal(), path
}

func TestTheFileOfAnOlderReleaseIsReadAndMoved(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), new(secrettest.Store)
	value, path := older(t, dir)
	s := with(dir, keys)
	if got := wantDefault(t, s, token.InOldFile); got != value {
		t.Error("it has another value")
	}
	broken := errors.New("locked")
	keys.Fail(broken)
	if moved, err := s.Settle(t.Context()); moved || !errors.Is(err, broken) {
		t.Errorf("Settle without a store: %t, %v", moved, err)
	}
	wantDefault(t, s, token.InOldFile)
	keys.Fail(nil)
	for i, want := range []bool{true, false} {
		if moved, err := s.Settle(t.Context()); moved != want || err != nil {
			t.Errorf("Settle %d: %t, %v", i, moved, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if got := wantDefault(t, s, token.InStore); got != value {
		t.Error("it has another value")
	}
}

func TestARevokedTokenLeavesNoFileOfAnOlderRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, path := older(t, dir)
	s := open(dir)
	if err := s.Revoke(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestAnOldFileThatIsNotRightIsNotMoved(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), new(secrettest.Store)
	_, path := older(t, dir)
	s := with(dir, keys)
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		wantNoDefault(t, s, fs.ErrPermission)
		if moved, err := s.Settle(t.Context()); moved || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Settle of what others may read: %t, %v", moved, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("ohgw-other"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantNoDefault(t, s, token.ErrNoValue)
	if moved, err := s.Settle(t.Context()); moved || err != nil {
		t.Errorf("Settle of another value: %t, %v", moved, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a value that opens nothing stays: %v", err)
	}
	if names, err := keys.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("it is kept: %q, %v", names, err)
	}
}
