package token_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/keyfile"
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
		if made, err := s.EnsureDefault(t.Context()); err != nil || made.Name != want || made.WhyFile != nil {
			t.Errorf("start %d: made %q, %v, %v", i, made.Name, made.WhyFile, err)
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
	if made, err := s.EnsureDefault(t.Context()); err != nil || made.Name != "" {
		t.Errorf("a revoked default token came back: %q, %v", made.Name, err)
	}
	again := create(t, s, token.Spec{Name: "default"})
	if got := wantDefault(t, s, token.InStore); got != again || got == value {
		t.Error("made by hand: it has another value")
	}
}

func TestWithoutAStoreAPrivateFileKeepsTheDefaultToken(t *testing.T) {
	t.Parallel()
	broken := errors.New("no keyring")
	keys := new(secrettest.Store)
	keys.Fail(broken)
	for name, store := range map[string]secret.Store{"none": nil, "broken": keys} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			s := with(dir, store)
			made, err := s.EnsureDefault(t.Context())
			if err != nil || made.WhyFile == nil || store != nil && !errors.Is(made.WhyFile, broken) {
				t.Fatalf("EnsureDefault: %v, and the reason for the file is %v", err, made.WhyFile)
			}
			if got := wantDefault(t, s, token.InFile); got != made.Value.Reveal() {
				t.Error("another value is kept")
			}
			wantPrivate(t, s.ValueFile())
			revoke(t, s)
			again, err := s.Create(t.Context(), token.Spec{Name: "default"})
			if err != nil {
				t.Fatal(err)
			}
			if got := wantDefault(t, s, token.InFile); got != again.Value.Reveal() || got == made.Value.Reveal() {
				t.Error("the token that was created again has the wrong value")
			}
		})
	}
}

// wantPrivate checks that only this user can read a file.
func wantPrivate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%s has the mode %04o", filepath.Base(path), info.Mode().Perm())
	}
}

// revoke revokes the default token and sees that no file keeps its value.
func revoke(t *testing.T, s *token.Store) {
	t.Helper()
	if err := s.Revoke(t.Context(), "default"); err != nil {
		t.Errorf("revoking needs no keyring: %v", err)
	}
	if err := s.Forget(t.Context()); err != nil && !strings.Contains(err.Error(), "no keyring") {
		t.Error(err)
	}
	if _, err := os.Lstat(s.ValueFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after revoke the file is still there: %v", err)
	}
}

// What is in the store must be the value of the token that there is.
func TestAValueThatIsNotTheTokensIsNoValue(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), new(secrettest.Store)
	s := with(dir, keys)
	if _, err := s.EnsureDefault(t.Context()); err != nil {
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
		if _, err := s.EnsureDefault(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if wantDefault(t, one, token.InStore) == wantDefault(t, two, token.InStore) {
		t.Error("both have the same token")
	}
}

// The file stays where it is until its user replaces the token.
func TestAKeyringThatAppearsChangesNothing(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), new(secrettest.Store)
	made, err := with(dir, nil).EnsureDefault(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := with(dir, keys)
	if again, err := s.EnsureDefault(t.Context()); err != nil || again.Name != "" {
		t.Errorf("EnsureDefault: %q, %v", again.Name, err)
	}
	if got := wantDefault(t, s, token.InFile); got != made.Value.Reveal() {
		t.Error("it has another value")
	}
	if names, err := keys.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("the keyring has %q, %v", names, err)
	}
	revoke(t, s)
	create(t, s, token.Spec{Name: "default"})
	wantDefault(t, s, token.InStore)
	if _, err := os.Lstat(s.ValueFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestAFileThatIsNotRightIsNotUsed(t *testing.T) {
	t.Parallel()
	s := with(t.TempDir(), nil)
	if _, err := s.EnsureDefault(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(s.ValueFile(), 0o640); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Default(t.Context())
		if unsafe, ok := errors.AsType[*keyfile.UnsafeError](err); !ok || !unsafe.Owned || unsafe.Path != s.ValueFile() {
			t.Errorf("of what others can read: %v", err)
		}
		if err := os.Chmod(s.ValueFile(), 0o600); err != nil {
			t.Fatal(err)
		}
		wantDefault(t, s, token.InFile)
	}
	if err := os.WriteFile(s.ValueFile(), []byte("ohgw-other"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantNoDefault(t, s, token.ErrNoValue)
}

func TestAFileThatCannotBeWrittenMakesNoToken(t *testing.T) {
	t.Parallel()
	s := with(t.TempDir(), nil)
	if err := os.Mkdir(s.ValueFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if made, err := s.EnsureDefault(t.Context()); err == nil || made.Name != "" {
		t.Errorf("made %q, %v", made.Name, err)
	}
	wantNoDefault(t, s, token.ErrNotFound)
	if err := os.Remove(s.ValueFile()); err != nil {
		t.Fatal(err)
	}
	if made, err := s.EnsureDefault(t.Context()); err != nil || made.Name != "default" {
		t.Errorf("the next start made %q, %v", made.Name, err)
	}
}
