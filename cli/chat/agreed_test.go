package chat

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/answers"
)

func TestAnAgreedDirectoryCoversWhatIsBelow(t *testing.T) {
	t.Parallel()
	d := &agreed{answers.Store[agreedJSON]{Path: filepath.Join(t.TempDir(), "directories.jsonl")}}
	root := t.TempDir()
	if d.has(root) {
		t.Error("agreed without a file")
	}
	if err := d.add(t.Context(), root, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{root: true, filepath.Join(root, "sub"): true, filepath.Dir(root): false, root + "x": false} {
		if got := d.has(dir); got != want {
			t.Errorf("has(%q) = %t", dir, got)
		}
	}
}

func TestLinesThatCannotBeReadAgreeToNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "directories.jsonl")
	if err := os.WriteFile(path, []byte("\x00\n{}\n{\"directory\":\"\"}\n{\"directory\":\"tmp\"}\n{\"directory\":\"/broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &agreed{answers.Store[agreedJSON]{Path: path}}
	for _, dir := range []string{"/tmp", "/", "/broken"} {
		if d.has(dir) {
			t.Errorf("agreed to %s", dir)
		}
	}
}
