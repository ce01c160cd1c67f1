package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/config"
)

// pages are the pages for users, without those parts that are generated.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatal("no pages", err)
	}
	generated := regexp.MustCompile(`(?s)<!-- go generate.*?<!-- go generate: end -->`)
	found := map[string]string{}
	for _, name := range append(names, "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(name)] = generated.ReplaceAllString(string(text), "")
	}
	return found
}

// figure is a number with what may be its unit.
var figure = regexp.MustCompile(`(\d[\d,]*)(?: ?(KiB|MiB|GiB|KB|MB|GB|ms|s|seconds?|minutes?|hours?|days?)\b)?`)

// amount is a figure in bytes, nanoseconds or as it is; units says which.
type amount struct {
	units string
	value int64
}

func amounts(text string) (found []amount) {
	sizes := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1e6, "GB": 1e9}
	times := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	for _, m := range figure.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		if err != nil {
			continue
		}
		unit := m[2]
		if len(unit) > 2 && sizes[unit] == 0 {
			unit = strings.TrimSuffix(unit, "s")
		}
		switch {
		case unit == "":
			found = append(found, amount{"", n})
		case sizes[unit] != 0:
			found = append(found, amount{"bytes", n * sizes[unit]})
		default:
			found = append(found, amount{"time", n * int64(times[unit])})
		}
	}
	return found
}

// limits are the defaults of the settings that have a flag and are figures.
func limits(t *testing.T) map[string]amount {
	t.Helper()
	found := map[string]amount{}
	for _, f := range config.Fields() {
		text := f.Default()
		if f.Flag == "" || text == "" {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			found[f.Flag] = amount{"", n}
		} else if d, err := time.ParseDuration(text); err == nil {
			found[f.Flag] = amount{"time", int64(d)}
		} else if size := regexp.MustCompile(`^\d+[KMG]iB$`).FindString(text); size != "" {
			found[f.Flag] = amounts(size)[0]
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d settings are figures", len(found))
	}
	return found
}

// TestTheDocsSayTheDefaultsOfTheProgram compares two forms: a row of a table
// with a cell that has nothing but options, and a figure in a sentence before
// an option in parentheses, such as "15 minutes after its answer
// (`--one-shot-ttl`)".
func TestTheDocsSayTheDefaultsOfTheProgram(t *testing.T) {
	t.Parallel()
	option := regexp.MustCompile("`--([a-z-]+)`")
	onlyOptions := regexp.MustCompile("^(`--[a-z-]+`(, )?)+$")
	sentence := regexp.MustCompile("([^.;:|]*)\\(`--([a-z-]+)`\\)")
	defaults, compared := limits(t), 0
	compare := func(page, flag, text string, list []amount) {
		want, known := defaults[flag]
		if !known || len(list) == 0 {
			return
		}
		compared++
		if !slices.Contains(list, want) {
			t.Errorf("%s: the default of --%s is another one than in %q", page, flag, strings.TrimSpace(text))
		}
	}
	for page, text := range pages(t) {
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			i := slices.IndexFunc(cells, func(c string) bool { return onlyOptions.MatchString(strings.TrimSpace(c)) })
			if !strings.HasPrefix(line, "|") || i < 1 { // in the first cell it is what the row is about
				continue
			}
			for _, m := range option.FindAllStringSubmatch(cells[i], -1) {
				compare(page, m[1], line, amounts(strings.Join(slices.Delete(slices.Clone(cells), i, i+1), "|")))
			}
		}
		for _, m := range sentence.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
			if list := amounts(m[1]); len(list) > 0 {
				compare(page, m[2], m[0], list[len(list)-1:]) // the one next to it
			}
		}
	}
	if compared < 12 {
		t.Errorf("only %d figures were compared; are they written in another way now?", compared)
	}
}

// A variable that no page and no help names cannot be found by users; one that the
// program does not read does nothing.
func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, f := range config.Fields() {
		known[f.Env] = true
	}
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range cli.Variables() {
		known[v.Name] = true
		if !strings.Contains(string(page), "`"+v.Name+"`") {
			t.Errorf("docs/configuration.md does not name %s", v.Name)
		}
	}
	for name, where := range variablesRead(t) {
		if !known[name] {
			t.Errorf("%s reads %s, which is in no help; add it to cli.Variables", where, name)
		}
	}
	name := regexp.MustCompile(`(?:^|[^{\w])(OHGW_[A-Z_]*[A-Z])\b`) // not ${OHGW_KEY} of another program's file
	for page, text := range pages(t) {
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which the program does not read", page, m[1])
			}
		}
	}
}

// variablesRead are the names of variables in the source of the program, and a
// file of each.
func variablesRead(t *testing.T) map[string]string {
	t.Helper()
	literal := regexp.MustCompile(`"(OHGW_[A-Z_]+)"`)
	found := map[string]string{}
	for _, dir := range []string{"agentapi", "cli", "daemon", "internal", "tui"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || strings.Contains(path, "testkit") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = path
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 20 {
		t.Fatalf("only %d variables found", len(found))
	}
	return found
}
