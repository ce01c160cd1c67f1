package profile

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// maxCopy bounds a file in which a key is looked for. OpenHands' own files have
// some kilobytes.
const maxCopy = 4 << 20

// Copies finds the files that contain a key in clear text: in the directories of
// the store, and anywhere below the directories of more, which are for backups.
// What cannot be read is left out. The paths are sorted.
func (s *Store) Copies(ctx context.Context, key secret.Value, more ...string) []string {
	text := jsonedit.Quote(key.Reveal())
	var found []string
	look := func(path string, e fs.DirEntry) {
		if e.Type().IsRegular() && contains(path, text) {
			found = append(found, path)
		}
	}
	for _, dir := range []string{s.cfg.Base, document.ProfilesDir(s.cfg.Base), filepath.Dir(s.connectionsPath())} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			look(filepath.Join(dir, e.Name()), e)
		}
	}
	for _, dir := range more {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil {
				look(path, e)
			}
			return ctx.Err()
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// contains reports whether a file has a text in it.
func contains(path string, text []byte) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxCopy {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && bytes.Contains(content, text)
}
