package completions

import (
	"sync"

	"github.com/ohgw/ohgw/daemon/run"
)

// maxRoutes is how many choices are remembered, for requests that come again.
const maxRoutes = 512

// picks are the last choices, by the fingerprints of their requests. A request that
// is sent again has to find the run that it began.
type picks struct {
	mu    sync.Mutex
	made  map[run.Fingerprint]string
	order []run.Fingerprint
}

func (r *picks) get(f run.Fingerprint) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[f]
}

func (r *picks) put(f run.Fingerprint, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil {
		r.made = make(map[run.Fingerprint]string)
	}
	if _, known := r.made[f]; !known {
		if r.order = append(r.order, f); len(r.order) > maxRoutes {
			delete(r.made, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.made[f] = name
}
