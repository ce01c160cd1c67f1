package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Limits of a skill.
const (
	maxSkillFile = 1 << 20  // bytes of its SKILL.md
	maxBytes     = 64 << 20 // of all its files
	maxFiles     = 2000
	maxDepth     = 16
)

// readSource checks that there is a skill in a directory, and says what it is for.
func (s store) readSource(files sandbox.Streams, root, name string) (string, error) {
	entries, err := files.List(root)
	if err != nil {
		return "", noSource(err)
	}
	i := slices.IndexFunc(entries, isSkillFile)
	if i < 0 || !skillName.MatchString(name) {
		return "", invalid(nil)
	}
	data, _, err := files.Read(filepath.Join(root, entries[i].Name()), maxSkillFile)
	if err != nil {
		return "", invalid(err)
	}
	description, err := s.describe(name, data)
	if err != nil {
		return "", invalid(err)
	}
	return description, nil
}

func invalid(err error) error {
	return &wire.Error{Status: http.StatusUnprocessableEntity, Detail: "Invalid skill. Ensure the source contains a valid SKILL.md.", Err: err}
}

// copying is a skill that is copied out of a box. No link leads out of its directory.
type copying struct {
	files sandbox.Streams
	root  string
	count int
	bytes int64
}

// dir copies a directory, but not the repository that it may be.
func (c *copying) dir(ctx context.Context, from, to string, depth int) error {
	if depth > maxDepth {
		return tooLarge()
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("install the skill: %w", err)
	}
	entries, err := c.files.List(from)
	if err != nil {
		return noSource(err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // nobody reads it
		}
		if e.Name() == ".git" {
			continue
		}
		if err := c.entry(ctx, filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) entry(ctx context.Context, from, to string, depth int) error {
	if c.count++; c.count > maxFiles {
		return tooLarge()
	}
	real, err := c.files.Real(from)
	if err != nil {
		return noSource(err)
	}
	info, err := c.files.Stat(real)
	if err != nil {
		return noSource(err)
	}
	if info.IsDir() {
		return c.dir(ctx, real, to, depth+1)
	}
	return c.file(real, to)
}

func (c *copying) file(from, to string) (err error) {
	in, info, err := c.files.Open(from)
	if err != nil {
		return noSource(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	if c.bytes += info.Size(); c.bytes > maxBytes {
		return tooLarge()
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode()&fs.FileMode(0o100))
	if err != nil {
		return fmt.Errorf("install the skill: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err = io.Copy(out, io.NewSectionReader(in, 0, info.Size())); err != nil {
		return fmt.Errorf("install the skill: %w", err)
	}
	return nil
}

func tooLarge() error {
	return wire.Refuse(http.StatusUnprocessableEntity, "The skill has more than %d files or %d MiB.", maxFiles, maxBytes>>20)
}
