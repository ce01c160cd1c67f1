package document

import (
	"context"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
)

// Source is a file to read and what its directory says about it.
type Source struct {
	File File
	Type fs.FileMode // as in fs.DirEntry.Type
	Look bool        // the type is not known; look at the file
}

// ReadAll reads many files, several at a time, and gives them in their order.
// It is what makes lists of thousands of profiles fast. The error is that of
// ctx.
func ReadAll(ctx context.Context, sources []Source) ([]Snapshot, error) {
	out := make([]Snapshot, len(sources))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(sources), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(sources)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if s := sources[i]; s.Look {
					out[i] = s.File.Read()
				} else {
					out[i] = s.File.ReadAs(s.Type)
				}
			}
		})
	}
	workers.Wait()
	return out, ctx.Err()
}
