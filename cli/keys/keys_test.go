package keys

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestAKeyIsStoredListedAndRemoved(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	shared := &options{App: a.App}
	a.Stdin = strings.NewReader("FIXTURE-0123456789-tail")
	if err := runSet(t.Context(), &setOptions{options: shared, Name: "provider:openai"}); err != nil {
		t.Fatal(err)
	}
	a.Stdin = strings.NewReader("FIXTURE-0123456789-other")
	if err := runSet(t.Context(), &setOptions{options: shared, Name: "provider:openai"}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("another key without --replace: %v, want a conflict", err)
	}
	if err := runList(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if got, want := a.Out.String(), "provider:openai\tapi_key\t…tail\t\n"; got != want {
		t.Errorf("the list is %q, want %q", got, want)
	}
	if err := runRemove(t.Context(), &removeOptions{options: shared, Name: "provider:openai", Yes: true}); err != nil {
		t.Error(err)
	}
	if err := runRemove(t.Context(), &removeOptions{options: shared, Name: "provider:openai", Yes: true}); fault.CodeOf(err) != fault.Failed {
		t.Errorf("remove again: %v, want that there is no such key", err)
	}
	if all := a.Out.String() + a.Err.String(); strings.Contains(all, "0123456789") {
		t.Errorf("a key is shown: %s", all)
	}
}

func TestAKeyOfNobodyIsRefused(t *testing.T) {
	t.Parallel()
	a := clitest.New(t, nil)
	a.Stdin = strings.NewReader("FIXTURE-0123456789-tail")
	err := runSet(t.Context(), &setOptions{options: &options{App: a.App}, Name: "work"})
	if fault.CodeOf(err) != fault.Failed || !strings.Contains(err.Error(), `"work"`) {
		t.Errorf("storing a key: %v, want that there is no profile \"work\"", err)
	}
}
