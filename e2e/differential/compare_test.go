//go:build e2e

package differential_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// known is a row of the table of differences: which requests, where in their answers,
// and why. A star stands for anything.
type known struct {
	step, place *regexp.Regexp
	line        string
	used        bool
}

// readKnown reads a table.
func readKnown(t *testing.T, file string) []*known {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var table []*known
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			t.Fatalf("a row has step, place and reason: %q", line)
		}
		table = append(table, &known{step: glob(fields[0]), place: glob(fields[1]), line: line})
	}
	return table
}

// unused refuses rows that explain nothing.
func unused(t *testing.T, table []*known) {
	t.Helper()
	for _, k := range table {
		if !k.used {
			t.Errorf("a difference that is not there any more: %s", k.line)
		}
	}
}

func glob(text string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$")
}

// differ compares two answers, and gives the places where they differ.
func differ(place string, real, ours any) []string {
	switch a := real.(type) {
	case map[string]any:
		b, ok := ours.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: an object, ours %s", place, brief(ours))}
		}
		return differObjects(place, a, b)
	case []any:
		b, ok := ours.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: a list, ours %s", place, brief(ours))}
		}
		return differLists(place, a, b)
	case float64:
		if b, ok := ours.(float64); ok && (a == b || measured.MatchString(place)) {
			return nil
		}
	case string:
		if b, ok := ours.(string); ok && (a == b || spaceless(a) == spaceless(b) || len(a) > 400 && len(b) > 400) {
			return nil // a long text is a prompt or a description: ours has its own words
		}
	default:
		if real == ours {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s, ours %s", place, brief(real), brief(ours))}
}

// spaceless is a text without the spaces that Python writes into JSON.
func spaceless(text string) string {
	return strings.NewReplacer(`": `, `":`, `", `, `",`).Replace(text)
}

// measured are numbers that are never the same twice.
var measured = regexp.MustCompile(`(uptime|idle_time|latency|timestamp|per_turn_token|prompt_tokens|\.size|mtime)$`)

func differObjects(place string, a, b map[string]any) []string {
	var found []string
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := place + "." + name
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case !inA:
			found = append(found, fmt.Sprintf("%s: only ours has it: %s", at, brief(y)))
		case !inB:
			found = append(found, fmt.Sprintf("%s: ours lacks it: %s", at, brief(x)))
		default:
			found = append(found, differ(at, x, y)...)
		}
	}
	return found
}

func differLists(place string, a, b []any) []string {
	var found []string
	if len(a) != len(b) {
		found = append(found, fmt.Sprintf("%s: %d items %s, ours %d %s", place, len(a), kinds(a), len(b), kinds(b)))
	}
	for i := range min(len(a), len(b)) {
		found = append(found, differ(fmt.Sprintf("%s[%d]", place, i), a[i], b[i])...)
	}
	return found
}

// kinds names the items of a list of events.
func kinds(list []any) string {
	var names []string
	for _, item := range list {
		o, _ := item.(map[string]any)
		name, _ := o["kind"].(string)
		if key, ok := o["key"].(string); ok {
			name += ":" + key
		}
		names = append(names, name)
	}
	return "(" + strings.Join(names, " ") + ")"
}

func brief(v any) string {
	data, _ := json.Marshal(v) // it came from JSON
	if len(data) > 160 {
		return string(data[:160]) + "…"
	}
	return string(data)
}

var (
	isTime = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
	isUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	isHex  = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	isSHA  = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	isFile = regexp.MustCompile(`\b\d{20}_Bash`) // of an event of a command
	isCall = regexp.MustCompile(`\b(call|chatcmpl)-[A-Z0-9]+(-\d+)+\b`)
)

// normalized is an answer without what differs between two runs of one server.
func normalized(body string, replace map[string]string) any {
	for _, from := range slices.Backward(slices.SortedFunc(maps.Keys(replace), func(a, b string) int { return len(a) - len(b) })) {
		body = strings.ReplaceAll(body, from, replace[from])
	}
	body = isSHA.ReplaceAllString(isHex.ReplaceAllString(isUUID.ReplaceAllString(isTime.ReplaceAllString(body, "TIME"), "UUID"), "HEX"), "SHA")
	body = isFile.ReplaceAllString(body, "TIME_Bash")
	body = isCall.ReplaceAllString(body, "$1-ID")
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	if page, ok := v.(map[string]any); ok {
		if items, ok := page["items"].([]any); ok {
			page["items"] = slices.DeleteFunc(items, untimed)
		}
	}
	return v
}

// untimed reports whether when an event comes, and how often, is not fixed: deltas and
// statistics.
func untimed(event any) bool {
	o, _ := event.(map[string]any)
	return o["kind"] == "StreamingDeltaEvent" || o["key"] == "stats"
}
