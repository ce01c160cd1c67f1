package sequence

import (
	"fmt"
	"testing"
)

func TestIDsOfALongRunAreBounded(t *testing.T) {
	t.Parallel()
	var r Recent
	anchor := ""
	for i := range 20 * maxRecent {
		id := fmt.Sprint(i)
		if first, forgot := r.Add(id); forgot {
			anchor = first
		}
		if !r.Has(id) || anchor != "" && !r.Has(anchor) || len(r.set) > maxRecent || len(r.order) != len(r.set) {
			t.Fatalf("after %s: %d ids in the set, %d in order, anchor %q", id, len(r.set), len(r.order), anchor)
		}
	}
	if r.Has("0") || anchor == "" {
		t.Error("nothing was forgotten")
	}
}
