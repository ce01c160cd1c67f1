package sequence

import "slices"

// maxRecent is how many events a Recent knows again at most; it forgets half of
// them at a time. A page of the log, a lost connection and a late frame are all
// far shorter.
const maxRecent = 8192

// Recent is the ids that were added last. The zero value is empty.
type Recent struct {
	set   map[string]struct{}
	order []string // the newest last
}

// Has reports whether an id was added and not forgotten.
func (r *Recent) Has(id string) bool {
	_, ok := r.set[id]
	return ok
}

// overlap is how many of the oldest ids are only known again, and not asked
// for: events may come in another order than that of the log.
const overlap = 256

// Add adds an id that it does not have. If it forgets others for that, it
// gives one that stays, before which nothing is to be asked for any more.
func (r *Recent) Add(id string) (anchor string, forgot bool) {
	if r.set == nil {
		r.set = make(map[string]struct{})
	}
	r.set[id] = struct{}{}
	r.order = append(r.order, id)
	if len(r.order) <= maxRecent {
		return "", false
	}
	drop := len(r.order) / 2
	for _, old := range r.order[:drop] {
		delete(r.set, old)
	}
	r.order = slices.Clone(r.order[drop:])
	return r.order[overlap], true
}
