package chat

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestAnAgreedDirectoryCoversWhatIsBelow(t *testing.T) {
	t.Parallel()
	d := &agreed{path: filepath.Join(t.TempDir(), "chat", "directories.jsonl")}
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
	if info, err := os.Stat(d.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info, err)
	}
}

func TestLinesThatCannotBeReadAgreeToNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "directories.jsonl")
	if err := os.WriteFile(path, []byte("\x00\n{}\n{\"directory\":\"\"}\n{\"directory\":\"tmp\"}\n{\"directory\":\"/broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &agreed{path: path}
	for _, dir := range []string{"/tmp", "/", "/broken"} {
		if d.has(dir) {
			t.Errorf("agreed to %s", dir)
		}
	}
	root := t.TempDir()
	if err := d.add(t.Context(), root, time.Unix(0, 0)); err != nil || !d.has(root) {
		t.Errorf("after a line that was cut off: %v", err)
	}
}

func TestSeveralChatsAgreeAtTheSameTime(t *testing.T) {
	t.Parallel()
	path, root := filepath.Join(t.TempDir(), "directories.jsonl"), t.TempDir()
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() { // each as another process would: with a file of its own
			d := &agreed{path: path}
			if err := d.add(context.Background(), filepath.Join(root, fmt.Sprint(i)), time.Unix(0, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		if d := (&agreed{path: path}); !d.has(filepath.Join(root, fmt.Sprint(i))) {
			t.Errorf("directory %d is lost", i)
		}
	}
}
