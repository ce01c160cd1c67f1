package migrate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
)

// Whatever is in the files: a plan writes nothing; what is applied changes the
// model and the base URL of the entries that the plan names and not a byte of
// anything else; a second run does nothing; the backup brings everything back.
func TestMigrateKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		base := filepath.Join(root, strconv.Itoa(n))
		files := map[string]document.File{
			"profile":  document.ProfileFile(base, "p"),
			"settings": document.SettingsFile(base),
			"cli":      document.CLIFile(base),
		}
		before := map[string]string{
			"profile":  drawEntry(rt, "p"),
			"settings": fmt.Sprintf("{\n\t\"agent_settings\": {\"llm\":%s , \"x\":[1.0]},\n\t\"misc_settings\": {\"llm\": %s}}\n", drawEntry(rt, "s"), drawEntry(rt, "m")),
			"cli":      fmt.Sprintf(`{"kind":"Agent","condenser":{"llm":%s},"llm": %s }`, drawEntry(rt, "c"), drawEntry(rt, "l")),
		}
		for name, f := range files {
			write(t, f.Path, before[name])
		}
		o := options(t, base)
		plan := run(t, o)
		for name, f := range files {
			if readFile(t, f.Path) != before[name] {
				rt.Fatalf("the plan wrote %s", name)
			}
		}
		o.Apply = true
		done := run(t, o)
		if diff := cmp.Diff(actionsOf(plan), actionsOf(done)); diff != "" {
			rt.Fatalf("plan and result differ (-plan +result):\n%s", diff)
		}
		for name, f := range files {
			after := readFile(t, f.Path)
			if diff := cmp.Diff(entriesOf(t, f, before[name]), entriesOf(t, f, after)); diff != "" {
				rt.Fatalf("other members of %s (-before +after):\n%s", name, diff)
			}
			if changed := after != before[name]; changed != migrates(done, f.Path) {
				rt.Fatalf("%s changed: %v; report %v", name, changed, actionsOf(done))
			}
		}
		if again := run(t, o); again.Summary.Migrate != 0 || again.Backup != "" {
			rt.Fatalf("a second run: %+v", again.Summary)
		}
		if done.Backup == "" {
			return
		}
		if _, err := migrate.Restore(t.Context(), migrate.RestoreOptions{Backup: done.Backup, Bases: o.Bases, CLI: o.CLI}); err != nil {
			rt.Fatal(err)
		}
		for name, f := range files {
			if got := readFile(t, f.Path); got != before[name] {
				rt.Fatalf("%s is not restored: %q", name, got)
			}
		}
	})
}

func actionsOf(r migrate.Report) []string {
	var out []string
	for _, item := range r.Items {
		out = append(out, fmt.Sprintf("%s %s %s %s", filepath.Base(item.Path), item.Entry, item.Action, item.After.Model))
	}
	return out
}

func migrates(r migrate.Report, path string) bool {
	for _, item := range r.Items {
		if item.Path == path && item.Action == canon.Migrate {
			return true
		}
	}
	return false
}

// drawEntry draws an LLM object in some layout, with some unknown members.
func drawEntry(t *rapid.T, label string) string {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label+" "+what) }
	model := pick("model", `"litellm_proxy/gpt-5.6"`, `"litellm_proxy\/gpt-5.6"`, `"litellm_proxy/\u0067pt-5.6"`, `"openhands/gpt-5.6"`,
		`"litellm_proxy/o3"`, `"litellm_proxy/nobody"`, `"anthropic/x"`)
	members := []string{`"model"` + pick("colon", ":", " : ", ":\n\t") + model}
	switch url := pick("url", "absent", "null", `""`, `"`+proxyURL+`"`, `"https:\/\/llm-proxy.app.all-hands.dev"`, `" HTTPS://llm-proxy.app.all-hands.dev/v1// "`, `"https://p.example"`); url {
	case "absent":
	default:
		members = append(members, `"base_url": `+url)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, label+" others") {
		members = append(members, fmt.Sprintf("\"m%d\" :%s", i, pick("value", `1.50e0`, `"\u00fc"`, `"ü"`, `{ "base_url": null }`, `[ ]`, `"gAAAAAB=="`, `-0`)))
	}
	members = rapid.Permutation(members).Draw(t, label+" order")
	blank := pick("blank", "", " ", "\n  ", "\r\n\t")
	return "{" + blank + strings.Join(members, pick("comma", ",", " , ", ",\n  ")) + blank + "}"
}

func BenchmarkPlanOfTenThousand(b *testing.B) {
	base := b.TempDir()
	src, err := os.ReadFile(filepath.Join(fixtures, "p20-encrypted-key.json"))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(document.ProfilesDir(base), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(document.ProfileFile(base, fmt.Sprintf("profile-%05d", i)).Path, src, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		report, err := migrate.Run(b.Context(), migrate.Options{Bases: []string{base}})
		if err != nil || report.Summary.Migrate != 10_000 {
			b.Fatal(err, report.Summary)
		}
	}
}
