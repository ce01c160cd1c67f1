package conversations

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/id"
)

// half is the beginning of a file that arrives. While a process writes to it, it has
// a name that nobody else knows. If the transfer is cut, and the server has said by
// which ETag the rest can be asked for, it is kept beside the file, as
// NAME.part-ETAG: whoever goes on with it takes it by renaming it.
type half struct {
	name string
	part transport.Part
}

// partOf is what to ask for; nil for the whole.
func (h *half) partOf() *transport.Part {
	if h == nil || h.part.Size == 0 {
		return nil
	}
	return &h.part
}

const (
	partMark = ".part-"
	maxETag  = 100 // in the name of a file
)

// newHalf is a name for a file that arrives in dir.
func newHalf(dir string) string { return filepath.Join(dir, "."+id.New("ohgw-")+".part") }

// take takes the beginning of a file that was kept; nil if there is none.
func (t *target) take(local string) *half {
	dir, base := filepath.Dir(local), filepath.Base(local)
	d, err := t.root.Open(dir)
	if err != nil {
		return nil // There is no such directory yet.
	}
	entries, err := d.ReadDir(-1)
	if errors.Join(err, d.Close()) != nil {
		return nil
	}
	for _, e := range entries {
		code, ok := strings.CutPrefix(e.Name(), base+partMark)
		tag, err := base64.RawURLEncoding.DecodeString(code)
		info, infoErr := e.Info()
		if !ok || err != nil || infoErr != nil || !info.Mode().IsRegular() {
			continue
		}
		h := &half{newHalf(dir), transport.Part{Size: info.Size(), ETag: string(tag)}}
		if t.root.Rename(filepath.Join(dir, e.Name()), h.name) == nil {
			return h
		}
	}
	return nil
}

// keepHalf keeps the beginning of a file for later, and reports whether it could.
func (t *target) keepHalf(local string, h *half) bool {
	if h == nil || h.part.ETag == "" || len(h.part.ETag) > maxETag {
		return false
	}
	name := filepath.Base(local) + partMark + base64.RawURLEncoding.EncodeToString([]byte(h.part.ETag))
	return t.root.Rename(h.name, filepath.Join(filepath.Dir(local), name)) == nil
}

// receive writes a whole file or none: into a half first, or at the end of the one
// that got goes on with.
func (t *target) receive(local string, begun *half, got *account.Download, from io.Reader) (n int64, err error) {
	if err := t.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return 0, t.unwritable(local, err)
	}
	h, f, err := t.begin(local, begun, got)
	if err != nil {
		return 0, t.unwritable(local, err)
	}
	n, err = io.Copy(f, from)
	n += got.From
	read, cut := errors.AsType[*readError](err)
	if cut {
		err = read.err
	} else if err = errors.Join(err, f.Sync()); err != nil {
		err = t.unwritable(local, err)
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = t.unwritable(local, closeErr)
	}
	if err == nil {
		if err = t.root.Rename(h.name, local); err == nil {
			return n, nil
		}
		err = t.unwritable(local, err)
	}
	if cut && n > 0 && t.keepHalf(local, h) {
		return n, &cutError{n, err}
	}
	return n, errors.Join(err, t.root.Remove(h.name))
}

// begin opens the half that got goes on with, or a new one.
func (t *target) begin(local string, begun *half, got *account.Download) (*half, *os.File, error) {
	h, flags := begun, os.O_WRONLY|os.O_APPEND
	if got.From == 0 {
		if begun != nil { // of another content
			if err := t.root.Remove(begun.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, err //nolint:wrapcheck // unwritable does
			}
		}
		h, flags = &half{name: newHalf(filepath.Dir(local))}, os.O_CREATE|os.O_EXCL|os.O_WRONLY
	}
	h.part.ETag = got.ETag
	f, err := t.root.OpenFile(h.name, flags, 0o644)
	return h, f, err //nolint:wrapcheck // unwritable does
}

// cutError is a transfer that was cut, whose beginning is kept.
type cutError struct {
	n   int64
	err error
}

func (e *cutError) Error() string { return "cut after " + bytesText(e.n) + ": " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }
