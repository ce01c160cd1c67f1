//go:build e2e && unix

package scale_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// asking is a request to the LLM.
type asking struct {
	of             string // the message
	started, ended time.Time
	open           *llmtest.Request // nil: it has ended
}

// collect takes the LLM's requests into the books, and lets go of those that ended.
func (b *books) collect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.llm.Take() {
		if marks := isMark.FindAllString(r.UserText(), -1); len(marks) > 0 {
			q := &asking{of: marks[len(marks)-1], started: r.Started, open: r}
			b.asked[q.of] = append(b.asked[q.of], q)
			b.open = append(b.open, q)
		}
	}
	b.open = slices.DeleteFunc(b.open, func(q *asking) bool {
		if q.open.Outcome() == llmtest.Open {
			return false
		}
		q.ended, q.open = q.open.Ended(), nil
		return true
	})
}

// figures are what a row of the table shows.
type figures struct {
	row                                                             string
	messages, attempts, refused, deaths, double, lost, hung, broken int
	took                                                            time.Duration
}

// close compares the books: what was asked for until there was an answer has one, of
// one run.
func (b *books) close(tb testing.TB) (f figures) {
	tb.Helper()
	b.collect()
	b.mu.Lock()
	defer b.mu.Unlock()
	var slowest time.Duration
	byMode := map[mode]int{}
	for name, a := range b.asks {
		o, ended := b.outcomes[name]
		f.attempts, f.hung, f.broken = f.attempts+o.attempts, f.hung+o.hung, f.broken+o.broken
		slowest = max(slowest, o.took)
		byMode[a.mode]++
		n := len(b.asked[name])
		if n > 1 {
			f.double++
			tb.Logf("double: %s (%s) ran %d times, the last time in %s; its client got %q", name, a.mode, n, o.conversation, o.why)
		}
		switch {
		case !ended:
			f.lost++
			tb.Errorf("%s (%s): its client hangs", name, a.mode)
		case a.sure && (o.err != nil || o.answer != a.want || o.run != "" && o.run != "finished"):
			f.lost++
			tb.Errorf("lost: %s (%s): after %d attempts and %v: %v %q %s", name, a.mode, o.attempts, o.took, o.err, o.answer, o.run)
		case o.err == nil && n == 0:
			tb.Errorf("%s (%s): answered without a run", name, a.mode)
		}
	}
	tb.Logf("%d messages in %d attempts (%s), the slowest took %v; refused: %s", len(b.asks), f.attempts, counts(byMode), slowest.Round(time.Millisecond), counts(b.refused))
	f.messages = len(b.asks)
	for _, n := range b.refused {
		f.refused += n
	}
	b.asks, b.outcomes, b.asked, b.refused = map[string]ask{}, map[string]outcome{}, map[string][]*asking{}, map[string]int{}
	return f
}

// counts is a map in one line.
func counts[K ~string](m map[K]int) string {
	var said []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		said = append(said, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(said, ", ")
}

// table prints figures as Markdown.
func table(rows []figures) string {
	var s strings.Builder
	s.WriteString("| case | messages | requests | deaths | double runs | lost answers | hung clients | refused | takes |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, f := range rows {
		fmt.Fprintf(&s, "| %s | %d | %d | %d | %d | %d | %d | %d | %v |\n", f.row, f.messages, f.attempts, f.deaths, f.double, f.lost, f.hung, f.refused, f.took.Round(time.Second))
	}
	return s.String()
}
