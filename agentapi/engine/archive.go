package engine

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
	"regexp"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/internal/unpack"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The bounds of an archive: more is not a conversation.
const (
	maxArchiveFiles = 1_000_000
	maxArchiveFile  = 256 << 20 // bytes, unpacked, of any archive however small
	maxArchive      = 8 << 30   // bytes of all files, unpacked
)

// inArchive matches the files of a conversation that an archive has, below its
// directory. Locks and leases are not among them, nor is what a sandbox has kept.
var inArchive = regexp.MustCompile(`^(base_state\.json|meta\.json|` + regexp.QuoteMeta(task.FileName) + `|events/event-\d{5,}-[^/\\]+\.json|observations/[^/\\]+)$`)

var _ control.Library = controlled{}

// Library is the conversations of the backend, for programs that open none of them.
func (b *Backend) Library() control.Library { return controlled{b} }

// Export writes a conversation as an archive.
func (c controlled) Export(ctx context.Context, id string, w io.Writer) error {
	record, err := c.Record(ctx, id)
	if err != nil {
		return err
	}
	dir, err := c.Log(id)
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
				return ctx.Err() //nolint:wrapcheck // it is ctx's
			}
			if !inArchive.MatchString(name) || !entry.Type().IsRegular() || name == "base_state.json" || name == "meta.json" {
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
func (c controlled) Import(ctx context.Context, from control.Archive) (string, error) {
	id, err := contents(from)
	if err != nil {
		return "", err
	}
	there := store.Exists(c.b.cfg.Dir, id)
	if there && !from.Replace {
		return "", &agentapi.Error{Kind: control.ErrTaken, InProcess: true, Msg: fmt.Sprintf("There is a conversation %s already; remove it first.", id)}
	}
	if err := os.MkdirAll(c.b.cfg.Dir, 0o700); err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	// Nobody takes a name with a dot for a conversation.
	above, err := os.MkdirTemp(c.b.cfg.Dir, ".import-")
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	half := filepath.Join(above, "conversation")
	err = unpackTo(ctx, half, from)
	if err == nil {
		err = settle(half, id, from)
	}
	if err == nil && there {
		err = c.Remove(ctx, id)
	}
	if err == nil {
		err = os.Rename(half, store.Path(c.b.cfg.Dir, id))
	}
	if err = errors.Join(err, os.RemoveAll(above)); err != nil {
		return "", err
	}
	return id, nil
}

// contents checks the names of an archive and gives the id of its conversation.
func contents(from control.Archive) (id string, err error) {
	archive, err := zip.NewReader(from.File, from.Size)
	if err != nil {
		return "", notArchive("it is not a zip file", err)
	}
	if len(archive.File) > maxArchiveFiles {
		return "", notArchive("it has too many files", nil)
	}
	whole := false
	for _, f := range archive.File {
		hex, name, ok := strings.Cut(f.Name, "/")
		canonical, err := uuid.Parse(hex)
		if err != nil || !ok {
			return "", notArchive(fmt.Sprintf("%q does not stand in the directory of a conversation", f.Name), err)
		}
		if id != "" && id != canonical {
			return "", notArchive("it has more than one conversation", nil)
		}
		id, whole = canonical, whole || name == "base_state.json"
	}
	if !whole {
		return "", notArchive("it has no base_state.json", nil)
	}
	return id, nil
}

// unpackTo writes the files of an archive that belong to a conversation.
func unpackTo(ctx context.Context, dir string, from control.Archive) error {
	_, err := unpack.Into(ctx, io.NewSectionReader(from.File, 0, from.Size), dir, unpack.Limits{
		Entries: maxArchiveFiles, Bytes: maxArchive, RatioFrom: maxArchiveFile,
		Pick: func(name string) string {
			_, below, _ := strings.Cut(name, "/")
			if !inArchive.MatchString(below) {
				return "" // a lock, a lease, a directory: nothing to keep
			}
			return below
		},
	})
	switch {
	case errors.Is(err, unpack.ErrUnsafe):
		return notArchive("it has a name that leads out of it", err)
	case errors.Is(err, unpack.ErrTooLarge):
		return notArchive("it is too large", err)
	case errors.Is(err, unpack.ErrDamaged):
		return notArchive("it is damaged", err)
	case err != nil:
		return err //nolint:wrapcheck // it is ctx's, or names the file
	}
	for _, below := range []string{"events", "observations"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	return private(dir)
}

// private takes the rights of others away, which an archive may have given.
func private(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return os.Chmod(name, mode) //nolint:gosec // nobody else writes here, and links are not unpacked
	})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// settle makes the state of an imported conversation that of this machine: nothing
// runs, and what stands for a secret is not one.
func settle(dir, id string, from control.Archive) error {
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
	if from.Workspace != "" {
		state.Workspace.WorkingDir = from.Workspace
	}
	state.PersistenceDir = ""
	state.HookConfig = nil // nobody here has allowed its commands
	if from.Foreign {
		disown(&state)
		if err := disownMeta(filepath.Join(dir, "meta.json")); err != nil {
			return err
		}
	}
	if from.Profile != "" {
		state.Tags[conversation.TagProfile] = from.Profile
		state.Tags[conversation.TagUsage] = usageOf(state.Agent)
	}
	if data, err = json.Marshal(state); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// disown takes out of a state what belongs to the machine that it comes from: an
// agent-server before 1.40 packs the keys of LLMs as it has encrypted them.
func disown(state *store.State) {
	delete(state.Tags, conversation.TagProfile)
	delete(state.Tags, conversation.TagUsage)
	state.SecretRegistry = store.NewState("", nil, "").SecretRegistry
	var a any
	if json.Unmarshal(state.Agent, &a) != nil {
		return // it is made again from a profile
	}
	if data, err := json.Marshal(withoutSecrets(a)); err == nil {
		state.Agent = data
	}
}

// withoutSecrets is a JSON value without the members that have secrets, or start
// programs.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	case map[string]any:
		for name := range v {
			if slices.Contains(llmSecrets, name) || slices.Contains(foreign, name) {
				delete(v, name)
				continue
			}
			v[name] = withoutSecrets(v[name])
		}
	}
	return v
}

// foreign are further members of an agent that have secrets, or start programs.
var foreign = []string{"api_key", "extra_headers", "litellm_extra_body", "mcp_config", "secrets", "hooks", "hook_config"}

// disownMeta keeps of meta.json what says what the conversation is.
func disownMeta(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return notArchive("its meta.json cannot be read", err)
	}
	kept := make(map[string]json.RawMessage)
	for _, name := range []string{"id", "title", "created_at", "updated_at"} {
		if value, ok := all[name]; ok {
			kept[name] = value
		}
	}
	if data, err = json.Marshal(kept); err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// usageOf is the key of an agent's numbers in the statistics.
func usageOf(stored json.RawMessage) string {
	var a agent
	if json.Unmarshal(stored, &a) == nil {
		if usage := a.object("llm").text("usage_id"); usage != "" {
			return usage
		}
	}
	return agentUsage
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
