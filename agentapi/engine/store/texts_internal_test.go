package store

import (
	"strings"
	"testing"
	"time"
)

func TestTextsAreKeptWithinTheirBounds(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	all := &texts{now: func() time.Time { return at }, max: 1000}
	long := strings.Repeat("x", 400)
	first := all.of("first", 2)
	first.put(0, "a", long)
	if got, ok := first.get(0, "a"); !ok || got != long {
		t.Errorf("%q, %v", got, ok)
	}
	for name, known := range map[string]bool{"a": true, "another": false} {
		if _, ok := first.get(0, name); ok != known {
			t.Errorf("event %s: known %v", name, ok)
		}
	}
	first.put(1, "b", strings.Repeat("x", 600)) // there is no room for it
	if _, ok := first.get(1, "b"); ok {
		t.Error("a text beyond the bound is kept")
	}
	first.put(2, "c", "after the log that was asked for")
	second := all.of("second", 1)
	second.put(0, "d", long) // fits
	all.of("first", 2)
	third := all.of("third", 1)
	third.put(0, "e", long) // in the place of the second, used less recently
	for name, l := range map[string]*logTexts{"a": first, "d": second, "e": third} {
		if _, ok := l.get(0, name); ok != (name != "d") {
			t.Errorf("%s: known %v", name, ok)
		}
	}
	second.put(0, "d", "too late")
	if all.bytes > all.max || all.bytes != first.size+third.size {
		t.Errorf("%d bytes, %d and %d", all.bytes, first.size, third.size)
	}
	all.tidy(at)
	if len(all.logs) != 2 {
		t.Errorf("%d logs in use", len(all.logs))
	}
	all.tidy(at.Add(1))
	if len(all.logs) != 0 || all.bytes != 0 {
		t.Errorf("%d logs, %d bytes", len(all.logs), all.bytes)
	}
}
