package answers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/answers"
)

type answer struct {
	Name string `json:"name"`
}

func is(name string) func(answer) bool { return func(a answer) bool { return a.Name == name } }

func TestAnAnswerIsPrivateAndStays(t *testing.T) {
	t.Parallel()
	s := answers.Store[answer]{Path: filepath.Join(t.TempDir(), "chat", "answers.jsonl")}
	if s.Any(is("a")) {
		t.Error("an answer without a file")
	}
	for _, name := range []string{"a", "b<&>"} {
		if err := s.Add(t.Context(), answer{name}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Any(is("a")) || !s.Any(is("b<&>")) || s.Any(is("c")) {
		t.Error("an answer is lost")
	}
	data, err := os.ReadFile(s.Path)
	if want := "{\"name\":\"a\"}\n{\"name\":\"b<&>\"}\n"; err != nil || string(data) != want {
		t.Errorf("file = %q, error %v; want %q", data, err, want)
	}
	if info, err := os.Stat(s.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info, err)
	}
	if err := s.Set(t.Context(), answer{"c"}); err != nil || s.Any(is("a")) || !s.Any(is("c")) {
		t.Errorf("after Set: %v", err)
	}
}

func TestLinesThatCannotBeReadAreNoAnswer(t *testing.T) {
	t.Parallel()
	s := answers.Store[answer]{Path: filepath.Join(t.TempDir(), "answers.jsonl")}
	if err := os.WriteFile(s.Path, []byte("\x00\n[]\n{\"name\":\"whole\"}\n{\"name\":\"cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Any(is("cut")) || !s.Any(is("whole")) {
		t.Error("a line is read wrongly")
	}
	if err := s.Add(t.Context(), answer{"next"}); err != nil || !s.Any(is("next")) || !s.Any(is("whole")) {
		t.Errorf("after a line that was cut off: %v", err)
	}
}

func TestSeveralProcessesAnswerAtTheSameTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() { // each as another process would: with a store of its own
			if err := (answers.Store[answer]{Path: path}).Add(context.Background(), answer{fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		if !(answers.Store[answer]{Path: path}).Any(is(fmt.Sprint(i))) {
			t.Errorf("answer %d is lost", i)
		}
	}
}
