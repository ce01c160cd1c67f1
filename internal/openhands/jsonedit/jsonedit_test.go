package jsonedit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

func TestParseAcceptsWhatPythonAccepts(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{}`, `[]`, `null`, ` true `, "\r\n\t false", `"x"`, `0`, `-0`, `-12.50e+3`, `1E5`,
		`{"a":[1,{"b":null}]}`, `[NaN,Infinity,-Infinity]`, `{"a":1,"a":2}`,
		`"\ud83d\udd11 \" \\ \/ \b\f\n\r\t"`, `"\ud800"`, "\"\u007f\u2028\"",
		strings.Repeat("1", 4300), "-" + strings.Repeat("1", 4300), strings.Repeat("1", 9000) + ".5",
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		if _, err := jsonedit.Parse([]byte(src)); err != nil {
			t.Errorf("Parse(%.40q) = %v", src, err)
		}
	}
}

func TestParseSaysWhereTheTextIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ src, want string }{
		{``, "line 1, column 1: unexpected end"},
		{`{"a": 1`, "line 1, column 8: unexpected end"},
		{"{\n  \"a\": tru\n}", "line 2, column 8: unexpected character"},
		{"{\n\"a\" 1}", "line 2, column 5: expected a colon"},
		{`{"a":1 "b":2}`, "line 1, column 8: expected a comma or the end of the object"},
		{`[1 2]`, "line 1, column 4: expected a comma or the end of the array"},
		{`{a:1}`, "line 1, column 2: expected a member name"},
		{`{"a":1,}`, "line 1, column 8: expected a member name"},
		{`[1,]`, "line 1, column 4: unexpected character"},
		{`{} {}`, "line 1, column 4: more text after the end"},
		{"\"a\nb\"", "line 1, column 3: control character in a string"},
		{`"\x"`, "line 1, column 3: bad escape"},
		{`"\u12g4"`, "line 1, column 6: bad escape"},
		{`01`, "line 1, column 2: more text after the end"},
		{`-x`, "line 1, column 2: bad number"},
		{`1.x`, "line 1, column 3: bad number"},
		{`1e+x`, "line 1, column 4: bad number"},
		{`.5`, "line 1, column 1: unexpected character"},
		{"\ufeff{}", "line 1, column 1: byte order mark"},
		{"{\"a\":\n\"\xff\"}", "line 2, column 2: not UTF-8"},
		{"\"\xed\xa0\x80\"", "line 1, column 2: not UTF-8"},
		{strings.Repeat("1", 4301) + " ", "line 1, column 4302: number is too long"},
		{strings.Repeat("[", 9999), "line 1, column 9999: nested too deeply"},
		{strings.Repeat(`{"":`, 9999), "line 1, column 39993: nested too deeply"},
	} {
		_, err := jsonedit.Parse([]byte(tt.src))
		if _, ok := errors.AsType[*jsonedit.SyntaxError](err); !ok || err.Error() != tt.want {
			t.Errorf("Parse(%.40q) = %v, want %s", tt.src, err, tt.want)
		}
	}
}

func TestParseErrorsDoNotQuoteTheText(t *testing.T) {
	t.Parallel()
	const key = "sk-example-not-a-real-key-0123456789"
	for _, src := range []string{key, `{"api_key": ` + key, `{"api_key": "` + key, `{"` + key + `" 1}`} {
		if _, err := jsonedit.Parse([]byte(src)); err == nil || strings.Contains(err.Error(), "sk-") {
			t.Errorf("Parse(%q) = %v", src, err)
		}
	}
}

func TestIrregularTextsAreReported(t *testing.T) {
	t.Parallel()
	many := "{"
	for i := range 100 {
		many += fmt.Sprintf(`"m%d":0,`, i)
	}
	for _, tt := range []struct {
		name, src string
		want      jsonedit.Irregular
	}{
		{"nothing", `{"a":{"a":[{"a":1},{"a":2}]}}`, jsonedit.Irregular{}},
		{"at the top", `{"a":1,"b":2,"a":3}`, jsonedit.Irregular{Duplicate: true}},
		{"deep down", `[{"x":{"a":1,"a":1}}]`, jsonedit.Irregular{Duplicate: true}},
		{"two spellings", `{"model":1,"\u006dodel":2}`, jsonedit.Irregular{Duplicate: true}},
		{"among many", many + `"m3":0}`, jsonedit.Irregular{Duplicate: true}},
		{"among many, two spellings", many + `"\u006d99":0}`, jsonedit.Irregular{Duplicate: true}},
		{"many", many + `"m100":0}`, jsonedit.Irregular{}},
		{"different halves of pairs", `{"\ud800":1,"\ud801":2}`, jsonedit.Irregular{}},
		{"equal halves of pairs", `{"\ud800A":1,"\uD800\u0041":2}`, jsonedit.Irregular{Duplicate: true}},
		{"NaN", `{"temperature":NaN}`, jsonedit.Irregular{NaN: true}},
		{"minus infinity", `[-Infinity]`, jsonedit.Irregular{NaN: true}},
		{"both", `[Infinity,{"a":1,"a":1}]`, jsonedit.Irregular{Duplicate: true, NaN: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, tt.src).Irregular(); got != tt.want {
				t.Errorf("Irregular() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	root := parse(t, `{"s":"a\u00fcb","n":12,"f":1.0,"big":99999999999999999999,"t":true,"o":{"in":{"x":"deep"}},
		"a":[1,"two",[3],{"k":4}],"z":null,"d":1,"d":2,"half":"\ud800","\u006bey":"escaped name"}`).Root()

	if got, ok := root.Get("s").Text(); got != "aüb" || !ok {
		t.Errorf("s = %q, %v", got, ok)
	}
	if got, ok := root.At("o", "in", "x").Text(); got != "deep" || !ok {
		t.Errorf("o.in.x = %q, %v", got, ok)
	}
	if got, ok := root.Get("key").Text(); got != "escaped name" || !ok {
		t.Errorf("key = %q, %v", got, ok)
	}
	if got, ok := root.Get("half").Text(); ok {
		t.Errorf("half = %q, but it is no text", got)
	}
	if got, ok := root.Get("n").Int(); got != 12 || !ok {
		t.Errorf("n = %d, %v", got, ok)
	}
	if got, ok := root.Get("big").Int(); got != 1<<63-1 || !ok {
		t.Errorf("big = %d, %v", got, ok)
	}
	if _, ok := root.Get("f").Int(); ok {
		t.Error("1.0 is an integer")
	}
	if got, ok := root.Get("t").Bool(); !got || !ok {
		t.Errorf("t = %v, %v", got, ok)
	}
	if _, ok := root.Get("n").Bool(); ok {
		t.Error("12 is a bool")
	}
	if got, _ := root.Get("d").Int(); got != 2 {
		t.Errorf("d = %d, want the last one", got)
	}
	if got := root.At("s", "x", "y"); got.Exists() || got.Kind() != jsonedit.Missing || got.Raw() != nil {
		t.Errorf("a member of a string is %q", got.Raw())
	}
	if !root.Get("z").Exists() || root.Get("z").Kind() != jsonedit.Null {
		t.Error("null does not exist")
	}
	var elements []string
	for v := range root.Get("a").Elements() {
		elements = append(elements, string(v.Raw()))
	}
	if diff := cmp.Diff([]string{"1", `"two"`, "[3]", `{"k":4}`}, elements); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	var names []string
	for name := range root.Members() {
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"s", "n", "f", "big", "t", "o", "a", "z", "d", "d", "half", "key"}, names); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestQuoteIsASCII(t *testing.T) {
	t.Parallel()
	got := string(jsonedit.Quote("a\"\\/\b\f\n\r\t\x01\x7fü测🔑"))
	if want := `"a\"\\/\b\f\n\r\t\u0001\u007f\u00fc\u6d4b\ud83d\udd11"`; got != want {
		t.Errorf("Quote = %s, want %s", got, want)
	}
}

func parse(t testing.TB, src string) *jsonedit.Doc {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestASCIIKeepsTheMeaning(t *testing.T) {
	t.Parallel()
	got := string(jsonedit.ASCII([]byte("{\n  \"ü\": \"a\\n测🔑\x7f\", \"x\": 1.0\n}")))
	if want := "{\n  \"\\u00fc\": \"a\\n\\u6d4b\\ud83d\\udd11\\u007f\", \"x\": 1.0\n}"; got != want {
		t.Errorf("ASCII = %s, want %s", got, want)
	}
}
