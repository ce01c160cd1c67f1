package waittest

import "time"

// Patience is how long most tests wait for something to happen. It only bounds a test that
// fails: one that passes goes on as soon as it sees what it waits for.
const Patience = time.Minute

const (
	pause  = 10 * time.Millisecond // between two looks
	margin = 5 * time.Second       // before the deadline of the test, for its failure and its end
)

// T is what Until needs of a test. A *testing.T has it, and so has a script of testscript.
type T interface {
	Fatalf(format string, args ...any)
}

// Until looks again and again until look reports true. After the limit, or shortly before the
// deadline of the test, it fails the test with what look has seen last. In a bubble of synctest,
// where a test has no deadline, synctest.Wait is exact.
func Until(t T, limit time.Duration, what string, look func() (seen any, ok bool)) {
	if t, ok := t.(interface{ Helper() }); ok {
		t.Helper()
	}
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			limit = min(limit, time.Until(end)-margin)
		}
	}
	var seen any
	if !Poll(limit, func() (ok bool) {
		seen, ok = look()
		return ok
	}) {
		t.Fatalf("not within %s: %s. Last seen: %v", limit, what, seen)
	}
}

// Poll looks again and again until look reports true, and reports whether it has within the
// limit. It looks once more after the limit: the last pause may have been a long one.
func Poll(limit time.Duration, look func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		late := time.Now().After(end)
		if look() {
			return true
		}
		if late {
			return false
		}
	}
}
