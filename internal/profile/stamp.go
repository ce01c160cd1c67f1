package profile

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/openhands/document"
)

// Stamp changes when a file of a store does: a profile, the settings, the
// provider connections. Two stamps are compared with ==.
type Stamp struct{ sum uint64 }

// Stamp looks at names, sizes, times and inodes and reads no file: fifty
// profiles take a tenth of a millisecond. It is for keeping a list of models
// fresh. A file that is edited in place twice within one tick of the clock of
// its file system, and keeps its size, is not noticed; OpenHands and ohgw
// replace files.
func (s *Store) Stamp() (Stamp, error) {
	entries, err := s.readDir()
	if err != nil {
		return Stamp{}, err
	}
	h := fnv.New64a()
	add := func(path string, stat func() (fs.FileInfo, error)) error {
		info, err := stat()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // Removed since the directory was read: the next stamp differs.
		}
		if err != nil {
			return err
		}
		b := append([]byte(path), 0)
		for _, n := range []uint64{uint64(info.Size()), uint64(info.ModTime().UnixNano()), uint64(info.Mode()), inode(info)} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		_, err = h.Write(b)
		return err
	}
	for _, e := range entries {
		stat := e.Info
		if e.Type() == fs.ModeSymlink {
			stat = func() (fs.FileInfo, error) { return os.Stat(filepath.Join(document.ProfilesDir(s.cfg.Base), e.Name())) }
		}
		if err := add(e.Name(), stat); err != nil {
			return Stamp{}, err
		}
	}
	for _, path := range []string{s.settings().Path, s.connectionsPath()} {
		if err := add(path, func() (fs.FileInfo, error) { return os.Stat(path) }); err != nil {
			return Stamp{}, err
		}
	}
	return Stamp{h.Sum64()}, nil
}
