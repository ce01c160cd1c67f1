package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfTheSourceAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := `package p

func f() error {
	_ = fault.New("plain", "do this", err)
	_ = fault.New(fmt.Sprintf("with %q and %.1f%%", a, b), "try "+c, nil)
	_ = &fault.Error{Msg: path + " is there", Code: fault.Conflict, Hint: "name another"}
	_ = &fault.Error{Msg: "it depends", Code: codeOf(err)}
	_ = fault.NewUsage("wrong "+x, y)
	_ = fault.New(msg, "the sentence is written elsewhere", nil)
	return fmt.Errorf("no sentence for people")
}
`
	for name, text := range map[string]string{"a.go": source, "a_test.go": `package p; var _ = fault.New("of a test", "", nil)`} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []told{
		{"it depends", "", ""},
		{"… is there", "name another", "Conflict"},
		{"plain", "do this", "Failed"},
		{"with … and …%", "try …", "Failed"},
		{"wrong …", "…", "Usage"},
	}
	if diff := cmp.Diff(want, faults(program), cmp.AllowUnexported(told{})); diff != "" {
		t.Errorf("faults() (-want +got):\n%s", diff)
	}
}

// TestErrorsOfTheProgramAreFound holds the search to the program: a new way to
// make errors would find fewer of them.
func TestErrorsOfTheProgramAreFound(t *testing.T) {
	t.Parallel()
	all := faults(ohgw(t))
	if len(all) < 100 {
		t.Errorf("found only %d errors for people", len(all))
	}
	for _, f := range all {
		if f.sentence == "no daemon is running" && f.code == "Unreachable" {
			return
		}
	}
	t.Error(`"no daemon is running", exit code 5, is not found`)
}
