package boxfiles

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// What is asked for.
const (
	opOpen    = "open" // the first request: which files there are
	opReal    = "real"
	opStat    = "stat"
	opRead    = "read"
	opCreate  = "create"
	opReplace = "replace"
	opList    = "list"
	opMakeDir = "make directory"
	opRemove  = "remove"

	// A file of any size has a number while it is open.
	opOpenFile = "open file"
	opPiece    = "read piece"
	opPut      = "put"
	opWrite    = "write piece"
	opCommit   = "commit"
	opClose    = "close" // what was not committed is gone
)

// Limits of messages, in bytes, and of open files.
const (
	maxHeader = 64 << 10
	maxList   = 64 << 20 // the entries of a directory
	maxData   = 1 << 30  // what is written
	maxPiece  = 1 << 20  // of a file of any size
	maxOpen   = 256      // files of any size
)

// request is asked of the program inside. Size bytes follow it. Paths are bytes
// because names need not be text.
type request struct {
	Op       string      `json:"op"`
	Path     []byte      `json:"path"`
	Confined bool        `json:"confined,omitempty"`
	Limit    int64       `json:"limit,omitempty"`
	Like     *attributes `json:"like,omitempty"`
	Size     int64       `json:"size,omitempty"`
	File     uint64      `json:"file,omitempty"`   // the number of an open file
	Offset   int64       `json:"offset,omitempty"` // in it
}

// answer is the program's. Size bytes follow it.
type answer struct {
	Failure *failure    `json:"failure,omitempty"`
	Real    []byte      `json:"real,omitempty"`
	Info    *attributes `json:"info,omitempty"`
	Size    int64       `json:"size,omitempty"`
}

// attributes are what is known of a file. They are its fs.FileInfo, too.
type attributes struct {
	Base    []byte      `json:"name"`
	Bytes   int64       `json:"size"`
	Bits    fs.FileMode `json:"mode"`
	Changed time.Time   `json:"changed"`
	UID     uint32      `json:"uid"`
	GID     uint32      `json:"gid"`
}

func attributesOf(info fs.FileInfo) *attributes {
	a := &attributes{Base: []byte(info.Name()), Bytes: info.Size(), Bits: info.Mode(), Changed: info.ModTime()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		a.UID, a.GID = stat.Uid, stat.Gid
	}
	return a
}

func (a *attributes) Name() string       { return string(a.Base) }
func (a *attributes) Size() int64        { return a.Bytes }
func (a *attributes) Mode() fs.FileMode  { return a.Bits }
func (a *attributes) ModTime() time.Time { return a.Changed }
func (a *attributes) IsDir() bool        { return a.Bits.IsDir() }

// Sys has the owner alone.
func (a *attributes) Sys() any { return &syscall.Stat_t{Uid: a.UID, Gid: a.GID} }

// valid says that a file can have these attributes: its name has no path.
func (a *attributes) valid() bool {
	name := a.Name()
	return name != "" && !strings.ContainsAny(name, "/\x00") && a.Bytes >= 0
}

// failure is an error on its way out of the box.
type failure struct {
	Kind  string        `json:"kind,omitempty"` // one of kinds, or "size"
	Errno syscall.Errno `json:"errno,omitempty"`
	Op    string        `json:"op,omitempty"`
	Text  string        `json:"text,omitempty"` // of other errors
	Size  int64         `json:"size,omitempty"`
	Limit int64         `json:"limit,omitempty"`
}

// kinds are the errors that are values.
var kinds = map[string]error{"dangling": sandbox.ErrDangling, "not regular": sandbox.ErrNotRegular, "outside": sandbox.ErrOutside}

const kindSize = "size"

func failureOf(err error) *failure {
	if size, ok := errors.AsType[*sandbox.SizeError](err); ok {
		return &failure{Kind: kindSize, Size: size.Size, Limit: size.Limit}
	}
	for kind, value := range kinds {
		if errors.Is(err, value) {
			return &failure{Kind: kind}
		}
	}
	f := &failure{}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		f.Op = pathErr.Op
	}
	errno, isErrno := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrExist): // It may be joined with one about cleaning up.
		f.Errno = syscall.EEXIST
	case isErrno:
		f.Errno = errno
	case errors.Is(err, fs.ErrNotExist):
		f.Errno = syscall.ENOENT
	default:
		f.Text = err.Error()
	}
	return f
}

// err returns the failure as the error that a caller outside of the sandbox gets.
func (f *failure) err(op, at string) error {
	switch {
	case f.Kind == kindSize:
		return &sandbox.SizeError{Size: f.Size, Limit: f.Limit}
	case kinds[f.Kind] != nil:
		return kinds[f.Kind]
	case f.Errno != 0:
		return &fs.PathError{Op: op, Path: at, Err: f.Errno}
	}
	return &fs.PathError{Op: op, Path: at, Err: errors.New(printable(f.Text))}
}

// maxText is how much is kept of a text from the inside, in bytes.
const maxText = 500

// printable is a text from the inside as one line.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text[:min(len(text), maxText)])
	if text = strings.TrimSpace(text); text == "" {
		return "it failed"
	}
	return text
}

// checkPath refuses what is not the path of a file.
func checkPath(at string) error {
	if !path.IsAbs(at) || path.Clean(at) != at || strings.ContainsRune(at, 0) {
		return fmt.Errorf("%.100q is not an absolute, clean path", at)
	}
	return nil
}

// send writes a message with what follows it.
func send(w io.Writer, message any, data []byte) error {
	header, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(header) > maxHeader {
		return errors.New("the path is too long")
	}
	all := make([]byte, 4, 4+len(header)+len(data))
	binary.BigEndian.PutUint32(all, uint32(len(header)))
	_, err = w.Write(append(append(all, header...), data...))
	return err
}

// receive reads a message. What follows it is read by receiveData.
func receive(r io.Reader, message any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(size[:])
	if length > maxHeader {
		return fmt.Errorf("a message of %d bytes", length)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return noEOF(err)
	}
	return json.Unmarshal(header, message)
}

// receiveData reads what follows a message. It takes memory for what has come, not
// for what was announced.
func receiveData(r io.Reader, size, limit int64) ([]byte, error) {
	if size < 0 || size > limit {
		return nil, fmt.Errorf("a message with %d bytes, the limit is %d", size, limit)
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
