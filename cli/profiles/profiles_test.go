package profiles

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

// newOptions are the options of the commands, with a directory of profiles.
func newOptions(t *testing.T) (*options, *clitest.App) {
	t.Helper()
	a := clitest.New(t, map[string]string{"OH_PERSISTENCE_DIR": t.TempDir()})
	return &options{App: a.App}, a
}

func TestAProfileIsAddedUsedRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	shared, a := newOptions(t)
	if err := runAdd(t.Context(), &addOptions{options: shared, Name: "work", Model: "openai/gpt-5"}); err != nil {
		t.Fatal(err)
	}
	if err := runAdd(t.Context(), &addOptions{options: shared, Name: "work", Model: "openai/gpt-5"}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("add again: %v, want a conflict", err)
	}
	if err := runUse(t.Context(), &useOptions{options: shared, Name: "work"}); err != nil {
		t.Error(err)
	}
	if err := runRename(t.Context(), &renameOptions{options: shared, Old: "work", New: "home"}); err != nil {
		t.Error(err)
	}
	if err := runList(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if want := "*\thome\topenai/gpt-5\t"; !strings.HasPrefix(a.Out.String(), want) {
		t.Errorf("the list is %q, want it to begin with %q", &a.Out, want)
	}
	a.Out.Reset()
	if err := runShow(t.Context(), &showOptions{options: shared, Name: "home"}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(a.Out.String(), "model\t\"openai/gpt-5\"\n") {
		t.Errorf("show has no model: %q", &a.Out)
	}
	if err := runRemove(t.Context(), &removeOptions{options: shared, Name: "home", Yes: true}); err != nil {
		t.Error(err)
	}
	if err := runShow(t.Context(), &showOptions{options: shared, Name: "home"}); fault.CodeOf(err) != fault.Failed {
		t.Errorf("show of a removed profile: %v, want a failure", err)
	}
}

func TestFlagsThatContradictAreRefused(t *testing.T) {
	t.Parallel()
	shared, _ := newOptions(t)
	for name, o := range map[string]*addOptions{
		"file and model":    {FromFile: "x.json", Model: "openai/gpt-5"},
		"settings and file": {FromSettings: true, FromFile: "x.json"},
		"nothing":           {},
	} {
		o.options, o.Name = shared, "work"
		if err := runAdd(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("add with %s: %v, want a usage error", name, err)
		}
	}
	for name, o := range map[string]*migrateOptions{
		"restore and names":    {Restore: "dir", Names: []string{"work"}},
		"names alone":          {Names: []string{"work"}},
		"a base URL alone":     {BaseURL: "https://proxy.example"},
		"strict without check": {Strict: true},
		"force alone":          {Force: true},
	} {
		o.options = shared
		if err := runMigrate(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("migrate with %s: %v, want a usage error", name, err)
		}
	}
}

func TestNothingIsLeftToMigrate(t *testing.T) {
	t.Parallel()
	shared, _ := newOptions(t)
	if err := runMigrate(t.Context(), &migrateOptions{options: shared, Check: true}); err != nil {
		t.Error(err)
	}
	if err := runCheck(t.Context(), &checkOptions{options: shared, Timeout: 1}); err != nil {
		t.Error(err)
	}
}
