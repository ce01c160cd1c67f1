package tokens

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
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
