package library

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The bounds of an archive: more is not a conversation.
const (
	maxArchiveFiles = 1_000_000
	maxArchiveFile  = 256 << 20 // bytes of one file, unpacked
	maxArchive      = 8 << 30   // bytes of all files, unpacked
)

// inArchive reports whether an archive has a file of a conversation: a path below its
// directory. Locks and leases are not among them, nor is what a sandbox has kept.
func inArchive(name string) bool { return name == task.FileName || inArchives().MatchString(name) }

var inArchives = pattern.Of(`^(base_state\.json|meta\.json|events/event-\d{5,}-[^/\\]+\.json|observations/[^/\\]+)$`)

// Export writes a conversation as an archive.
func (lib *Library) Export(ctx context.Context, id string, w io.Writer) error {
	record, err := lib.Record(ctx, id)
	if err != nil {
		return err
	}
	dir, err := lib.Log(id)
	if err != nil {
		return err
	}
	out := zip.NewWriter(w)
	name := filepath.Base(dir)
	for file, data := range map[string]json.RawMessage{"base_state.json": record.State, "meta.json": record.Meta} {
		if len(data) == 0 {
			continue
		}
		if err := pack(out, path.Join(name, file), strings.NewReader(string(data))); err != nil {
			return err
		}
	}
	if err := packFiles(ctx, out, dir); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

// packFiles packs what a directory has besides its states, which have secrets.
func packFiles(ctx context.Context, out *zip.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open conversation: %w", err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	for _, below := range []string{".", "events", "observations"} {
		entries, err := readDir(root, below)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			name := path.Join(below, entry.Name())
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !inArchive(name) || !entry.Type().IsRegular() || name == "base_state.json" || name == "meta.json" {
				continue
			}
			f, err := root.Open(name)
			if err != nil {
				return fmt.Errorf("read conversation: %w", err)
			}
			err = pack(out, path.Join(filepath.Base(dir), name), f)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDir lists a directory that need not be there.
func readDir(root *os.Root, name string) ([]os.DirEntry, error) {
	dir, err := root.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read conversation: %w", err)
	}
	defer func() { _ = dir.Close() }() // It was only read.
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read conversation: %w", err)
	}
	return entries, nil
}

func pack(out *zip.Writer, name string, from io.Reader) error {
	w, err := out.Create(name)
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

// Import makes a conversation of an archive. It is there as a whole or not at all.
func (lib *Library) Import(ctx context.Context, from control.Archive) (string, error) {
	archive, err := zip.NewReader(from.File, from.Size)
	if err != nil {
		return "", notArchive("it is not a zip file", err)
	}
	id, files, err := contents(archive)
	if err != nil {
		return "", err
	}
	if store.Exists(lib.cfg.Dir, id) {
		return "", &agentapi.Error{Kind: control.ErrTaken, InProcess: true, Msg: fmt.Sprintf("There is a conversation %s already; remove it first.", id)}
	}
	dir := store.Path(lib.cfg.Dir, id)
	if err := os.MkdirAll(lib.cfg.Dir, 0o700); err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	// A name with a dot is never listed as a conversation.
	half, err := os.MkdirTemp(lib.cfg.Dir, ".import-")
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	err = unpack(ctx, half, files)
	if err == nil {
		err = settle(half, id, from.Workspace)
	}
	if err == nil {
		err = os.Rename(half, dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(half))
	}
	return id, nil
}

// contents checks an archive and gives the id of its conversation and its files, by
// their names below its directory.
func contents(archive *zip.Reader) (id string, files map[string]*zip.File, err error) {
	if len(archive.File) > maxArchiveFiles {
		return "", nil, notArchive("it has too many files", nil)
	}
	files = make(map[string]*zip.File)
	total := uint64(0)
	for _, f := range archive.File {
		hex, name, ok := strings.Cut(f.Name, "/")
		canonical, err := uuid.Parse(hex)
		if err != nil || !ok {
			return "", nil, notArchive(fmt.Sprintf("%q does not stand in the directory of a conversation", f.Name), err)
		}
		if id != "" && id != canonical {
			return "", nil, notArchive("it has more than one conversation", nil)
		}
		id = canonical
		if !f.Mode().IsRegular() || !inArchive(name) {
			continue // a lock, a lease, a directory: nothing to keep
		}
		if total += f.UncompressedSize64; f.UncompressedSize64 > maxArchiveFile || total > maxArchive {
			return "", nil, notArchive(fmt.Sprintf("%q is too large", f.Name), nil)
		}
		files[name] = f
	}
	if files["base_state.json"] == nil {
		return "", nil, notArchive("it has no base_state.json", nil)
	}
	return id, files, nil
}

func unpack(ctx context.Context, dir string, files map[string]*zip.File) error {
	for _, below := range []string{"events", "observations"} {
		if err := os.Mkdir(filepath.Join(dir, below), 0o700); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	for name, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := unpackFile(filepath.Join(dir, filepath.FromSlash(name)), f); err != nil {
			return err
		}
	}
	return nil
}

// unpackFile writes one file. A size that was announced too small ends it.
func unpackFile(to string, f *zip.File) (err error) {
	in, err := f.Open()
	if err != nil {
		return notArchive(fmt.Sprintf("%q is damaged", f.Name), err)
	}
	defer func() { _ = in.Close() }() // It was only read.
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(in, maxArchiveFile+1))
	switch {
	case errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat), errors.Is(err, io.ErrUnexpectedEOF):
		return notArchive(fmt.Sprintf("%q is damaged", f.Name), err)
	case err != nil:
		return fmt.Errorf("import: %w", err)
	case n > maxArchiveFile:
		return notArchive(fmt.Sprintf("%q is too large", f.Name), nil)
	}
	return nil
}

// settle makes the state of an imported conversation that of this machine: nothing
// runs, and what stands for a secret is not one.
func settle(dir, id, workspace string) error {
	file := filepath.Join(dir, "base_state.json")
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	var state store.State
	if err := json.Unmarshal(withoutMasks(data), &state); err != nil {
		return notArchive("its base_state.json cannot be read", err)
	}
	if canonical, err := uuid.Parse(state.ID); err != nil || canonical != id {
		return notArchive("its base_state.json belongs to another conversation", err)
	}
	if workspace != "" {
		state.Workspace.WorkingDir = workspace
	}
	state.PersistenceDir = ""
	state.HookConfig = nil // its commands were not allowed on this machine
	state.Agent = storedagent.Forget(state.Agent)
	if data, err = json.Marshal(state); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// withoutMasks puts null in the place of masked secrets.
func withoutMasks(data []byte) []byte {
	return []byte(strings.ReplaceAll(string(data), "\"**********\"", "null"))
}

func notArchive(why string, err error) error {
	return &agentapi.Error{
		Kind: control.ErrArchive, Err: err, InProcess: true,
		Msg: "The file is not the archive of a conversation: " + why + ".",
	}
}
