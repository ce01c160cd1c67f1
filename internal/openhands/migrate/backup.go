package migrate

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/document"
)

// manifestName is the file that says which copy in a backup is which. It has a
// line for each.
const manifestName = "manifest.jsonl"

// record is a line of it.
type record struct {
	Kind   document.Kind `json:"kind"`
	Path   string        `json:"path"`
	Copy   string        `json:"copy"`   // file in the backup
	Before string        `json:"before"` // SHA-256 of the copy
	After  string        `json:"after"`  // and of what took its place
}

// backup is a directory with the files as they were. It holds keys, so only its
// owner can read it, and it is not beside the profiles, where OpenHands would
// list them.
type backup struct {
	dir      string
	manifest *os.File
	n        int
}

func newBackup(parent string, now time.Time) (*backup, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("make backup: %w", err)
	}
	dir := filepath.Join(parent, now.UTC().Format("20060102T150405Z")+"-"+rand.Text()[:6])
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make backup: %w", err)
	}
	manifest, err := os.OpenFile(filepath.Join(dir, manifestName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = atomicfile.SyncDir(parent)
	}
	if err != nil {
		return nil, fmt.Errorf("make backup: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return &backup{dir: dir, manifest: manifest}, nil
}

// add copies a file into the backup. It returns when the copy, its line and their
// names are on the disk. When it fails, nothing of the file is in the backup.
func (b *backup) add(f document.File, before, after []byte) error {
	b.n++
	name := fmt.Sprintf("%05d-%s", b.n, filepath.Base(f.Path))
	err := writeSynced(filepath.Join(b.dir, name), before)
	if err == nil {
		err = b.note(record{f.Kind, f.Path, name, sum(before), sum(after)})
	}
	if err == nil {
		err = atomicfile.SyncDir(b.dir)
	}
	if err != nil {
		_ = os.Remove(filepath.Join(b.dir, name)) // It may not be there; what went wrong is told.
		return fmt.Errorf("make backup: %w", err)
	}
	return nil
}

// note writes a line of the manifest, all of it or nothing.
func (b *backup) note(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	end, err := b.manifest.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := b.manifest.Write(append(line, '\n')); err != nil {
		return errors.Join(err, b.manifest.Truncate(end))
	}
	return b.manifest.Sync()
}

func (b *backup) close() error {
	if b == nil {
		return nil
	}
	return b.manifest.Close()
}

func writeSynced(path string, content []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// RestoreOptions are what Restore works on.
type RestoreOptions struct {
	Backup  string   // directory
	Bases   []string // base directories that files may be restored to
	CLI     string   // that of the OpenHands CLI; "" for none
	Force   bool     // also files that changed since
	Locking document.Locking
}

// RestoreAction is what happened to a file of a backup.
type RestoreAction string

// The outcomes of a restore.
const (
	Restored     RestoreAction = "restored"
	AlreadyThere RestoreAction = "already" // the file is what the backup has
	ChangedSince RestoreAction = "changed" // another program changed it since; it stays
	NotRestored  RestoreAction = "failed"
)

// RestoreReport is what Restore did.
type RestoreReport struct {
	Backup string        `json:"backup"`
	Items  []RestoreItem `json:"items"`
}

// RestoreItem is one file of a backup.
type RestoreItem struct {
	Path   string        `json:"path"`
	Action RestoreAction `json:"action"`
	Error  string        `json:"error,omitempty"`
	Err    error         `json:"-"`
}

// Code is the exit code for the report.
func (r *RestoreReport) Code() fault.Code {
	var code fault.Code
	for _, item := range r.Items {
		switch {
		case document.IsLockError(item.Err):
			return fault.Conflict
		case item.Action == ChangedSince || item.Action == NotRestored:
			code = fault.Partly
		}
	}
	return code
}

// ErrNoBackup means that a directory is not a backup.
var ErrNoBackup = errors.New("not a backup made by ohgw")

// Restore brings the files of a backup back, byte for byte. A file that is not
// what the migration left is not touched, unless Force is set. Nothing is
// written outside the places in the options, whatever the backup says.
func Restore(ctx context.Context, o RestoreOptions) (RestoreReport, error) {
	report := RestoreReport{Backup: o.Backup, Items: []RestoreItem{}}
	records, err := readManifest(o.Backup)
	if err != nil {
		return report, err
	}
	for _, rec := range records {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		item := RestoreItem{Path: rec.Path}
		if item.Action, item.Err = restore(ctx, o, rec); item.Err != nil {
			item.Action, item.Error = NotRestored, item.Err.Error()
		}
		report.Items = append(report.Items, item)
	}
	return report, nil
}

func readManifest(dir string) ([]record, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoBackup, err)
	}
	defer f.Close()
	var records []record
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// A line without an end is of a run that was killed there: its
			// file was not changed yet.
			return records, nil
		}
		var rec record
		if err == nil {
			err = json.Unmarshal(line, &rec)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoBackup, err)
		}
		records = append(records, rec)
	}
}

func restore(ctx context.Context, o RestoreOptions, rec record) (RestoreAction, error) {
	f, err := o.file(rec)
	if err != nil {
		return "", err
	}
	if rec.Copy != filepath.Base(rec.Copy) {
		return "", ErrNoBackup
	}
	content, err := os.ReadFile(filepath.Join(o.Backup, rec.Copy))
	if err != nil {
		return "", err
	}
	if sum(content) != rec.Before {
		return "", errors.New("the copy in the backup is damaged")
	}
	action := Restored
	err = f.WithLock(ctx, o.Locking, func() error {
		now := f.Read()
		if now.Sealed != nil {
			return now.Sealed
		}
		was := ""
		if raw, err := os.ReadFile(f.Path); err == nil {
			was = sum(raw)
		} else if !now.Missing() {
			return err
		}
		switch {
		case was == rec.Before:
			action = AlreadyThere
			return nil
		case was != rec.After && !o.Force:
			action = ChangedSince
			return nil
		}
		return f.Write(content)
	})
	return action, err
}

// file returns the file of a record, if it is one of those that may be written.
func (o *RestoreOptions) file(rec record) (document.File, error) {
	var may []document.File
	name := document.File{Kind: rec.Kind, Path: rec.Path}.Name()
	for _, base := range o.Bases {
		may = append(may, document.ProfileFile(base, name), document.AgentProfileFile(base, name), document.SettingsFile(base))
	}
	if o.CLI != "" {
		may = append(may, document.CLIFile(o.CLI))
	}
	for _, f := range may {
		if f.Kind == rec.Kind && f.Path == rec.Path {
			return f, nil
		}
	}
	return document.File{}, fmt.Errorf("%s is not an OpenHands file that this command changes", rec.Path)
}
