package installed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
)

// store is the directory with the skills, and OpenHands' list of them.
type store struct {
	dir      string
	describe func(name string, data []byte) (string, error)
	now      func() time.Time
}

// known is a skill in the list.
type known struct {
	Name        string  `json:"name"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Enabled     bool    `json:"enabled"`
	Source      string  `json:"source"`
	Requested   *string `json:"requested_ref"`
	Resolved    *string `json:"resolved_ref"`
	RepoPath    *string `json:"repo_path"`
	InstalledAt string  `json:"installed_at"`
	Path        string  `json:"install_path"`
}

// version is that of every skill: OpenHands reads none out of a SKILL.md.
const version = "1.0.0"

// UnmarshalJSON reads a skill; without a word about it, it is enabled.
func (k *known) UnmarshalJSON(data []byte) error {
	type plain known
	p := plain{Enabled: true}
	err := json.Unmarshal(data, &p)
	*k = known(p)
	return err
}

// catalog is the list. Before, its members were called otherwise.
type catalog struct {
	Known   map[string]known `json:"extensions"`
	Skills  map[string]known `json:"skills,omitempty"`
	Plugins map[string]known `json:"plugins,omitempty"`
}

// sorted are the skills by name.
func (c *catalog) sorted() []known {
	list := make([]known, 0, len(c.Known))
	for _, name := range slices.Sorted(maps.Keys(c.Known)) {
		list = append(list, c.Known[name])
	}
	return list
}

// load reads the list as it is written. One that cannot be read is empty, as it is to
// OpenHands: the skills are found again by their directories.
func (s store) load() (*catalog, error) {
	list := &catalog{}
	data, err := os.ReadFile(filepath.Join(s.dir, ".installed.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the list of skills: %w", err)
	}
	if err == nil && json.Unmarshal(data, list) != nil {
		list = &catalog{}
	}
	merged := map[string]known{}
	for _, part := range []map[string]known{list.Plugins, list.Skills, list.Known} {
		maps.Copy(merged, part)
	}
	return &catalog{Known: merged}, nil
}

// one is a skill of the list whose directory is there.
func (s store) one(_ context.Context, name string) (known, error) {
	list, err := s.load()
	if err != nil {
		return known{}, err
	}
	k, ok := list.Known[name]
	if _, err := os.Stat(filepath.Join(s.dir, name)); !ok || err != nil {
		return known{}, notInstalled(name)
	}
	return k, nil
}

// update changes the list, which is brought in line with the directories before.
func (s store) update(ctx context.Context, change func(*catalog) error) error {
	return s.locked(ctx, func(list *catalog) error {
		maps.DeleteFunc(list.Known, func(name string, _ known) bool {
			info, err := os.Stat(filepath.Join(s.dir, name))
			return !skillName.MatchString(name) || err != nil || !info.IsDir()
		})
		if err := s.discover(list); err != nil {
			return err
		}
		return change(list)
	})
}

// locked changes the list as it is written, and writes it if that is no error.
func (s store) locked(ctx context.Context, change func(*catalog) error) error {
	if err := paths.MakePrivate(s.dir); err != nil {
		return fmt.Errorf("write the list of skills: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(s.dir, ".installed.lock"), filelock.Options{})
	if err != nil {
		return fmt.Errorf("write the list of skills: %w", err)
	}
	defer func() { _ = lock.Release() }() // the list is written
	list, err := s.load()
	if err != nil {
		return err
	}
	before, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("write the list of skills: %w", err)
	}
	if err := change(list); err != nil {
		return err
	}
	after, err := json.Marshal(list)
	if err != nil || string(after) == string(before) {
		return err
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = atomicfile.Write(filepath.Join(s.dir, ".installed.json"), data, atomicfile.Options{MaxMode: 0o600})
	}
	return err
}

// discover adds the skills that somebody put there by hand.
func (s store) discover(list *catalog) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("read the skills: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if _, there := list.Known[name]; there || !e.IsDir() || !skillName.MatchString(name) {
			continue
		}
		description, err := s.described(name)
		if err != nil {
			continue // it is no skill
		}
		list.Known[name] = s.fill(known{Name: name, Description: description, Source: "local"})
	}
	return nil
}

// fill says of a skill what ohgw knows itself.
func (s store) fill(k known) known {
	k.Version, k.Enabled, k.Path = version, true, filepath.Join(s.dir, k.Name)
	k.InstalledAt = s.now().UTC().Format("2006-01-02T15:04:05.000000-07:00")
	return k
}

// described reads what the skill in a directory of the store is for.
func (s store) described(name string) (string, error) {
	root, err := os.OpenRoot(filepath.Join(s.dir, name))
	if err != nil {
		return "", err //nolint:wrapcheck // it is only asked whether there is one
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", err //nolint:wrapcheck // the same
	}
	i := slices.IndexFunc(entries, isSkillFile)
	if i < 0 {
		return "", fs.ErrNotExist
	}
	data, err := root.ReadFile(entries[i].Name())
	if err != nil {
		return "", err //nolint:wrapcheck // the same
	}
	return s.describe(name, data)
}

func isSkillFile(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.EqualFold(e.Name(), "SKILL.md")
}

// remove removes a skill that is in the list, and its directory.
func (s store) remove(ctx context.Context, name string) error {
	return s.locked(ctx, func(list *catalog) error {
		if _, ok := list.Known[name]; !ok {
			return notInstalled(name)
		}
		delete(list.Known, name)
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("remove the skill: %w", err)
		}
		return nil
	})
}

// install copies a directory into the store, and puts it into the list.
func (s store) install(ctx context.Context, boxes Boxes, source string, k known, force bool) (known, error) {
	files, root, release, err := boxes.Below(ctx, source)
	if err != nil {
		return k, noSource(err)
	}
	defer release()
	k.Name = filepath.Base(root)
	if k.Description, err = s.readSource(files, root, k.Name); err != nil {
		return k, err
	}
	err = s.locked(ctx, func(list *catalog) error {
		at := filepath.Join(s.dir, k.Name)
		if _, err := os.Lstat(at); err == nil && !force {
			return wire.Refuse(http.StatusConflict, "Skill already installed. Use force=true to overwrite.")
		}
		k = s.fill(k)
		if old, ok := list.Known[k.Name]; ok {
			k.Enabled = old.Enabled
		}
		list.Known[k.Name] = k
		return s.put(ctx, &copying{files: files, root: root}, at)
	})
	return k, err
}

// put copies a skill beside its place, and then into it.
func (s store) put(ctx context.Context, c *copying, at string) error {
	temp, err := os.MkdirTemp(s.dir, ".new-")
	if err != nil {
		return fmt.Errorf("install the skill: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left of it
	made, old := filepath.Join(temp, "made"), filepath.Join(temp, "old")
	if err := c.dir(ctx, c.root, made, 0); err != nil {
		return err
	}
	if err := os.Rename(at, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("install the skill: %w", err)
	}
	if err := os.Rename(made, at); err != nil {
		return errors.Join(fmt.Errorf("install the skill: %w", err), ignoreMissing(os.Rename(old, at)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
