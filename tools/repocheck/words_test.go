package repocheck_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// turn is a phrase that a reader has to read twice.
type turn struct {
	pattern *regexp.Regexp
	part    string // in lower case: every match holds it
	instead string
}

// turns are the worst of them, chosen so that a match is hardly ever right. The
// rules they come from are in CONTRIBUTING.md.
var turns = sync.OnceValue(func() []turn {
	var list []turn
	for _, t := range [][3]string{
		{`(?:there\s+)?\b(?:is|are|was|were)\s+no\s+\w+`, "no", `"is not a …", "there is no …"`},
		{`(?:there\s+)?\b(?:is|are)\s+none\b`, "none", `"is not a …", "there is no …"`},
		{`\bnobody\b`, "nobody", `a sentence with a subject: "cannot find …", "no client …"`},
		{`\bsomebody\b`, "somebody", `the noun: "another process", "another user"`},
		{`\banew\b`, "anew", `"again", "recreate"`},
		{`\bmend(?:s|ed|ing)?\b`, "mend", `"repair"`},
		{`\b(?:a|your|its) yes\b`, " yes", `"confirmation"`},
		{`\bkeys of LLMs\b`, "keys of llms", `"LLM keys"`},
		{`\b(?:is|was) waited\b`, " waited", `"ohgw waits", "no answer within …"`},
		{`\bgives? the names\b`, "the names", `"lists"`},
		{`\b(?:ohgw|daemon|program|server|it) tells\b`, " tells", `"reports", "prints", "shows"`},
		{`\blook wh(?:ose|ether)\b`, "look wh", `"check the owner of …", "check that …"`},
		{`\bsays more\b`, "says more", `the command to type, and what it shows`},
		{`\bas it is made\b`, "as it is made", `"as it is generated"`},
		{`\bto be had\b`, "to be had", `"available"`},
		{`\bgo(?:es|ing)? on with\b`, "on with", `"continue"`},
	} {
		list = append(list, turn{regexp.MustCompile(`(?i)` + t[0]), t[1], t[2]})
	}
	return list
})

// allowed are matches of the patterns above that say it plainly.
var allowed = regexp.MustCompile(`(?i)^there\s|\bno\s+(?:longer|more|less|matter|doubt)$`)

// offences lists the phrases in a text, each with what to write instead.
func offences(text string) []string {
	var found []string
	lower := strings.ToLower(text)
	for _, t := range turns() {
		if !strings.Contains(lower, t.part) {
			continue // Matching all patterns took seconds.
		}
		for _, m := range t.pattern.FindAllString(text, -1) {
			if !allowed.MatchString(m) {
				found = append(found, `"`+strings.Join(strings.Fields(m), " ")+`"; write `+t.instead)
			}
		}
	}
	return found
}

func TestOffencesAreFound(t *testing.T) {
	t.Parallel()
	var said []string
	for text, want := range map[string]int{
		"the base URL of the profile is none":  1,
		"nobody says where your files are":     1,
		"this is no profile":                   1,
		"mend it, then make it anew":           2,
		"there is no profile":                  0,
		"There are\nnone, and it is no longer": 0,
		"Nobody\nIS  NO\tprofile":              2,
		"is not a profile":                     0,
		"somebody may look whose it is":        2,
		"wait for a YES with the keys of LLMs": 2,
		"an answer was waited for":             1,
		"what gives the names, says more":      2,
		"it tells the text as it is made":      2,
		"to be had when it goes on with that":  2,
	} {
		got := offences(text)
		if len(got) != want {
			t.Errorf("offences(%q) = %q, want %d", text, got, want)
		}
		said = append(said, got...)
	}
	for _, turn := range turns() {
		if !slices.ContainsFunc(said, func(o string) bool { return turn.pattern.MatchString(o) }) {
			t.Errorf("no example is found for %s, with %q in it", turn.pattern, turn.part)
		}
	}
}

// TestMessagesArePlain reads the list of all messages, help included, that
// tools/gen writes.
func TestMessagesArePlain(t *testing.T) {
	t.Parallel()
	rows := strings.Split(strings.TrimSpace(read(t, "docs/messages.tsv")), "\n")[1:]
	if len(rows) < 1000 {
		t.Fatalf("docs/messages.tsv has only %d messages", len(rows))
	}
	for _, row := range rows {
		place, rest, _ := strings.Cut(row, "\t")
		for _, o := range offences(strings.ReplaceAll(rest, `\n`, "\n")) {
			t.Errorf("%s says %s", place, o)
		}
	}
}

// proseColumns is how wide a line of a document may be. A paragraph on one line
// makes every change of a word a change of the paragraph.
const proseColumns = 120

func TestDocumentsArePlain(t *testing.T) {
	t.Parallel()
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || !slices.Contains([]string{".", "docs", "docs/adr"}, path.Dir(name)) {
			continue
		}
		text := prose(read(t, name))
		for _, o := range offences(text) {
			t.Errorf("%s says %s", name, o)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > proseColumns && !strings.HasPrefix(line, "|") {
				t.Errorf("%s has a line of %d columns, more than %d: %.40s…", name, n, proseColumns, line)
			}
		}
	}
}

// prose is what people have written in a document: no code, nothing generated,
// no examples of what not to write. Columns stay as they are.
func prose(page string) string {
	for _, part := range [][2]string{
		{"```", "(?ms)^```.*?^```$"}, // blocks of code
		{"<!-- go", `(?s)<!-- go generate: begin -->.*?<!-- go generate: end -->`},
		{"<!-- keys", `(?s)<!-- keys -->.*?<!-- end of keys -->`},
		{"\n| 1. ", `(?m)^\| \d+\. .*$`}, // the rules for the words
	} {
		if strings.Contains(page, part[0]) {
			page = regexp.MustCompile(part[1]).ReplaceAllString(page, "")
		}
	}
	return regexp.MustCompile("`[^`\n]+`").ReplaceAllStringFunc(page, func(code string) string {
		return strings.Repeat("·", utf8.RuneCountInString(code))
	})
}
