//go:build e2e && linux

package providers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	start := time.Now()
	table := readExplained(t)
	r := newRecorder(t)
	python := newSDK(t)
	var summary []line
	for _, c := range cases() {
		t.Run(c.name(), func(t *testing.T) {
			theirError := python.run(t, c)
			theirs := r.take()
			ourError := runOurs(t, c, python.tool)
			ours := r.take()
			found := compare(ours, theirs)
			found.check("outcome", outcome(ourError), outcome(theirError))
			summary = append(summary, judge(t, table, c, found))
		})
	}
	complete := !t.Failed() && len(summary) == len(cases()) // what was not compared could not use its lines
	for _, e := range table {
		if complete && !e.used {
			t.Errorf("%s:%d accepts a difference that there is no more: %s", differencesFile, e.line, e.text)
		}
	}
	write(summary)
	t.Logf("%d models in %.1f s", len(summary), time.Since(start).Seconds())
}

// outcome is how a turn ended.
func outcome(err error) string {
	if err != nil {
		return "error: " + strings.Join(strings.Fields(err.Error()), " ")
	}
	return "answered"
}

// line is a line of the summary.
type line struct {
	c                        modelCase
	checks, equal, explained int
}

// judge fails the test for every difference that the table does not explain,
// and tells the line to write where one should.
func judge(t *testing.T, table []*explained, c modelCase, found comparison) line {
	t.Helper()
	out := line{c: c, checks: found.checks, equal: found.checks - len(found.differences)}
	for _, d := range found.differences {
		if explain(table, c.name(), d) != nil {
			out.explained++
			continue
		}
		t.Errorf("not explained:\n%s\t%s\t%s\t%s\t", c.name(), d.place, d.ours, d.theirs)
	}
	return out
}

// write prints the summary.
func write(summary []line) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "checks\tequal\texplained\tunexplained\t  provider, model")
	var all line
	for _, l := range summary {
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s, %s\n", l.checks, l.equal, l.explained, l.checks-l.equal-l.explained, l.c.provider(), l.c.name())
		all.checks += l.checks
		all.equal += l.equal
		all.explained += l.explained
	}
	_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %d models\n", all.checks, all.equal, all.explained, all.checks-all.equal-all.explained, len(summary))
	_ = w.Flush()
}
