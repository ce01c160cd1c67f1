package keyfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/keyfile"
)

func write(t *testing.T, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadGivesTheKeyAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"sk-1", "sk-1\n", "  sk-1\r\n\n"} {
		if got, err := keyfile.Read(write(t, text, 0o600)); err != nil || got != "sk-1" {
			t.Errorf("Read of %q = %q, %v", text, got, err)
		}
	}
	if got, err := keyfile.Read(write(t, "sk-1", 0o400)); err != nil || got != "sk-1" {
		t.Errorf("a file that cannot be written: %q, %v", got, err)
	}
}

func TestReadRefusesWhatOthersMayRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o644, 0o620, 0o601} {
		path := write(t, "sk-1", mode)
		_, err := keyfile.Read(path)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("mode %o: error = %v, want a permission error that names the file", mode, err)
		}
	}
}

func TestReadRefusesWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "sk-1 sk-2", "sk-1\nsk-2", "sk\x001", strings.Repeat("x", 64<<10+1)} {
		_, err := keyfile.Read(write(t, text, 0o600))
		if !errors.Is(err, keyfile.ErrNoKey) {
			t.Errorf("Read of %.20q: error = %v, want ErrNoKey", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk") {
			t.Errorf("the error has the content: %v", err)
		}
	}
	if _, err := keyfile.Read(t.TempDir()); !errors.Is(err, keyfile.ErrNoKey) {
		t.Errorf("a directory: error = %v, want ErrNoKey", err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	_, err := keyfile.Read(missing)
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("a missing file: error = %v, want one that names it once", err)
	}
}

func TestReadOwnRefusesTheFileOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path := write(t, "sk-1", 0o600)
	if got, err := keyfile.ReadOwn(path); err != nil || got != "sk-1" {
		t.Errorf("one's own file: %q, %v", got, err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := keyfile.ReadOwn(path)
	if unsafe, ok := errors.AsType[*keyfile.UnsafeError](err); !ok || unsafe.Owned || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the file of another user: %v", err)
	}
	if _, err := keyfile.Read(path); err != nil {
		t.Errorf("Read takes the file of another user, for root: %v", err)
	}
}
