package repocheck_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fault"
)

func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/adr/README.md")
	last := 0
	for _, name := range files(t) {
		base := path.Base(name)
		if path.Dir(name) != "docs/adr" || base == "README.md" {
			continue
		}
		text := read(t, name)
		digits, _, _ := strings.Cut(base, "-")
		number, err := strconv.Atoi(digits)
		if err != nil || len(digits) != 4 || number <= last { // one may be reserved for a decision to come
			t.Errorf("%s: its number is not above %04d", name, last)
		}
		last = number
		title, _, _ := strings.Cut(text, "\n")
		title, _ = strings.CutPrefix(title, fmt.Sprintf("# %d. ", number))
		line := fmt.Sprintf("| [%d](%s) | %s |", number, base, title)
		_, after, ok := strings.Cut(index, line)
		if !ok {
			t.Errorf("docs/adr/README.md has no line %q after those of smaller numbers", line)
		} else {
			index = after
		}
		for _, part := range []string{"\nStatus: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", name, strings.TrimSpace(part))
			}
		}
	}
	if last == 0 {
		t.Error("docs/adr is empty")
	}
}

// The versions of docs/clients.md are those that the end-to-end tests run.
func TestTestedClientsHaveTheirVersions(t *testing.T) {
	t.Parallel()
	pinned := ""
	for _, name := range []string{"e2e/python/requirements.txt", "e2e/node/package.json", "e2e/codex/package.json", "e2e/go/go.mod"} {
		pinned += read(t, name)
	}
	_, table, _ := strings.Cut(read(t, "docs/clients.md"), "\n## Tested clients\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile("\\| `([^`]+)` ([0-9.]+) \\|").FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		pin := regexp.MustCompile(`(?m)["\s]` + regexp.QuoteMeta(row[1]) + `(\[\w+\])?(==|": "| v)` + regexp.QuoteMeta(row[2]) + `["\s]`)
		if !pin.MatchString("\n" + pinned) {
			t.Errorf("docs/clients.md has %s %s, which no end-to-end test uses", row[1], row[2])
		}
	}
	if len(rows) == 0 {
		t.Error("docs/clients.md has no tested clients")
	}
}

func TestLinksBetweenDocumentsWork(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.Scheme != "" {
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
				continue
			}
			if u.Fragment != "" && path.Ext(target) == ".md" && !slices.Contains(anchors(read(t, target)), u.Fragment) {
				t.Errorf("%s links to %s, and there is no such heading", name, m[1])
			}
		}
	}
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		names = append(names, name)
	}
	return names
}

// TestEveryDocumentIsLinked keeps pages from being written and never found.
func TestEveryDocumentIsLinked(t *testing.T) {
	t.Parallel()
	var pages []string
	linked := map[string]bool{}
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		if path.Dir(name) == "docs" {
			pages = append(pages, name)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)\s#]+)`).FindAllStringSubmatch(read(t, name), -1) {
			if target := path.Join(path.Dir(name), m[1]); target != name {
				linked[target] = true
			}
		}
	}
	for _, page := range pages {
		if !linked[page] {
			t.Errorf("no other page links to %s", page)
		}
	}
}

// TestFilesOfTheArchitectureExist holds the walk through the code to the code.
func TestFilesOfTheArchitectureExist(t *testing.T) {
	t.Parallel()
	places := regexp.MustCompile("`((?:agentapi|cli|cmd|daemon|e2e|internal|setup|tools|tui)[a-z0-9/_]*(?:\\{[a-z0-9/_,]+\\})?(?:\\.go)?)`").FindAllStringSubmatch(read(t, "docs/architecture.md"), -1)
	if len(places) < 150 {
		t.Errorf("docs/architecture.md names only %d places", len(places))
	}
	for _, m := range places {
		for _, name := range alternatives(m[1]) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("docs/architecture.md names %s, which does not exist", name)
			}
		}
	}
}

// TestPackagesOfTheScriptsExist: a script that names a package that moved tests nothing.
func TestPackagesOfTheScriptsExist(t *testing.T) {
	t.Parallel()
	places := regexp.MustCompile(`\./((?:agentapi|cli|cmd|daemon|e2e|internal|setup|tools|tui)\b[a-z0-9/_]*(?:\{[a-z0-9/_,]+\})?)`)
	named := 0
	for _, name := range files(t) {
		if dir := path.Dir(name); dir != "scripts" && dir != ".ci" && name != "Makefile" {
			continue
		}
		for _, m := range places.FindAllStringSubmatch(read(t, name), -1) {
			for _, place := range alternatives(m[1]) {
				named++
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(place))); err != nil {
					t.Errorf("%s names %s, which does not exist", name, place)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("the scripts name only %d places", named)
	}
}

// alternatives are the names that a pattern such as "a/{b,c}" stands for.
func alternatives(pattern string) []string {
	before, rest, braces := strings.Cut(pattern, "{")
	if !braces {
		return []string{pattern}
	}
	inner, after, _ := strings.Cut(rest, "}")
	var names []string
	for name := range strings.SplitSeq(inner, ",") {
		names = append(names, before+name+after)
	}
	return names
}

// TestDrawingsOfTheImportsNameAllBackends holds the places that draw how packages import each
// other to the list that the rules are made of.
func TestDrawingsOfTheImportsNameAllBackends(t *testing.T) {
	t.Parallel()
	names := make([]string, len(backends))
	for i, dir := range backends {
		names[i] = path.Base(dir)
	}
	slices.Sort(names)
	drawn := "agentapi/{" + strings.Join(names, ",") + "}"
	for _, page := range []string{"CONTRIBUTING.md", "docs/adr/0001-module-and-libraries.md"} {
		if !strings.Contains(read(t, page), "`cmd → cli → setup → daemon, "+drawn) {
			t.Errorf("%s does not draw that setup imports daemon and %s", page, drawn)
		}
	}
}

// maxUnmapped is how many lines a package may have that docs/architecture.md does not
// name, without tests and generated files.
const maxUnmapped = 800

func TestLargePackagesAreInTheArchitecture(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/architecture.md")
	large := 0
	for dir, group := range packages(t) {
		lines := 0
		for _, s := range group {
			if !s.forTests() && !ast.IsGenerated(s.tree) && !within(s.dir, "e2e") {
				lines += strings.Count(read(t, s.name), "\n")
			}
		}
		if lines <= maxUnmapped {
			continue
		}
		large++
		if !strings.Contains(page, "`"+dir+"`") {
			t.Errorf("docs/architecture.md does not name package %s, which has %d lines", dir, lines)
		}
	}
	if large < 40 {
		t.Errorf("only %d packages have more than %d lines", large, maxUnmapped)
	}
}

// TestExitCodesAreListed compares the constants of package fault with its table, which help
// and man pages are made from, and that with the one of README.md, word for word.
// cli.TestExitCodesStay pins the numbers.
func TestExitCodesAreListed(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"0": true}
	for name, code := range exitCodes(t) {
		if want[code] {
			t.Errorf("fault.%s is %s, as another constant is", name, code)
		}
		want[code] = true
	}
	_, table, _ := strings.Cut(read(t, "README.md"), "\n## Exit codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	readme := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		readme[m[1]] = m[2]
	}
	listed, help := map[string]bool{}, map[string]string{}
	for _, line := range fault.ExitCodes() {
		code := strconv.Itoa(int(line.Code))
		listed[code], help[code] = line.Meaning != "", line.Meaning
	}
	if !maps.Equal(listed, want) {
		t.Errorf("the help lists the exit codes %q, and package fault has %q", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(want)))
	}
	if diff := cmp.Diff(help, readme); diff != "" {
		t.Errorf("the exit codes of the help and of README.md differ (-help +README.md):\n%s", diff)
	}
}

// exitCodes are the constants of the type fault.Code, from their source.
func exitCodes(t *testing.T) map[string]string {
	t.Helper()
	codes := map[string]string{}
	scope := checked(packages(t)["internal/fault"], nil).Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && strings.HasSuffix(c.Type().String(), ".Code") {
			codes[name] = c.Val().ExactString()
		}
	}
	if len(codes) == 0 {
		t.Fatal("package fault has no exit codes")
	}
	return codes
}

// TestRulesForTheWordsHaveTwoSides looks for examples that a replacement in all files
// has changed: what not to write is not what to write.
func TestRulesForTheWordsHaveTwoSides(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile(`(?m)^\| \d+\. [^|]+ \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1)
	if len(rows) < 5 {
		t.Errorf("CONTRIBUTING.md has only %d rules for the words", len(rows))
	}
	said := map[string]bool{}
	for _, row := range rows {
		said[row[2]] = true
	}
	for _, row := range rows {
		if said[row[1]] {
			t.Errorf("CONTRIBUTING.md has %q as what to write and as what not to write", row[1])
		}
	}
}

func TestChangelogHasAnUnreleasedPart(t *testing.T) {
	t.Parallel()
	if !strings.Contains(read(t, "CHANGELOG.md"), "\n## Unreleased\n") {
		t.Error("CHANGELOG.md has no Unreleased part")
	}
}

// maxTargets is how many things a person can remember.
const maxTargets = 14

func TestMakefileIsShortAndExplained(t *testing.T) {
	t.Parallel()
	targets := regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):(.*)$`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	if n := len(targets); n == 0 || n > maxTargets {
		t.Errorf("the Makefile has %d targets, want 1 to %d", n, maxTargets)
	}
	known := map[string]bool{}
	for _, m := range targets {
		known[m[1]] = true
		if !strings.Contains(m[2], "## ") {
			t.Errorf("target %s is not explained for `make help`", m[1])
		}
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("`make ([a-z0-9-]+)`|(?m)^make ([a-z0-9-]+)").FindAllStringSubmatch(read(t, name), -1) {
			if target := m[1] + m[2]; !known[target] {
				t.Errorf("%s tells people to run make %s, which is no target", name, target)
			}
		}
	}
}

// TestNothingNamesAMachine keeps out what is true in one place only: home
// directories, hosts of package registries.
func TestNothingNamesAMachine(t *testing.T) {
	t.Parallel()
	hosts := []string{
		"proxy." + "golang.org", "registry." + "npmjs", "files." + "pythonhosted", "//pypi" + ".org", "deb." + "debian.org",
	}
	local := regexp.MustCompile(`(?:^|["'\s=(:])/(?:home|Users)/([a-z0-9_]+)|(?:^|["'\s=(:])/root/\w`)
	named := append([]string{"/home/", "/Users/", "/root/"}, hosts...)
	for _, name := range files(t) {
		if strings.Contains(name, "/testdata/fuzz/") || path.Base(name) == "go.sum" {
			continue
		}
		text := read(t, name)
		if strings.Contains(text, "\x00") {
			continue // a picture, or a file that has just been built
		}
		// The pattern takes a minute for all lines of the repository.
		names := func(text string) bool {
			return slices.ContainsFunc(named, func(part string) bool { return strings.Contains(text, part) })
		}
		if !names(text) {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if !names(line) {
				continue
			}
			for _, host := range hosts {
				if strings.Contains(line, host) {
					t.Errorf("%s:%d: names the registry host %s", name, i+1, host)
				}
			}
			// Tests have people of their own.
			if m := local.FindStringSubmatch(line); m != nil && (m[1] == "" || !strings.HasSuffix(name, "_test.go")) {
				t.Errorf("%s:%d: a path of one machine: %s", name, i+1, strings.TrimSpace(m[0]))
			}
		}
	}
}

// TestPackageCommentsNameTheirCommands holds the comments of packages with more than one
// command to the commands that they have.
func TestPackageCommentsNameTheirCommands(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"cli/server"} {
		comment, names := "", []string{}
		for _, s := range packages(t)[dir] {
			comment += s.tree.Doc.Text()
			for _, m := range regexp.MustCompile(`\bUse:\s+"([a-z]+)`).FindAllStringSubmatch(read(t, s.name), -1) {
				names = append(names, m[1])
			}
		}
		for _, name := range names {
			if !strings.Contains(comment, strconv.Quote(name)) {
				t.Errorf("the comment of package %s does not name its command %q", dir, name)
			}
		}
		if len(names) < 2 {
			t.Errorf("package %s has only the commands %q", dir, names)
		}
	}
}

// TestTheSeamIsDescribedAsItIs compares the record of the seam with its interface.
func TestTheSeamIsDescribedAsItIs(t *testing.T) {
	t.Parallel()
	record := read(t, "docs/adr/0002-the-seam.md")
	pkg := checked(packages(t)["agentapi"], nil)
	seam, ok := pkg.Scope().Lookup("Conversation").Type().Underlying().(*types.Interface)
	if !ok {
		t.Fatal("agentapi.Conversation is not an interface")
	}
	for m := range seam.Methods() {
		if !strings.Contains(record, "**"+m.Name()+"**") {
			t.Errorf("docs/adr/0002-the-seam.md does not name the method %s of agentapi.Conversation", m.Name())
		}
	}
	if n := seam.NumMethods(); n != 11 || !strings.Contains(record, "has eleven\nmethods") {
		t.Errorf("agentapi.Conversation has %d methods, and docs/adr/0002-the-seam.md says another number", n)
	}
}

// TestRecordsSayWhatIsServed: who serves OpenHands' own API over the embedded agent is in
// its decision record, and the record of the seam points to it.
func TestRecordsSayWhatIsServed(t *testing.T) {
	t.Parallel()
	record := read(t, "docs/adr/0021-openhands-own-api.md")
	for _, s := range sources(t) {
		if s.test || s.dir != "setup/openhandsapi" || !strings.Contains(read(t, s.name), "func Over(") {
			continue
		}
		for _, place := range []string{"`daemon/openhandsapi`", "`agentapi/control`", "`agentapi/engine`"} {
			if !strings.Contains(record, place) {
				t.Errorf("docs/adr/0021-openhands-own-api.md does not name %s", place)
			}
		}
		if !strings.Contains(read(t, "docs/adr/0002-the-seam.md"), "(0021-openhands-own-api.md)") {
			t.Error("docs/adr/0002-the-seam.md does not point to the record of OpenHands' own API")
		}
		return
	}
	t.Error("setup/openhandsapi does not serve OpenHands' own API any more: its record has to say so")
}
