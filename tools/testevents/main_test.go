package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stream are the events of a package, a line each: action, test, output.
func stream(t *testing.T, pkg string, lines ...[]string) string {
	t.Helper()
	var s strings.Builder
	for _, l := range lines {
		text, err := json.Marshal(map[string]string{"Action": l[0], "Package": pkg, "Test": l[1], "Output": strings.Join(l[2:], "")})
		if err != nil {
			t.Fatal(err)
		}
		s.Write(append(text, '\n'))
	}
	return s.String()
}

func reads(t *testing.T, in, want string, args ...string) {
	t.Helper()
	var out strings.Builder
	if err := run(args, strings.NewReader(in), &out); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("arguments %v: -want +got\n%s", args, diff)
	}
}

func TestAFailedTestIsPrintedAlone(t *testing.T) {
	t.Parallel()
	in := stream(t, "m/a", [][]string{
		{"run", "TestIt"},
		{"run", "TestIt/one"},
		{"run", "TestIt/one/deep"},
		{"run", "TestIt/one_more"},
		{"output", "TestIt", "of the parent\n"},
		{"output", "TestIt/one", "first <"},
		{"output", "TestIt/one_more", "of a sibling\n"},
		{"output", "TestIt/one", "half>\n"},
		{"output", "TestIt/one/deep", "of its own\n"},
		{"pass", "TestIt/one/deep"},
		{"fail", "TestIt/one"},
		{"pass", "TestIt/one_more"},
		{"fail", "TestIt"},
		{"run", "TestIt/one"},
		{"output", "TestIt/one", "of the run that passed\n"},
		{"pass", "TestIt/one"},
		{"run", "TestItAlso"},
		{"output", "TestItAlso", "of another test\n"},
		{"fail", "TestItAlso"},
	}...) + "not an event\n" + stream(t, "m/a.TestIt", []string{"output", "TestIt/one", "of another package\n"}, []string{"fail", "TestIt/one"})
	reads(t, in, "first <half>\nof its own\n", "printed", "m/a", "TestIt/one")
	reads(t, in, "of another package\n", "printed", "m/a.TestIt", "TestIt/one")
}

func TestPackagesThatFailBesideTheirTests(t *testing.T) {
	t.Parallel()
	in := stream(t, "m/leaks", [][]string{
		{"start", ""},
		{"run", "TestIt"},
		{"pass", "TestIt"},
		{"output", "", "leak 1\n"},
		{"fail", ""},
		{"start", ""},
		{"output", "", "leak 2\n"},
		{"fail", ""},
		{"start", ""},
		{"output", "", "fine\n"},
		{"pass", ""},
	}...) + stream(t, "m/fails", [][]string{
		{"start", ""},
		{"run", "TestIt"},
		{"fail", "TestIt"},
		{"fail", ""},
		{"start", ""},
		{"run", "TestIt"},
		{"pass", "TestIt"},
		{"pass", ""},
	}...) + stream(t, "m/both", [][]string{
		{"start", ""},
		{"run", "TestIt"},
		{"fail", "TestIt"},
		{"fail", ""},
		{"start", ""},
		{"run", "TestIt"},
		{"pass", "TestIt"},
		{"output", "", "leak\n"},
		{"fail", ""},
	}...)
	reads(t, in, "m/leaks\nm/both\n", "beside")
	reads(t, in, "leak 1\nleak 2\n", "printed", "m/leaks", "")
}

func TestALongOutputIsShortened(t *testing.T) {
	t.Parallel()
	lines, want := [][]string{{"run", "TestIt"}}, ""
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		lines = append(lines, []string{"output", "TestIt", line})
		switch {
		case i < head || i >= 1000-tail:
			want += line
		case i == head:
			want += "[880 lines left out]\n"
		}
	}
	lines = append(lines, []string{"fail", "TestIt"})
	reads(t, stream(t, "m", lines...), want, "printed", "m", "TestIt")

	wider := [][]string{{"output", "TestIt", strings.Repeat("é", wide) + "\n"}, {"fail", "TestIt"}}
	reads(t, stream(t, "m", wider...), strings.Repeat("é", wide/2)+" [2000 bytes left out]\n", "printed", "m", "TestIt")
}

func TestRunsAndFailuresAreCounted(t *testing.T) {
	t.Parallel()
	in := stream(t, "m/a", []string{"fail", "TestIt"}, []string{"pass", "TestFine"}, []string{"skip", "TestNot"}, []string{"pass", "TestIt"}, []string{"fail", ""})
	reads(t, in, "1\t2\tm/a\tTestIt\n0\t1\tm/a\tTestFine\n1\t1\tm/a\t\n", "counts")
}

func TestSkippedTestsAreListedOnce(t *testing.T) {
	t.Parallel()
	in := stream(t, "m/a", []string{"skip", "TestIt/one"}, []string{"pass", "TestIt/two"}, []string{"pass", "TestIt"}, []string{"skip", "TestNot"}, []string{"skip", "TestNot"}, []string{"pass", ""})
	in += stream(t, "m/empty", []string{"skip", ""})
	reads(t, in, "m/a\tTestIt/one\nm/a\tTestNot\n", "skipped")
}

func TestReportsOfRacesAreNotMixed(t *testing.T) {
	t.Parallel()
	one := []string{"==================\n", "WARNING: DATA RACE\n", "one\n", "\n", "end\n", "==================\n", "after\n"}
	var in strings.Builder
	for i, line := range one {
		in.WriteString(stream(t, "m/one", []string{"output", "", line}))
		in.WriteString(stream(t, "m/two", []string{"output", "TestIt", strings.Replace(one[i], "one", "two", 1)}))
	}
	report := "WARNING: DATA RACE\none\n\nend\n==================\n"
	reads(t, in.String(), report+strings.Replace(report, "one", "two", 1), "races")
}

func TestOtherArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"count"}, {"printed", "m"}} {
		if err := run(args, strings.NewReader(""), &strings.Builder{}); err == nil {
			t.Errorf("arguments %v are accepted", args)
		}
	}
}
