package migrate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
)

const fixtures = "../../profile/testdata/fixtures"

// row is a line of expected.tsv.
type row struct{ file, action, model, url string }

// rows reads expected.tsv, which has a line for every fixture.
func rows(t *testing.T) []row {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(fixtures, "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for line := range strings.Lines(string(src)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || f[0] == "file" {
			continue
		}
		out = append(out, row{f[0], f[1], f[2], f[3]})
	}
	if len(out) != 47 {
		t.Fatalf("%d fixtures, want 47", len(out))
	}
	return out
}

// place puts a fixture where OpenHands would have it, alone, and gives the file
// and the options of a run over it.
func place(t *testing.T, r row) (document.File, migrate.Options) {
	t.Helper()
	base := t.TempDir()
	o := options(t, base)
	f := document.ProfileFile(base, strings.TrimSuffix(r.file, ".json"))
	switch name := filepath.Base(r.file); {
	case strings.Contains(name, "cli-agent") || strings.Contains(name, "router"):
		f = document.CLIFile(base)
	case strings.Contains(name, "provider_connections"):
		f.Path = filepath.Join(base, "provider-connections", "provider_connections.json")
	case strings.HasPrefix(r.file, "settings/"):
		f = document.SettingsFile(base)
	}
	src, err := os.ReadFile(filepath.Join(fixtures, r.file))
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.Path, string(src))
	connections, err := os.ReadFile(filepath.Join(fixtures, "settings", "s08-provider_connections.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, "provider-connections", "provider_connections.json"), string(connections))
	return f, o
}

func TestEveryFixtureIsTreatedAsExpected(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t) {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			f, o := place(t, r)
			before := readFile(t, f.Path)

			plan := run(t, o)
			if got := readFile(t, f.Path); got != before {
				t.Error("a plan wrote the file")
			}
			compare(t, r, plan)

			o.Apply = true
			done := run(t, o)
			compare(t, r, done)
			after := readFile(t, f.Path)
			if r.action != "migrate" {
				if after != before || done.Backup != "" {
					t.Errorf("the file changed; backup %q", done.Backup)
				}
				return
			}
			checkBytes(t, f, before, after)
			again := run(t, o)
			if again.Backup != "" || readFile(t, f.Path) != after {
				t.Error("a second run wrote the file")
			}
			for _, item := range again.Items {
				if item.Action != canon.Unchanged {
					t.Errorf("a second run says %s of %s", item.Action, item.Entry)
				}
			}
			restored(t, o, done, f.Path, before)
		})
	}
}

// compare looks at the item that expected.tsv is about: the one that is not
// unchanged, if there is one.
func compare(t *testing.T, r row, report migrate.Report) {
	t.Helper()
	if strings.Contains(r.file, "provider_connections") {
		if len(report.Items) != 0 {
			t.Errorf("items %v", report.Items)
		}
		return
	}
	i := max(0, slices.IndexFunc(report.Items, func(i migrate.Item) bool { return i.Action != canon.Unchanged }))
	if len(report.Items) == 0 {
		t.Fatal("no items")
	}
	item := report.Items[i]
	want := row{r.file, r.action, r.model, r.url}
	got := row{r.file, string(item.Action), item.After.Model.String(), item.After.BaseURL.String()}
	if r.model == "-" {
		want.model, got.model, want.url, got.url = "", "", "", ""
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if item.Applied != (report.Applied && r.action == "migrate") {
		t.Errorf("applied = %v", item.Applied)
	}
	if item.Error != "" {
		t.Errorf("error = %s", item.Error)
	}
}

// checkBytes compares every member of every entry but the two that may change.
func checkBytes(t *testing.T, f document.File, before, after string) {
	t.Helper()
	old, now := entriesOf(t, f, before), entriesOf(t, f, after)
	if diff := cmp.Diff(old, now); diff != "" {
		t.Errorf("other members (-before +after):\n%s", diff)
	}
	if strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n") {
		t.Error("the end of the file changed")
	}
}

// entriesOf returns all members of all objects on the way to the entries, with
// the bytes of the members that are not such objects.
func entriesOf(t *testing.T, f document.File, src string) []string {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(path string, v jsonedit.Value)
	walk = func(path string, v jsonedit.Value) {
		for name, m := range v.Members() {
			at := path + "." + name
			switch {
			case name == "model" || name == "base_url":
			case m.Kind() == jsonedit.Object && (name == "agent_settings" || name == "llm" || name == "condenser" || strings.Contains(path, "llms_for_routing") || name == "llms_for_routing"):
				walk(at, m)
			default:
				out = append(out, at+" = "+string(m.Raw()))
			}
		}
	}
	walk("$", doc.Root())
	return out
}

func restored(t *testing.T, o migrate.Options, done migrate.Report, path, before string) {
	t.Helper()
	if !strings.HasPrefix(done.Backup, o.Backups) {
		t.Fatalf("backup = %q", done.Backup)
	}
	report, err := migrate.Restore(t.Context(), migrate.RestoreOptions{Backup: done.Backup, Bases: o.Bases, CLI: o.CLI})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Items) != 1 || report.Items[0].Action != migrate.Restored || report.Code() != 0 {
		t.Errorf("restore: %+v", report.Items)
	}
	if got := readFile(t, path); got != before {
		t.Errorf("restored file differs:\n%s", cmp.Diff(before, got))
	}
}

func TestLinksAndDirectoriesAreLeftAlone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	o := options(t, base)
	o.Apply = true
	src := readFile(t, filepath.Join(fixtures, "p01-legacy-noversion-verified.json"))
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.json")
	write(t, elsewhere, src)
	dir := document.ProfilesDir(base)
	write(t, filepath.Join(dir, "good.json"), src)
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "link.json")))
	must(t, os.Symlink("nowhere.json", filepath.Join(dir, "dangling.json")))
	must(t, os.Mkdir(filepath.Join(dir, "dir.json"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "hard.json"), []byte(src), 0o600))
	must(t, os.Link(filepath.Join(dir, "hard.json"), filepath.Join(base, "other-name")))

	report := run(t, o)
	got := map[string]canon.Action{}
	for _, item := range report.Items {
		got[item.Profile] = item.Action
	}
	want := map[string]canon.Action{
		"good": canon.Migrate, "link": canon.ErrorSymlink, "dangling": canon.ErrorUnreadable,
		"dir": canon.ErrorUnreadable, "hard": canon.ErrorHardlink,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{elsewhere, filepath.Join(dir, "hard.json")} {
		if readFile(t, path) != src {
			t.Errorf("%s was written", path)
		}
	}
	if report.Code() != 3 || report.Summary != (migrate.Summary{Migrate: 1, Error: 4}) {
		t.Errorf("code %d, summary %+v", report.Code(), report.Summary)
	}
}

// options are those of a plan over a store and the CLI in one base directory.
func options(t *testing.T, base string) migrate.Options {
	t.Helper()
	return migrate.Options{
		Bases:   []string{base},
		CLI:     base,
		Backups: filepath.Join(t.TempDir(), "backups"),
		Now:     func() time.Time { return time.Date(2026, 11, 21, 10, 11, 12, 0, time.UTC) },
	}
}

func run(t *testing.T, o migrate.Options) migrate.Report {
	t.Helper()
	report, err := migrate.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
