package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/storage"
)

// Locking is how to wait for the lock of a file.
type Locking struct {
	Timeout time.Duration         // as in filelock.Options
	OnWait  func(filelock.Holder) // as in filelock.Options
}

// ErrChanged means that another program changed a file without a lock while it
// was being edited. Nothing was written.
var ErrChanged = errors.New("was changed by another program at the same time")

// WithLock calls fn while the lock of the file is held. The directory of the
// lock is made, for its owner only, when it is missing.
func (f File) WithLock(ctx context.Context, l Locking, fn func() error) (err error) {
	if f.Lock == "" {
		return fn()
	}
	if err := os.MkdirAll(filepath.Dir(f.Lock), 0o700); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, f.Lock, filelock.Options{Timeout: l.Timeout, OnWait: l.OnWait, Mode: f.lockMode()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return fn()
}

// lockMode is what OpenHands gives its lock files.
func (f File) lockMode() fs.FileMode {
	if f.Kind == Settings || f.Kind == Secrets {
		return 0o600
	}
	return 0o644
}

// ActiveMember is where the settings have the name of the active profile.
const ActiveMember = "active_profile"

// Update reads the file under its lock, and writes what change makes of it. It
// reports whether that was something new. The Snapshot that change gets has no
// Gate and is not sealed, which are errors of Update, except that its Gate says
// fs.ErrNotExist when there is no file.
func (f File) Update(ctx context.Context, l Locking, change func(Snapshot) (*jsonedit.Doc, error)) (changed bool, err error) {
	err = f.WithLock(ctx, l, func() error {
		s := f.Read()
		if s.Sealed != nil {
			return s.Sealed
		}
		if s.Gate != nil && !s.Missing() {
			return s.Gate
		}
		after, err := change(s)
		if err != nil || s.Doc != nil && bytes.Equal(after.Bytes(), s.Doc.Bytes()) {
			return err
		}
		if err := f.replace(s, after); err != nil {
			return err
		}
		changed = true
		return nil
	})
	return changed, err
}

// replace writes the file and makes sure that what it wrote is there.
func (f File) replace(before Snapshot, after *jsonedit.Doc) error {
	if g := f.Kind.Gate(after.Root()); g != nil {
		return fmt.Errorf("not written, because it could no longer be loaded: %w", g)
	}
	if f.Lock == "" && !f.unchanged(before) {
		return ErrChanged
	}
	if err := f.Write(after.Bytes()); err != nil {
		return err
	}
	again, _, err := readAll(f.Path)
	if err != nil {
		return fmt.Errorf("read the written file: %w", storage.Cause(err))
	}
	if !bytes.Equal(again, after.Bytes()) {
		return errors.New("the file's content differs from what was written")
	}
	return nil
}

func (f File) unchanged(before Snapshot) bool {
	now := f.Read()
	if now.Doc == nil || before.Doc == nil {
		return now.Missing() && before.Missing()
	}
	return bytes.Equal(now.Doc.Bytes(), before.Doc.Bytes())
}

// Write replaces the content of the file. The lock is the caller's. As when
// OpenHands writes it, only its owner can read a profile or the settings
// afterwards. The CLI writes its file in place, so the mode of that file stays.
func (f File) Write(src []byte) error {
	opts := atomicfile.Options{MaxMode: 0o600}
	if f.Kind == CLI {
		opts.MaxMode = 0
	}
	return atomicfile.Write(f.Path, src, opts)
}

// IsLockError reports whether err says that the lock was not available, so that
// trying again later can help.
func IsLockError(err error) bool {
	_, busy := errors.AsType[*filelock.BusyError](err)
	return busy
}

// IsNewer reports whether err says that a newer OpenHands wrote a file.
func IsNewer(err error) bool {
	action, _ := ActionOf(err)
	return action == canon.ErrorNewer
}

// ActionOf is the action that an error of this package stands for.
func ActionOf(err error) (canon.Action, bool) {
	g, ok := errors.AsType[*GateError](err)
	if !ok {
		return "", false
	}
	return g.Action, true
}
