package tokens

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestATokenIsCreatedListedAndRevoked(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	if err := runCreate(t.Context(), &createOptions{App: a.App, Name: "ide", Models: []string{"openhands_b", "openhands_a"}}); err != nil {
		t.Fatal(err)
	}
	value := strings.TrimSpace(a.Out.String())
	a.Out.Reset()
	if err := runList(t.Context(), &listOptions{App: a.App}); err != nil {
		t.Fatal(err)
	}
	if want := "ide\t…" + value[len(value)-4:] + "\topenhands_a,openhands_b\t"; !strings.HasPrefix(a.Out.String(), want) {
		t.Errorf("the list is %q, want it to begin with %q", &a.Out, want)
	}
	if err := runRevoke(t.Context(), &revokeOptions{App: a.App, Name: "ide"}); fault.CodeOf(err) != fault.Usage {
		t.Errorf("revoke without --yes and without a terminal: %v, want a usage error", err)
	}
	if err := runRevoke(t.Context(), &revokeOptions{App: a.App, Name: "ide", Yes: true}); err != nil {
		t.Error(err)
	}
	if err := runRevoke(t.Context(), &revokeOptions{App: a.App, Name: "ide", Yes: true}); fault.CodeOf(err) != fault.Failed {
		t.Errorf("revoke again: %v, want that there is no such token", err)
	}
}

// What is spent goes with its token, and only with that.
func TestWhatARevokedTokenHasSpentIsRemoved(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	for _, name := range []string{"guest", "other"} {
		if err := runCreate(t.Context(), &createOptions{App: a.App, Name: name, Budgets: []string{"5"}}); err != nil {
			t.Fatal(err)
		}
	}
	store, err := a.Setup().Tokens()
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := a.Setup().Spending()
	if err != nil {
		t.Fatal(err)
	}
	guest, other := idOf(store, "guest"), idOf(store, "other")
	for _, id := range []string{guest, other} {
		account, err := ledger.Account(id)
		if err == nil {
			err = account.Add(budget.Amount{Cost: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := runRevoke(t.Context(), &revokeOptions{App: a.App, Name: "guest", Yes: true}); err != nil {
		t.Fatal(err)
	}
	var left []string
	if err := ledger.Each(func(id string) error { left = append(left, id); return nil }); err != nil || len(left) != 1 || left[0] != other {
		t.Errorf("records of %q are left, %v; want that of %q", left, err, other)
	}
}

func TestOnlyTheDefaultTokenIsShown(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	if err := runCreate(t.Context(), &createOptions{App: a.App, Name: "default"}); err != nil {
		t.Fatal(err)
	}
	made := a.Out.String()
	a.Out.Reset()
	if err := runShow(t.Context(), &showOptions{App: a.App, Name: "default"}); err != nil {
		t.Fatal(err)
	}
	if a.Out.String() != made {
		t.Errorf("shows %q, want %q", &a.Out, made)
	}
	if err := runCreate(t.Context(), &createOptions{App: a.App, Name: "ide"}); err != nil {
		t.Fatal(err)
	}
	if err := runShow(t.Context(), &showOptions{App: a.App, Name: "ide"}); fault.CodeOf(err) != fault.Credential {
		t.Errorf("show of another token: %v, want exit code 4", err)
	}
}
