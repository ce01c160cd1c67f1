package task_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *task.Tracker {
	t.Helper()
	tracker, err := task.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

func run(t *testing.T, tracker *task.Tracker, args, want string) string {
	t.Helper()
	result, err := tracker.Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, result.Content[0].Text); diff != "" {
		t.Error(diff)
	}
	return string(result.Observation)
}

func TestPlanReplacesTheListAndViewShowsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tracker := open(t, dir)
	run(t, tracker, `{}`, "The list is empty. plan fills it.")
	run(t, tracker, `{"command":"plan","task_list":[{"title":"old"}]}`, "The list now has 1 tasks.")
	got := run(t, tracker, `{"command":"plan","task_list":[{"title":"one","status":"done"},{"title":"two","status":"in_progress","notes":"a\nb"},{"title":"three"}]}`,
		"The list now has 3 tasks.")
	const want = `{"content":[{"cache_prompt":false,"type":"text","text":"The list now has 3 tasks."}],"is_error":false,"command":"plan",` +
		`"task_list":[{"title":"one","notes":"","status":"done"},{"title":"two","notes":"a\nb","status":"in_progress"},{"title":"three","notes":"","status":"todo"}],"kind":"TaskTrackerObservation"}`
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
	const shown = "1. [x] one\n2. [>] two\n       a\n       b\n3. [ ] three"
	run(t, tracker, `{"command":"view"}`, shown)
	run(t, open(t, dir), `{}`, shown)
	run(t, tracker, `{"command":"plan","task_list":[]}`, "The list now has 0 tasks.")
	if data, err := os.ReadFile(filepath.Join(dir, "TASKS.json")); err != nil || string(data) != "[]" {
		t.Errorf("file = %s, error %v", data, err)
	}
}

func TestPlanWithoutAListChangesNothing(t *testing.T) {
	t.Parallel()
	tracker := open(t, "")
	run(t, tracker, `{"command":"plan","task_list":[{"title":"one"}]}`, "The list now has 1 tasks.")
	_, err := tracker.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"command":"plan"}`)})
	if _, ok := errors.AsType[*tool.ArgumentError](err); !ok {
		t.Error(err)
	}
	run(t, tracker, `{}`, "1. [ ] one")
}

func TestABrokenListIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "TASKS.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tracker, err := task.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tracker, `{"command":"plan","task_list":[{"title":"one"}]}`, "The list now has 1 tasks.")
	if kept, err := os.ReadFile(filepath.Join(dir, "TASKS.json.damaged")); err != nil || string(kept) != "{" {
		t.Errorf("the broken list is now %q, %v", kept, err)
	}
}

func TestAListThatCannotBeSavedIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tracker := open(t, filepath.Join(dir, "gone"))
	if _, err := tracker.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"command":"plan","task_list":[{"title":"x"}]}`)}); err == nil {
		t.Error("no error")
	}
	run(t, tracker, `{}`, "The list is empty. plan fills it.")
}
