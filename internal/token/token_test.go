package token_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/internal/workdir"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// open makes a store in dir whose time is noon. What it keeps of the default
// token is in a file beside dir.
func open(dir string) *token.Store {
	return token.NewStore(token.Config{Dir: dir, Now: func() time.Time { return noon }, Values: values(dir)})
}

func values(dir string) secret.Store {
	return secret.NewFile(secret.FileConfig{Path: dir + "-keys.json"})
}

// create makes a token and gives its value.
func create(t *testing.T, s *token.Store, spec token.Spec) string {
	t.Helper()
	made, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return made.Value.Reveal()
}

func TestATokenOpensTheDoorUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := open(t.TempDir())
	value := create(t, s, token.Spec{Name: "ide", Models: []string{"openhands_gpt"}})
	got, err := s.Check(value)
	if err != nil {
		t.Fatal(err)
	}
	want := token.Token{ID: got.ID, Name: "ide", Models: []string{"openhands_gpt"}, Tail: value[len(value)-4:], Created: noon}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.ID == "" || strings.Contains(value, got.ID) {
		t.Errorf("ID = %q", got.ID)
	}
	if err := s.Revoke(t.Context(), "ide"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(value); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("after revoke: error = %v, want ErrUnknown", err)
	}
}

func TestValuesAreLongAndRandom(t *testing.T) {
	t.Parallel()
	s := open(t.TempDir())
	form := regexp.MustCompile(`^ohgw-[0-9A-Za-z]{32}$`) // 62^32 is more than 2^190
	seen, letters := map[string]bool{}, map[rune]bool{}
	for i := range 60 {
		value := create(t, s, token.Spec{Name: fmt.Sprintf("t%d", i)})
		if !form.MatchString(value) || seen[value] {
			t.Errorf("value %d = %q", i, value)
		}
		seen[value] = true
		for _, r := range value[len("ohgw-"):] {
			letters[r] = true
		}
	}
	// That one of 62 is missing among 1,920 has a chance of 10^-12.
	if len(letters) != 62 {
		t.Errorf("%d different characters, want 62", len(letters))
	}
}

func TestUnknownValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(dir)
	if _, err := s.Check("ohgw-x"); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("without a file: error = %v, want ErrUnknown", err)
	}
	value := create(t, s, token.Spec{Name: "a"})
	for _, v := range []string{"", " ", value + " ", value[:len(value)-1], value + "x", strings.ToLower(value), "a"} {
		if _, err := s.Check(v); !errors.Is(err, token.ErrUnknown) {
			t.Errorf("Check(%q): error = %v, want ErrUnknown", v, err)
		}
	}
	// Not even the hash that the file has.
	text, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(text))
	if hash == "" {
		t.Fatalf("no hash in %s", text)
	}
	if _, err := s.Check(hash); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("the hash: error = %v, want ErrUnknown", err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := noon
	s := token.NewStore(token.Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	value := create(t, s, token.Spec{Name: "day", Expires: noon.Add(24 * time.Hour)})
	now = noon.Add(24*time.Hour - time.Second)
	if _, err := s.Check(value); err != nil {
		t.Errorf("a second before: %v", err)
	}
	now = noon.Add(24 * time.Hour)
	if got, err := s.Check(value); !errors.Is(err, token.ErrExpired) || got.Name != "day" {
		t.Errorf("at the time: %q, %v; want the token and ErrExpired", got.Name, err)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	if !(token.Token{}).Allows("openhands_a") {
		t.Error("a token without a scope does not allow everything")
	}
	scoped := token.Token{Models: []string{"openhands_a", "openhands_b"}}
	if !scoped.Allows("openhands_b") || scoped.Allows("openhands_c") || scoped.Allows("openhands") || scoped.Allows("") {
		t.Error("a scope does not hold")
	}
}

func TestNamesAndModelsAreChecked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(dir)
	for _, name := range []string{"", "a b", "-a", "../a", "a\n", "ä", strings.Repeat("a", 65), "ohgw-" + strings.Repeat("x", 32)} {
		if _, err := s.Create(t.Context(), token.Spec{Name: name}); !errors.Is(err, token.ErrName) {
			t.Errorf("name %q: error = %v, want ErrName", name, err)
		}
	}
	for _, model := range []string{"", "gpt", "auto_x", "openhands_", "openhands-a", "openhands_a,b", "openhands_a b"} {
		if _, err := s.Create(t.Context(), token.Spec{Name: "a", Models: []string{model}}); !errors.Is(err, token.ErrModel) {
			t.Errorf("model %q: error = %v, want ErrModel", model, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused token left something behind: %v", err)
	}
	for _, spec := range []token.Spec{
		{Name: "A.b_c-9"},
		{Name: "b", Models: []string{"auto", "openhands", "openhands_my.profile-1"}},
	} {
		create(t, s, spec)
	}
	made, err := s.Create(t.Context(), token.Spec{Name: "b"})
	if !errors.Is(err, token.ErrExists) || !made.Value.IsZero() {
		t.Errorf("a name twice: made %q, %v; want ErrExists", made.Name, err)
	}
	if err := s.Revoke(t.Context(), "c"); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("revoke of nothing: error = %v, want ErrNotFound", err)
	}
}

func TestListIsSortedAndHasNoValues(t *testing.T) {
	t.Parallel()
	s := open(t.TempDir())
	if got, err := s.List(); err != nil || len(got) != 0 {
		t.Fatalf("an empty store: %v, %v", got, err)
	}
	for _, name := range []string{"b", "c", "a"} {
		create(t, s, token.Spec{Name: name})
	}
	got, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tok := range got {
		names = append(names, tok.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnotherProcessSeesChangesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	daemon, command := open(dir), open(dir)
	for i := range 20 { // within one tick of the file system's clock
		value := create(t, command, token.Spec{Name: "a"})
		if _, err := daemon.Check(value); err != nil {
			t.Fatalf("round %d, created: %v", i, err)
		}
		if err := command.Revoke(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.Check(value); !errors.Is(err, token.ErrUnknown) {
			t.Fatalf("round %d, revoked: error = %v, want ErrUnknown", i, err)
		}
	}
	value := create(t, command, token.Spec{Name: "b"})
	if _, err := daemon.Check(value); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "tokens.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Check(value); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("without the file: error = %v, want ErrUnknown", err)
	}
}

func TestAChangeWithinOneTickOfTheClockIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	daemon, command := open(dir), open(dir)
	path := filepath.Join(dir, "tokens.json")
	old := create(t, command, token.Spec{Name: "a"})
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Check(old); err != nil {
		t.Fatal(err)
	}
	// A file of the same size and time in the place of the old one, which is
	// held open so that its number is not given away again.
	held, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := command.Revoke(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	create(t, command, token.Spec{Name: "b"})
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		t.Fatalf("the files differ too much for this test: %v, %v, %v", before, after, err)
	}
	if _, err := daemon.Check(old); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("the revoked token: error = %v, want ErrUnknown", err)
	}
}

func TestNoWriterIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := open(dir).Create(context.Background(), token.Spec{Name: fmt.Sprintf("t%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := open(dir).List(); err != nil || len(got) != 16 {
		t.Errorf("%d tokens, %v; want 16", len(got), err)
	}
}

func TestTheDefaultTokenIsTheOperators(t *testing.T) {
	t.Parallel()
	for want, tokens := range map[bool][]token.Token{
		true:  {{Name: "default"}, {Name: "OHGW_API_KEYS[0]"}},
		false: {{Name: "default", Models: []string{"openhands"}}, {Name: "ide"}, {Name: "OHGW_API_KEYS[1]"}},
	} {
		for _, tok := range tokens {
			if got := tok.Operator(); got != want {
				t.Errorf("%+v: operator %t", tok, got)
			}
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	dir := filepath.Join(t.TempDir(), "state", "ohgw")
	s := open(dir)
	if _, err := s.EnsureDefault(t.Context()); err != nil {
		t.Fatal(err)
	}
	value := create(t, s, token.Spec{Name: "a"})
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("mode of %s = %o", path, info.Mode().Perm())
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), value) {
			t.Errorf("%s has the value of a token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// A mode that another program widened is narrowed by the next change.
	if err := os.Chmod(filepath.Join(dir, "tokens.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	create(t, s, token.Spec{Name: "b"})
	if info, err := os.Stat(filepath.Join(dir, "tokens.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func TestFilesThatCannotBeReadLetNobodyIn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       error
	}{
		{"cut", `{"version":1,"tokens":[{"name":"a"`, nil},
		{"empty", ``, nil},
		{"no version", `{"tokens":[]}`, nil},
		{"newer", `{"version":2,"tokens":"other"}`, token.ErrNewer},
		{"newer, known form", `{"version":2,"tokens":[]}`, token.ErrNewer},
		{"a hash that is too short", `{"version":1,"tokens":[{"name":"a","sha256":"00"}]}`, nil},
		{"a hash that is none", `{"version":1,"tokens":[{"name":"a","sha256":"` + strings.Repeat("zz", 32) + `"}]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(dir)
			value := create(t, s, token.Spec{Name: "before"})
			path := filepath.Join(dir, "tokens.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, checkErr := s.Check(value)
			_, createErr := s.Create(t.Context(), token.Spec{Name: "a"})
			_, listErr := s.List()
			for _, err := range []error{checkErr, createErr, listErr} {
				if err == nil || errors.Is(err, token.ErrUnknown) || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("error = %v, want one that names the file", err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != tt.text {
				t.Errorf("the file was changed: %s, %v", now, err)
			}
		})
	}
}

func TestKeysOfTheEnvironmentReplaceTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored := create(t, open(dir), token.Spec{Name: "a"})
	s := token.NewStore(token.Config{
		Dir: dir, Now: func() time.Time { return noon }, Keys: token.SplitKeys(" one-key-of-some-length, b,,"),
	})
	if !s.Replaced() {
		t.Error("Replaced() = false")
	}
	for key, name := range map[string]string{"one-key-of-some-length": "OHGW_API_KEYS[0]", "b": "OHGW_API_KEYS[1]"} {
		if got, err := s.Check(key); err != nil || got.Name != name || !got.Allows("openhands_x") {
			t.Errorf("Check(%q) = %q, %v; want %q", key, got.Name, err, name)
		}
	}
	for _, key := range []string{stored, "", " b", "one-key-of-some-length, b,,"} {
		if _, err := s.Check(key); !errors.Is(err, token.ErrUnknown) {
			t.Errorf("Check(%q): error = %v, want ErrUnknown", key, err)
		}
	}
	got, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Tail != "ngth" || got[1].Tail != "" {
		t.Errorf("tails = %q, %q; want that of the long key only", got[0].Tail, got[1].Tail)
	}
	if token.SplitKeys(" , ") != nil {
		t.Error("keys out of nothing")
	}
}

func TestLooksLikeValue(t *testing.T) {
	t.Parallel()
	value := create(t, open(t.TempDir()), token.Spec{Name: "a"})
	if !token.LooksLikeValue(value) || token.LooksLikeValue("ohgw-laptop") || token.LooksLikeValue("default") {
		t.Error("values and names are mixed up")
	}
}

func BenchmarkCheck(b *testing.B) {
	s := open(b.TempDir())
	var value string
	for i := range 16 {
		made, err := s.Create(b.Context(), token.Spec{Name: fmt.Sprintf("t%d", i)})
		if err != nil {
			b.Fatal(err)
		}
		value = made.Value.Reveal()
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Check(value); err != nil {
			b.Fatal(err)
		}
	}
}

func TestATokenKeepsItsDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(dir)
	two := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	narrow := create(t, s, token.Spec{Name: "narrow", Workspaces: two})
	plain := create(t, s, token.Spec{Name: "plain"})
	own := create(t, s, token.Spec{Name: token.DefaultName})
	for value, want := range map[string][]string{narrow: two, plain: nil, own: {workdir.Any}} {
		got, err := open(dir).Check(value)
		if diff := cmp.Diff(want, got.Workspaces); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", got.Name, err, diff)
		}
	}
	for _, wrong := range []string{"", "relative/dir", "Any"} {
		if _, err := s.Create(t.Context(), token.Spec{Name: "wrong", Workspaces: []string{wrong}}); !errors.Is(err, token.ErrWorkspace) {
			t.Errorf("%q: %v, want ErrWorkspace", wrong, err)
		}
	}
	for _, spec := range []token.Spec{{Models: []string{"openhands_a"}}, {Workspaces: two}} {
		s, spec := open(t.TempDir()), spec
		spec.Name = token.DefaultName
		if got, err := s.Check(create(t, s, spec)); err != nil || slices.Contains(got.Workspaces, workdir.Any) {
			t.Errorf("a limited default token may choose %q, %v", got.Workspaces, err)
		}
	}
	// Keys of a variable are not tokens of the user.
	fixed := token.NewStore(token.Config{Dir: dir, Now: time.Now, Keys: []string{"default"}})
	if got, err := fixed.Check("default"); err != nil || len(got.Workspaces) > 0 {
		t.Errorf("a key of OHGW_API_KEYS may choose %q, %v", got.Workspaces, err)
	}
}
