package token_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/internal/workdir"
)

func TestRightsAreStoredWithTheToken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec    token.Spec
		all     bool
		confirm string
	}{
		"none":               {token.Spec{}, false, ""},
		"all conversations":  {token.Spec{AllConversations: true}, true, ""},
		"a floor":            {token.Spec{Confirm: "risky"}, false, "risky"},
		"the highest":        {token.Spec{Confirm: "always", AllConversations: true}, true, "always"},
		"no floor":           {token.Spec{Confirm: "never"}, false, ""},
		"any directory":      {token.Spec{Workspaces: []string{workdir.Any}}, false, ""},
		"the default's name": {token.Spec{Name: token.DefaultName}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.spec.Name == "" {
				tt.spec.Name = "a"
			}
			value := create(t, open(dir), tt.spec)
			got, err := open(dir).Check(value) // from the file
			if err != nil || got.AllConversations != tt.all || got.Confirm != tt.confirm {
				t.Errorf("all conversations %t, confirmation %q (%v); want %t, %q", got.AllConversations, got.Confirm, err, tt.all, tt.confirm)
			}
		})
	}
}

func TestRightsThatATokenCannotHave(t *testing.T) {
	t.Parallel()
	s := open(t.TempDir())
	if _, err := s.Create(t.Context(), token.Spec{Name: "a", Confirm: "sometimes"}); !errors.Is(err, token.ErrConfirm) {
		t.Errorf("a mode that there is not: %v", err)
	}
	if _, err := s.Create(t.Context(), token.Spec{Name: "a", AllConversations: true, Models: []string{"openhands"}}); !errors.Is(err, token.ErrAll) {
		t.Errorf("all conversations for some models: %v", err)
	}
}

// An ohgw of before reads the file of this one, and this one reads its file.
func TestFilesOfBeforeAndAfterRights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := create(t, open(dir), token.Spec{Name: "plain"})
	path := filepath.Join(dir, "tokens.json")
	text := read(t, path)
	for _, field := range []string{"all_conversations", "confirm"} {
		if strings.Contains(text, field) {
			t.Errorf("a token without rights has %q: %s", field, text)
		}
	}
	value := create(t, open(dir), token.Spec{Name: "janitor", AllConversations: true, Confirm: "risky"})
	var before struct { // what an ohgw without rights knows
		Version int `json:"version"`
		Tokens  []struct {
			Name   string `json:"name"`
			SHA256 string `json:"sha256"`
		} `json:"tokens"`
	}
	if err := json.Unmarshal([]byte(read(t, path)), &before); err != nil || before.Version != 1 || len(before.Tokens) != 2 {
		t.Errorf("an older ohgw reads %+v, %v", before, err)
	}

	// A mode that only a newer ohgw knows is the strictest one here, and a file
	// that was changed by hand gives no token for some models all conversations.
	text = strings.Replace(read(t, path), `"confirm": "risky"`, `"confirm": "with two people", "colour": "red"`, 1)
	text = strings.Replace(text, `"all_conversations": true`, `"all_conversations": true, "models": ["openhands"]`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := open(dir).Check(value)
	if err != nil || got.Confirm != "always" || got.AllConversations {
		t.Errorf("Check = %+v, error %v", got, err)
	}
	if _, err := open(dir).Check(plain); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOpenHandsOwnAPIIsForTokensMadeForIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec token.Spec
		want bool
	}{
		"another":                  {token.Spec{Name: "a"}, false},
		"for all conversations":    {token.Spec{Name: "a", AllConversations: true}, false},
		"made for it":              {token.Spec{Name: "a", Native: true}, true},
		"the default token":        {token.Spec{Name: token.DefaultName}, true},
		"the default, for a model": {token.Spec{Name: token.DefaultName, Models: []string{"openhands"}}, false},
		"the default, with a mode": {token.Spec{Name: token.DefaultName, Confirm: "risky"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got, err := open(dir).Check(create(t, open(dir), tt.spec))
			if err != nil || got.MayUseNative() != tt.want {
				t.Errorf("MayUseNative = %t, error %v; want %t", got.MayUseNative(), err, tt.want)
			}
		})
	}
	for _, limited := range []token.Spec{{Name: "a", Native: true, Models: []string{"openhands"}}, {Name: "a", Native: true, Confirm: "risky"}} {
		if _, err := open(t.TempDir()).Create(t.Context(), limited); !errors.Is(err, token.ErrNative) {
			t.Errorf("a limited token for OpenHands' own API: %v", err)
		}
	}
	keys := token.NewStore(token.Config{Dir: t.TempDir(), Now: time.Now, Keys: []string{"one-key-0123456789", "two-key-0123456789"}})
	for _, key := range []string{"one-key-0123456789", "two-key-0123456789"} {
		if got, err := keys.Check(key); err != nil || !got.MayUseNative() {
			t.Errorf("a key of OHGW_API_KEYS: %v, %v", got, err)
		}
	}
}

func TestLimitsAreStoredWithTheToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := []budget.Rule{{Amount: budget.Amount{Cost: 0.5}, Period: budget.Day}, {Amount: budget.Amount{Cost: 20}}, {Amount: budget.Amount{Tokens: 1e6}, Period: budget.Week}}
	value := create(t, open(dir), token.Spec{Name: "guest", Budgets: rules})
	got, err := open(dir).Check(value)
	if err != nil || !slices.Equal(got.Budgets, rules) {
		t.Errorf("limits %v, %v; want %v", got.Budgets, err, rules)
	}
	if _, err := open(dir).Create(t.Context(), token.Spec{Name: "a", Native: true, Budgets: rules}); !errors.Is(err, token.ErrNative) {
		t.Errorf("a token with limits for OpenHands' own API: %v", err)
	}
	if got, err := open(dir).Check(create(t, open(dir), token.Spec{Name: token.DefaultName, Budgets: rules})); err != nil || got.MayUseNative() {
		t.Errorf("the default token with limits may use OpenHands' own API (%v)", err)
	}

	// A limit that only a newer ohgw can read allows nothing, and rights that were
	// added by hand do not go round it.
	path := filepath.Join(dir, "tokens.json")
	text := strings.Replace(read(t, path), `"0.5/day"`, `"0.5/year"`, 1)
	text = strings.Replace(text, `"name": "guest"`, `"name": "guest", "native": true`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = open(dir).Check(value)
	if err != nil || got.MayUseNative() || !slices.Contains(got.Budgets, budget.Nothing()) {
		t.Errorf("Check = %+v, %v", got, err)
	}
	if _, over := newAccount(t).UsedUp(got.Budgets); !over {
		t.Error("a limit that cannot be read allows something")
	}
}

// newAccount is the account of a token that has spent nothing.
func newAccount(t *testing.T) *budget.Account {
	t.Helper()
	a, err := budget.NewLedger("", func() time.Time { return noon }).Account("guest")
	if err != nil {
		t.Fatal(err)
	}
	return a
}
