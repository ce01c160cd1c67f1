//go:build unix

package sandbox_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// A pipe would wait for its other end, and a device could do something.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for name, open := range withBox(map[string]opener{"unconfined": func(*testing.T, string) sandbox.Files { return sandbox.Unconfined() }}, false) {
		files := open(t, dir)
		for _, path := range []string{pipe, socket, os.DevNull, dir} {
			// At level reduced, /dev as a whole is not open.
			if _, _, err := files.Read(path, 10); !errors.Is(err, sandbox.ErrNotRegular) && (path != os.DevNull || !errors.Is(err, fs.ErrPermission)) {
				t.Errorf("%s: %s: %v", name, path, err)
			}
		}
	}
}
