package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// writer writes entries below root.
type writer struct {
	ctx    context.Context
	root   *os.Root
	limits Limits
	packed int64 // bytes of the archive

	entries int
	result  Result
	links   []link // made at the end: no entry is ever written through one
}

type link struct{ name, target string }

// maxSkipped bounds the list of what was left out.
const maxSkipped = 1000

func (w *writer) skip(name, why string) {
	if len(w.result.Skipped) < maxSkipped {
		w.result.Skipped = append(w.result.Skipped, name+": "+why)
	}
}

// enter checks the name of the next entry and gives its clean form, "" for the
// directory itself.
func (w *writer) enter(name string) (string, error) {
	if w.ctx.Err() != nil {
		return "", w.ctx.Err()
	}
	if w.entries++; w.entries > w.limits.Entries {
		return "", fmt.Errorf("%w: more than %d entries", ErrTooLarge, w.limits.Entries)
	}
	if !safe(name) {
		return "", fmt.Errorf("%w: %.200q", ErrUnsafe, name)
	}
	name = path.Clean(strings.TrimSuffix(name, "/"))
	if name == "." {
		return "", nil
	}
	return name, nil
}

// safe reports whether a name stays below its directory on every system.
func safe(name string) bool {
	if name == "" || len(name) > 4096 || path.IsAbs(name) || strings.ContainsAny(name, "\x00\\") || len(name) > 1 && name[1] == ':' {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) == "."
}

// stays reports whether a link at name stays below the directory.
func stays(name, target string) bool {
	return target != "" && !path.IsAbs(target) && !strings.ContainsAny(target, "\x00\\:") &&
		filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target)))
}

// dir makes a directory and those above it.
func (w *writer) dir(name string) error {
	if name == "." || name == "" {
		return nil
	}
	if err := w.root.MkdirAll(filepath.FromSlash(name), 0o755); err != nil {
		return w.failed(name, err)
	}
	return nil
}

// file writes one file. What the archive says of its size does not count.
func (w *writer) file(name string, mode os.FileMode, in io.Reader) (err error) {
	if err := w.dir(path.Dir(name)); err != nil {
		return err
	}
	perm := mode.Perm()&0o755 | 0o600
	out, err := w.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return w.failed(name, err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w.result.Files++
	if _, err := io.Copy(&counted{w, out}, in); err != nil {
		return w.failed(name, err)
	}
	return nil
}

func (w *writer) failed(name string, err error) error {
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: two entries are called %.200q", ErrDamaged, name)
	}
	return fmt.Errorf("unpack %.200q: %w", name, err)
}

// link notes a symbolic link for the end.
func (w *writer) link(name, target string) {
	if !stays(name, target) {
		w.skip(name, "it links to "+fmt.Sprintf("%.200q", target)+", outside")
		return
	}
	w.links = append(w.links, link{name, target})
}

// done makes the links.
func (w *writer) done(err error) (Result, error) {
	for _, l := range w.links {
		if err != nil {
			break
		}
		if err = w.dir(path.Dir(l.name)); err != nil {
			break
		}
		if linkErr := w.root.Symlink(filepath.FromSlash(l.target), filepath.FromSlash(l.name)); errors.Is(linkErr, os.ErrExist) {
			err = w.failed(l.name, linkErr)
		} else if linkErr != nil { // Windows without the right to make links
			w.skip(l.name, "links cannot be made here")
		}
	}
	if err != nil {
		return Result{}, err
	}
	return w.result, nil
}

// counted counts what is written, and ends an archive that grows too much.
type counted struct {
	w  *writer
	to io.Writer
}

func (c *counted) Write(p []byte) (int, error) {
	w := c.w
	w.result.Bytes += int64(len(p))
	switch n := w.result.Bytes; {
	case w.ctx.Err() != nil:
		return 0, w.ctx.Err()
	case n > w.limits.Bytes:
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, w.limits.Bytes)
	case n > w.limits.RatioFrom && n/w.limits.Ratio > w.packed:
		return 0, fmt.Errorf("%w: it unpacks to more than %d times its size", ErrTooLarge, w.limits.Ratio)
	}
	return c.to.Write(p)
}
