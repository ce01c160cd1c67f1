package tool

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MaxOutputs is how many bytes of saved results a conversation keeps: the
// oldest go first. One result has its own limit, below this.
const MaxOutputs = 512 << 20

// PruneOutputs removes the oldest saved results in dir until all together are
// at most limit bytes. The newest one stays in any case, and so does every
// other file. What cannot be removed is left.
func PruneOutputs(dir string, limit int64) {
	type saved struct {
		path string
		size int64
		made time.Time
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var files []saved
	var total int64
	for _, e := range entries {
		if !strings.Contains(e.Name(), "_output_") || filepath.Ext(e.Name()) != ".txt" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, saved{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b saved) int {
		return cmp.Or(a.made.Compare(b.made), strings.Compare(a.path, b.path))
	})
	for len(files) > 1 && total > limit {
		if os.Remove(files[0].path) == nil {
			total -= files[0].size
		}
		files = files[1:]
	}
}
