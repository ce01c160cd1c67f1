// Package moving moves conversations between this machine and a server of OpenHands.
// It asks nobody and prints nothing: what cannot be moved is for its callers to tell.
package moving

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/unpack"
)

// Source is the account that a conversation is on.
type Source interface {
	Wake(ctx context.Context, id string, report func(account.Progress)) (account.Runtime, error)
	Record(ctx context.Context, id string) (*account.Download, error)
	Workspace(ctx context.Context, id string) (*account.Download, error)
}

// Pull brings a conversation to this machine.
type Pull struct {
	From Source
	To   control.Library
	ID   string // with dashes

	Scratch   string // a directory for what arrives, which is made
	Workspace string // the directory that it works in here; made by Run
	Profile   string // the LLM profile that answers here; "": the one of the request
	Replace   bool   // a conversation and a workspace that are here

	Report func(account.Progress)
	// Watch sees what arrives.
	Watch func(name string, size int64, from io.Reader) io.Reader
}

// Pulled is what came of a Pull.
type Pulled struct {
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	Skipped   []string `json:"skipped"` // files that were left out, with the reason
	Secrets   []string `json:"secrets"` // names of secrets that stayed there
	Servers   []string `json:"mcp_servers"`
	Directory string   `json:"-"` // that it worked in there
}

// Run does it, as a whole or not at all. A failed Run, also one that was killed,
// leaves nothing behind that the next one does not remove.
func (p *Pull) Run(ctx context.Context) (done Pulled, err error) {
	if err := paths.MakePrivate(p.Scratch); err != nil {
		return done, unwritable(p.Scratch, err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(p.Scratch, "lock"), filelock.Options{Timeout: -1, Mode: 0o600})
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return done, &fault.Error{Msg: "another process is pulling this conversation: " + busy.Holder.String(), Hint: "wait until it is done", Code: fault.Conflict, Err: err}
	}
	if err != nil {
		return done, unwritable(p.Scratch, err)
	}
	defer func() { err = errors.Join(err, lock.Release(), os.RemoveAll(p.Scratch)) }()
	record, packed := filepath.Join(p.Scratch, "conversation.zip"), filepath.Join(p.Scratch, "workspace")
	if err := errors.Join(os.RemoveAll(record), os.RemoveAll(packed), os.RemoveAll(p.fresh()), p.recover()); err != nil {
		return done, unwritable(p.Scratch, err)
	}
	if _, err := p.From.Wake(ctx, p.ID, p.Report); err != nil {
		return done, err
	}
	if err := p.fetch(ctx, "conversation", record, p.From.Record); err != nil {
		return done, err
	}
	if done, err = inspect(record); err != nil {
		return done, err
	}
	if err := p.fetch(ctx, "workspace", packed, p.From.Workspace); err != nil {
		return done, err
	}
	if err := p.unpack(ctx, packed, &done); err != nil {
		return done, err
	}
	return done, p.settle(ctx, record)
}

// fetch downloads a file.
func (p *Pull) fetch(ctx context.Context, name, file string, open func(context.Context, string) (*account.Download, error)) (err error) {
	got, err := open(ctx, p.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Close()) }()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unwritable(file, err)
	}
	in := p.Watch(name, got.Size, got)
	_, err = io.Copy(diskOf{f}, in)
	if onDisk, ok := errors.AsType[*diskError](err); ok {
		err = unwritable(file, onDisk.err)
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = unwritable(file, closeErr)
	}
	return err
}

// diskOf marks the failures of the disk: others are those of the transfer.
type diskOf struct{ to io.Writer }

func (d diskOf) Write(b []byte) (int, error) {
	n, err := d.to.Write(b)
	if err != nil {
		err = &diskError{err}
	}
	return n, err
}

type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }

// stored is what a state has that concerns a transfer.
type stored struct {
	Status    event.Status    `json:"execution_status"`
	Workspace event.Workspace `json:"workspace"`
	Agent     struct {
		Servers map[string]json.RawMessage `json:"mcp_config"`
	} `json:"agent"`
	Secrets struct {
		Sources map[string]json.RawMessage `json:"secret_sources"`
	} `json:"secret_registry"`
}

// maxState bounds the state of a conversation.
const maxState = 64 << 20

// inspect reads the state in a record. A conversation that runs is refused: its files
// and its events would be of different moments.
func inspect(record string) (Pulled, error) {
	archive, err := zip.OpenReader(record)
	if err != nil {
		return Pulled{}, damaged(err)
	}
	defer func() { _ = archive.Close() }() // It was only read.
	for _, f := range archive.File {
		if filepath.Base(filepath.FromSlash(f.Name)) != "base_state.json" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return Pulled{}, damaged(err)
		}
		var s stored
		err = json.NewDecoder(io.LimitReader(in, maxState)).Decode(&s)
		if err = errors.Join(err, in.Close()); err != nil {
			return Pulled{}, damaged(err)
		}
		if s.Status == event.Running {
			return Pulled{}, &fault.Error{Msg: "the agent is running", Hint: "wait for the end of its run, or stop it, and pull again", Code: fault.Conflict}
		}
		return Pulled{Directory: s.Workspace.WorkingDir, Secrets: names(s.Secrets.Sources), Servers: s.servers(), Skipped: []string{}}, nil
	}
	return Pulled{}, damaged(errors.New("it has no base_state.json"))
}

// servers are the MCP servers, which stand alone or below "mcpServers".
func (s stored) servers() []string {
	if inner, ok := s.Agent.Servers["mcpServers"]; ok {
		var list map[string]json.RawMessage
		_ = json.Unmarshal(inner, &list) // One that cannot be read is not started either.
		return names(list)
	}
	return names(s.Agent.Servers)
}

func names(m map[string]json.RawMessage) []string {
	return append([]string{}, slices.Sorted(maps.Keys(m))...)
}

// fresh is where a workspace is unpacked, beside its place, and former where the one
// before waits.
func (p *Pull) fresh() string {
	return filepath.Join(filepath.Dir(p.Workspace), ".ohgw-pull-"+filepath.Base(p.Scratch))
}
func (p *Pull) former() string { return p.fresh() + ".before" }

// recover puts back what a Run was replacing when it was killed.
func (p *Pull) recover() error {
	if _, err := os.Lstat(p.former()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(p.Workspace); err == nil {
		return os.RemoveAll(p.former())
	}
	return os.Rename(p.former(), p.Workspace)
}

// manifestName is a file that an agent-server adds to an archive.
const manifestName = "archive_manifest.json"

// unpack unpacks the workspace beside its place. An archive has the name of its
// directory on top.
func (p *Pull) unpack(ctx context.Context, packed string, done *Pulled) error {
	f, err := os.Open(packed)
	if err != nil {
		return unwritable(packed, err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if err := os.MkdirAll(filepath.Dir(p.Workspace), 0o700); err != nil {
		return unwritable(p.Workspace, err)
	}
	top := filepath.Base(done.Directory)
	got, err := unpack.Into(ctx, f, p.fresh(), unpack.Limits{Pick: func(name string) string {
		if below, plain := strings.CutPrefix(name, "./"); plain {
			return below // tar made it, without the name of the directory
		}
		if strings.TrimSuffix(name, "/") == top {
			return "."
		}
		return strings.TrimPrefix(name, top+"/")
	}})
	switch {
	case errors.Is(err, unpack.ErrUnsafe), errors.Is(err, unpack.ErrTooLarge), errors.Is(err, unpack.ErrDamaged):
		return fault.New("the workspace cannot be unpacked: "+err.Error(), "look at it: ohgw conversations download workspace ID", err)
	case err != nil && ctx.Err() == nil:
		return unwritable(p.Workspace, err)
	case err != nil:
		return err
	}
	done.Files, done.Bytes, done.Skipped = got.Files, got.Bytes, append(done.Skipped, got.Skipped...)
	if p.dropManifest() {
		done.Files--
	}
	return nil
}

// dropManifest removes the file that the agent-server has added. One of the workspace
// itself looks otherwise.
func (p *Pull) dropManifest() bool {
	file := filepath.Join(p.fresh(), manifestName)
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil || m["source"] == nil || m["excludes"] == nil || m["file_count"] == nil {
		return false
	}
	return os.Remove(file) == nil
}

// settle puts workspace and conversation in their places.
func (p *Pull) settle(ctx context.Context, record string) error {
	if _, err := os.Lstat(p.Workspace); err == nil {
		if !p.Replace && os.Remove(p.Workspace) != nil { // an empty one makes room
			return errors.Join(Taken(p.Workspace), os.RemoveAll(p.fresh()))
		}
		if p.Replace {
			if err := os.Rename(p.Workspace, p.former()); err != nil {
				return errors.Join(unwritable(p.Workspace, err), os.RemoveAll(p.fresh()))
			}
		}
	}
	err := os.Rename(p.fresh(), p.Workspace)
	if err != nil {
		err = unwritable(p.Workspace, err)
	} else {
		err = p.take(ctx, record)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(p.fresh()), os.RemoveAll(p.Workspace), p.recover())
	}
	return os.RemoveAll(p.former())
}

// take imports the conversation.
func (p *Pull) take(ctx context.Context, record string) error {
	f, err := os.Open(record)
	if err != nil {
		return unwritable(record, err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return unwritable(record, err)
	}
	_, err = p.To.Import(ctx, control.Archive{
		File: f, Size: size, Workspace: p.Workspace, Profile: p.Profile, Foreign: true, Replace: p.Replace,
	})
	return err //nolint:wrapcheck // its own error
}

// Taken says that a directory is there already.
func Taken(dir string) error {
	return &fault.Error{Msg: "the directory is there already: " + dir, Hint: "choose a new one with --workspace", Code: fault.Conflict}
}

func unwritable(path string, err error) error {
	return fault.New("cannot be written: "+path, "free disk space, or check the permissions of its directory", err)
}

func damaged(err error) error {
	return fmt.Errorf("%w: what the server sends is not the record of a conversation: %w", account.ErrUpstream, err)
}

// CheckFree refuses a directory that is there, unless it is empty.
func CheckFree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	return Taken(dir)
}
