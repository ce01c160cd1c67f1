package jsonedit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// spelled is a member as it stands in a text.
type spelled struct{ Name, Value string }

// Whatever the layout and whatever the edit: the other members keep every byte
// and their order, and the text means what it should.
func TestUnchangedBytesStay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members, src := drawObject(t)
		doc, err := jsonedit.Parse([]byte(src))
		if err != nil {
			t.Fatalf("generated text %q: %v", src, err)
		}
		name := drawTarget(t, members)
		var edited *jsonedit.Doc
		want := without(members, name)
		if rapid.Bool().Draw(t, "delete") {
			edited, err = doc.Delete(name)
		} else {
			value := drawValue(t, 2)
			edited, err = doc.Set([]byte(value), name)
			if got := edited.Root().Get(name); err == nil && compact(t, string(got.Raw())) != compact(t, value) {
				t.Fatalf("%q is %s, want %s", name, got.Raw(), value)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, without(membersOf(edited), name)); diff != "" {
			t.Fatalf("other members of %q (-before +after):\n%s", src, diff)
		}
		checkFrame(t, src, string(edited.Bytes()))
	})
}

// Putting a value where it was gives the text back.
func TestSetUndoesItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members, src := drawObject(t)
		if len(members) == 0 {
			return
		}
		m := members[rapid.IntRange(0, len(members)-1).Draw(t, "member")]
		if strings.ContainsAny(m.Value, "{[") {
			return // is laid out again
		}
		doc := mustParse(t, src)
		changed, err := doc.Set([]byte(`"other"`), m.Name)
		if err != nil {
			t.Fatal(err)
		}
		back, err := changed.Set([]byte(m.Value), m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if string(back.Bytes()) != src {
			t.Fatalf("%q became %q", src, back.Bytes())
		}
	})
}

// Adding a member and taking it away gives the text back, unless it was the
// first one of its object.
func TestDeleteUndoesSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members, src := drawObject(t)
		if len(members) == 0 {
			return
		}
		added, err := mustParse(t, src).Set([]byte(drawValue(t, 2)), "a new member")
		if err != nil {
			t.Fatal(err)
		}
		back, err := added.Delete("a new member")
		if err != nil {
			t.Fatal(err)
		}
		if string(back.Bytes()) != src {
			t.Fatalf("%q became %q", src, back.Bytes())
		}
	})
}

// checkFrame compares what stands before and after the brackets.
func checkFrame(t *rapid.T, before, after string) {
	if lead := before[:strings.IndexByte(before, '{')]; !strings.HasPrefix(after, lead+"{") {
		t.Fatalf("%q starts differently: %q", before, after)
	}
	if end := before[strings.LastIndexByte(before, '}'):]; !strings.HasSuffix(after, end) {
		t.Fatalf("%q ends differently: %q", before, after)
	}
}

func membersOf(doc *jsonedit.Doc) []spelled {
	var out []spelled
	for name, value := range doc.Root().Members() {
		out = append(out, spelled{name, string(value.Raw())})
	}
	return out
}

func without(members []spelled, name string) []spelled {
	out := []spelled{}
	for _, m := range members {
		if m.Name != name {
			out = append(out, m)
		}
	}
	return out
}

func drawObject(t *rapid.T) ([]spelled, string) {
	blank := rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\r\n\t", "  "})
	var members []spelled
	var b strings.Builder
	b.WriteString(blank.Draw(t, "before") + "{")
	seen := map[string]bool{}
	for range rapid.IntRange(0, 6).Draw(t, "members") {
		name := rapid.OneOf(rapid.SampledFrom([]string{"model", "base_url", "api_key"}), rapid.String()).Draw(t, "name")
		if seen[name] {
			continue
		}
		seen[name] = true
		if len(members) > 0 {
			b.WriteString(blank.Draw(t, "before comma") + ",")
		}
		m := spelled{name, drawValue(t, 3)}
		members = append(members, m)
		fmt.Fprintf(&b, "%s%s%s:%s%s", blank.Draw(t, "before name"), drawSpelling(t, name),
			blank.Draw(t, "before colon"), blank.Draw(t, "after colon"), m.Value)
	}
	b.WriteString(blank.Draw(t, "before end") + "}" + blank.Draw(t, "after"))
	return members, b.String()
}

func drawTarget(t *rapid.T, members []spelled) string {
	names := []string{"model", "something new", "ü\u2028\""}
	for _, m := range members {
		names = append(names, m.Name)
	}
	return rapid.SampledFrom(names).Draw(t, "target")
}

func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 && kind > 3 {
		kind = 0
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9])?`).Draw(t, "number")
	case 2, 3:
		return drawSpelling(t, rapid.String().Draw(t, "string"))
	case 4:
		return "[" + drawValue(t, depth-1) + " ,\n" + drawValue(t, depth-1) + "]"
	}
	return "{ \"x\":" + drawValue(t, depth-1) + ",\n\t\"\\u0079\" :" + drawValue(t, depth-1) + "}"
}

// drawSpelling is one of the ways to write a string.
func drawSpelling(t *rapid.T, text string) string {
	if rapid.Bool().Draw(t, "ascii") || !utf8.ValidString(text) {
		return string(jsonedit.Quote(text))
	}
	spelling, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(spelling)
}

// compact takes away the blanks between tokens.
func compact(t *rapid.T, src string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(src[i])
		case c == '"':
			inString = !inString
			b.WriteByte(c)
		case inString || !strings.ContainsRune(" \t\r\n", rune(c)):
			b.WriteByte(c)
		}
	}
	return b.String()
}

func mustParse(t *rapid.T, src string) *jsonedit.Doc {
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return doc
}

func FuzzEdit(f *testing.F) {
	for _, src := range []string{laidOut, `{}`, `{"model":1,"base_url":null}`, `{"a":[{"b":NaN}]}`, `[1]`, `{"\ud800":1}`} {
		f.Add([]byte(src), "model")
	}
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		doc, err := jsonedit.Parse(src)
		if err != nil {
			if json.Valid(src) && utf8.Valid(src) && len(src) < 4000 {
				t.Fatalf("%q is valid JSON: %v", src, err)
			}
			return
		}
		if !doc.Irregular().NaN && !json.Valid(src) {
			t.Fatalf("%q is no JSON", src)
		}
		if !utf8.ValidString(name) {
			return
		}
		set, err := doc.Set([]byte(`{"x":["new"]}`), name)
		if err != nil {
			return
		}
		deleted, err := set.Delete(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range []*jsonedit.Doc{set, deleted} {
			if diff := cmp.Diff(without(membersOf(doc), name), without(membersOf(after), name)); diff != "" {
				t.Fatalf("members of %q (-before +after):\n%s", src, diff)
			}
		}
		if got := string(set.Root().At(name, "x").Raw()); !strings.Contains(got, `"new"`) {
			t.Fatalf("%q: member %q is %s", set.Bytes(), name, got)
		}
		if deleted.Root().Get(name).Exists() {
			t.Fatalf("%q still has %q", deleted.Bytes(), name)
		}
	})
}
