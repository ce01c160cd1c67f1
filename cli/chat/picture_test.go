package chat

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyRegularFilesAreReadAsPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link, large := filepath.Join(dir, "shot.png"), filepath.Join(dir, "link.png"), filepath.Join(dir, "large.png")
	if err := os.WriteFile(file, []byte("png"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxPicture+1); err != nil {
		t.Fatal(err)
	}
	if data, err := readPicture(file); err != nil || string(data) != "png" {
		t.Errorf("data = %q, %v", data, err)
	}
	for _, path := range []string{dir, link, large, filepath.Join(dir, "none.png")} {
		if data, err := readPicture(path); err == nil {
			t.Errorf("%s was read: %d bytes", path, len(data))
		}
	}
}
