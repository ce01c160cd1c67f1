//go:build e2e && linux

package sandbox_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// TestAttempts makes all attempts in the sandbox.
func TestAttempts(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			w := newWorld(t, level)
			w.warm()
			done, outcomes := w.tryAll()
			print("attempts at level "+string(level), done, outcomes)
			judge(t, w, done, outcomes)
		})
	}
}

// TestAttemptsWithoutSandbox makes them outside: they test something.
func TestAttemptsWithoutSandbox(t *testing.T) {
	w := newWorld(t, sandbox.Off)
	w.warm()
	done, outcomes := w.tryAll()
	print("the same without a sandbox", done, outcomes)
	listed := 0
	for _, a := range done {
		if a.id <= 95 && outcomes[a.id] == "reached" {
			listed++
		}
	}
	if listed < 72 { // The others need what few systems have: Bluetooth, a root program, an old terminal.
		t.Errorf("%d of the listed attempts reached the outside", listed)
	}
}

// tryAll makes all attempts, one group after another.
func (w *world) tryAll() (done []attempt, outcomes map[int]string) {
	w.t.Helper()
	table := &table{world: w}
	outcomes = map[int]string{}
	for _, group := range []func(){table.reads, table.writes, table.worktrees, table.plants, table.git, table.processes, table.services, table.network} {
		table.list = nil
		group()
		slices.SortFunc(table.list, func(a, b attempt) int { return a.id - b.id })
		table.first = w.take()
		results := w.try(table.list)
		table.after = w.take()
		w.settle()
		for _, a := range table.list {
			r, ok := results[a.id]
			if !ok {
				w.t.Fatalf("attempt %d has no result", a.id)
			}
			outcomes[a.id] = outcome(a, r)
			// A change that is put back at once can be in the way of its next step.
			if outcomes[a.id] == "not made" && w.level == sandbox.Reduced && table.group == gitGroup {
				outcomes[a.id] = "refused"
			}
			if outcomes[a.id] == "not made" {
				w.t.Errorf("attempt %d, %s, could not be made: %s", a.id, a.name, r.Output)
			}
			w.t.Logf("%3d %-8s %s: %s", a.id, outcomes[a.id], a.name, firstLine(r.Output))
		}
		done = append(done, table.list...)
		reached := slices.ContainsFunc(table.list, func(a attempt) bool { return outcomes[a.id] == "reached" })
		if changed := table.first.changed(table.after); len(changed) > 0 && !reached {
			w.t.Errorf("%s: changed outside: %q", table.group, changed)
		}
	}
	return done, outcomes
}

// outcome is what came of an attempt.
func outcome(a attempt, r result) string {
	switch {
	case a.reached(r):
		return "reached"
	case r.Code == worked:
		return "private" // it changed what is the sandbox's own
	case r.Code == refused:
		return "refused"
	}
	return "not made"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.ToValidUTF8(strings.ReplaceAll(line, "\x00", " "), "?")
	return line[:min(len(line), 100)]
}

// print writes the table of the results.
func print(title string, done []attempt, outcomes map[int]string) {
	counts := map[string]map[string]int{"all": {}}
	var groups []string
	listed := 0
	for _, a := range done {
		if a.id <= 95 && outcomes[a.id] == "reached" {
			listed++
		}
		if counts[a.group] == nil {
			counts[a.group] = map[string]int{}
			groups = append(groups, a.group)
		}
		for _, group := range []string{a.group, "all"} {
			counts[group]["attempts"]++
			counts[group][outcomes[a.id]]++
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	columns := []string{"attempts", "refused", "private", "reached", "not made"}
	fmt.Fprintf(out, "%s\t%s\n", title, strings.Join(columns, "\t"))
	for _, group := range append(groups, "all") {
		fmt.Fprintf(out, "%s", group)
		for _, column := range columns {
			fmt.Fprintf(out, "\t%d", counts[group][column])
		}
		fmt.Fprintln(out)
	}
	_ = out.Flush()
	fmt.Printf("of the 95 listed attempts, %d reached the outside\n", listed)
}

// judge fails the test if more reaches the outside than the documentation says.
func judge(t *testing.T, w *world, done []attempt, outcomes map[int]string) {
	t.Helper()
	documentation, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	listed, reached := 0, 0
	for _, a := range done {
		if ids[a.id] {
			t.Errorf("the number %d is there twice", a.id)
		}
		ids[a.id] = true
		if a.id <= 95 {
			listed++
		}
		if outcomes[a.id] != "reached" {
			continue
		}
		if a.id <= 95 {
			reached++
		}
		words, ok := exceptions[w.level][a.id]
		if !ok {
			t.Errorf("attempt %d, %s, reached the outside", a.id, a.name)
		} else if !strings.Contains(strings.Join(strings.Fields(string(documentation)), " "), words) {
			t.Errorf("docs/sandbox.md does not say %q", words)
		}
	}
	if listed < 90 || reached > map[sandbox.Level]int{sandbox.Full: 2, sandbox.Reduced: 12}[w.level] {
		t.Errorf("of %d listed attempts, %d reached the outside", listed, reached)
	}
	for _, heard := range w.heard.all() {
		known := func(id int) bool { return strings.Contains(heard, token(id)) }
		if !strings.Contains(heard, "flush-") && !strings.Contains(heard, "\x06listed\x07example") && !slices.ContainsFunc(slices.Collect(maps.Keys(exceptions[w.level])), known) {
			t.Errorf("heard outside: %q", heard)
		}
	}
	for _, name := range []string{"commondir", "config.worktree"} {
		if _, err := os.Lstat(filepath.Join(w.app, ".git", name)); err == nil {
			t.Errorf(".git/%s is still there", name)
		}
	}
}

// warm uses the sandbox once, in another workspace: ohgw makes its directories, and
// there is a home directory of another sandbox to be found.
func (w *world) warm() {
	w.t.Helper()
	other := filepath.Join(w.home, "src", "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range []string{other, w.app} {
		cmd := w.boxed(w.t.Context(), nil, "sh", "-c", "cat >~/private")
		cmd.Stdin = strings.NewReader(w.secret)
		if dir == w.app {
			cmd = w.boxed(w.t.Context(), nil, "true")
		}
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	// A service of the user in a directory that everybody may read.
	ln, err := net.Listen("unix", filepath.Join(w.beside, "socket"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve("beside", ln)
}
