package grants

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// pause is how often Watch looks.
const pause = 200 * time.Millisecond

// Watch calls changed at once, and again after each change of the grants, until ctx
// ends. It looks at the file five times a second: it is for the time in which a
// program waits for a grant.
func (s *Store) Watch(ctx context.Context, changed func()) {
	seen := s.stat()
	changed()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.stat(); !sameFile(seen, now) {
			seen = now
			changed()
		}
	}
}

// stat is the file as it is now; nil if there is none.
func (s *Store) stat() fs.FileInfo {
	info, err := os.Stat(s.file)
	if err != nil {
		return nil
	}
	return info
}
