package cloud

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/id"
)

// target is a directory that downloads are written below. Nothing is written outside
// of it: not by a name with "..", and not through a symbolic link.
type target struct {
	dir   string
	root  *os.Root
	force bool // replace files that are there
	keep  bool // leave files that are there, as complete
}

// openTarget opens a directory, which is made if it is missing.
func openTarget(dir string, force, keep bool) (*target, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the files of a project are not secret
		return nil, fault.New("the directory cannot be made: "+dir, "choose another one with --output", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.New("the directory cannot be opened: "+dir, "choose another one with --output", err)
	}
	return &target{dir: dir, root: root, force: force, keep: keep}, nil
}

func (t *target) close() { _ = t.root.Close() } // It was only a directory.

// localName is a path of a workspace as one below the target.
func localName(name string) (string, error) {
	local := filepath.FromSlash(strings.TrimLeft(name, "/"))
	if !filepath.IsLocal(local) || strings.ContainsRune(name, 0) {
		return "", fault.New(fmt.Sprintf("%q leaves the directory of the download", name), "download it alone: ohgw cloud download files ID PATH --output -", nil)
	}
	return filepath.Clean(local), nil
}

// exists reports whether a file is there already, and whether that is a failure.
func (t *target) exists(local string) (bool, error) {
	info, err := t.root.Lstat(local)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, t.unwritable(local, err)
	case info.IsDir():
		return true, &fault.Error{Msg: "there is a directory of this name: " + filepath.Join(t.dir, local), Hint: "choose another name with --output", Code: fault.Conflict}
	case t.keep || t.force:
		return true, nil
	}
	return true, &fault.Error{Msg: "the file is there already: " + filepath.Join(t.dir, local), Hint: "choose another place with --output, or replace it with --force", Code: fault.Conflict}
}

// write writes a whole file or none: into a temporary one beside it first.
func (t *target) write(local string, from io.Reader) (n int64, err error) {
	dir := filepath.Dir(local)
	if err := t.root.MkdirAll(dir, 0o755); err != nil {
		return 0, t.unwritable(local, err)
	}
	half := filepath.Join(dir, "."+id.New("ohgw-")+".part")
	f, err := t.root.OpenFile(half, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, t.unwritable(local, err)
	}
	n, err = io.Copy(f, from)
	if read, ok := errors.AsType[*readError](err); ok {
		err = read.err
	} else if err = errors.Join(err, f.Sync()); err != nil {
		err = t.unwritable(local, err)
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = t.unwritable(local, closeErr)
	}
	if err == nil {
		if err = atomicfile.Over(t.root, half, local); err == nil {
			return n, nil
		}
		err = t.unwritable(local, err)
	}
	return n, errors.Join(err, t.root.Remove(half))
}

func (t *target) unwritable(local string, err error) error {
	return fault.New("the file cannot be written: "+filepath.Join(t.dir, local), "free disk space, or choose another directory with --output", err)
}

// readError is a failure of what is read, not of the file that is written.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

// transfer counts what arrives, and shows it on a terminal.
type transfer struct {
	*kit.App

	name  string
	size  int64 // -1: unknown
	in    io.Reader
	n     int64
	shown time.Time
}

// barPause is how often a terminal is told about a transfer.
const barPause = 200 * time.Millisecond

// Read reads what has arrived.
func (t *transfer) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if now := t.Now(); t.Stderr.TTY() && !t.Quiet && !t.JSON && now.Sub(t.shown) >= barPause {
		t.shown = now
		fmt.Fprintf(t.Stderr, "\r\x1b[K%s", t.bar())
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// end takes the bar away.
func (t *transfer) end() {
	if !t.shown.IsZero() {
		fmt.Fprint(t.Stderr, "\r\x1b[K")
	}
}

// bar is the line of a transfer.
func (t *transfer) bar() string {
	if t.size <= 0 {
		return fmt.Sprintf("%s  %s", t.name, bytesText(t.n))
	}
	const cells = 20
	full := int(min(t.n, t.size) * cells / t.size)
	return fmt.Sprintf("%s  [%s%s]  %s of %s", t.name, strings.Repeat("=", full), strings.Repeat(" ", cells-full), bytesText(t.n), bytesText(t.size))
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
