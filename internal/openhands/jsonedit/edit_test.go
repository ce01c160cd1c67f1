package jsonedit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

const laidOut = `{
  "model": "a",
  "number": 1.50e0,
  "nested": {
    "x": [
      1
    ]
  },
  "last": "\u00fc"
}
`

func TestSet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, path, value, want string }{
		{"replaces a value", laidOut, "model", `"b"`, strings.Replace(laidOut, `"a"`, `"b"`, 1)},
		{"replaces a nested value", laidOut, "nested.x", `null`, strings.Replace(laidOut, "[\n      1\n    ]", "null", 1)},
		{"appends on a line of its own", laidOut, "new", `true`, strings.Replace(laidOut, `"\u00fc"`, "\"\\u00fc\",\n  \"new\": true", 1)},
		{
			"lays an object out", laidOut, "new", `{"a":{"b":1},"c":[]}`,
			strings.Replace(laidOut, `"\u00fc"`, "\"\\u00fc\",\n  \"new\": {\n    \"a\": {\n      \"b\": 1\n    },\n    \"c\": []\n  }", 1),
		},
		{
			"lays a nested object out", laidOut, "nested.y", `{"a":1}`,
			strings.Replace(laidOut, "1\n    ]", "1\n    ],\n    \"y\": {\n      \"a\": 1\n    }", 1),
		},
		{"replaces an object", laidOut, "nested", `{"a":1}`, strings.Replace(laidOut, "{\n    \"x\": [\n      1\n    ]\n  }", "{\n    \"a\": 1\n  }", 1)},
		{"keeps to one line", `{"a": 1, "b": 2}`, "c", "{ \"x\" :\n 1 }", `{"a": 1, "b": 2, "c": {"x":1}}`},
		{"keeps to no blanks", `{"a":1}`, "b", `[1, 2]`, `{"a":1,"b":[1,2]}`},
		{"keeps odd blanks", `{ "a" : 1 }`, "b", `2`, `{ "a" : 1, "b" : 2 }`},
		{"fills an empty text", `{}`, "a", `{"b":1}`, "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		{"fills an empty object", "{\n\t\"a\": {}\n}", "a.b", `{"c":1}`, "{\n\t\"a\": {\n\t\t\"b\": {\n\t\t\t\"c\": 1\n\t\t}\n\t}\n}"},
		{"fills an empty object on one line", `{"a":{ }}`, "a.b", `1`, `{"a":{"b": 1}}`},
		{"keeps one line within lines", "{\n  \"a\": {\"b\": 1}\n}", "a.c", `{"d":2}`, "{\n  \"a\": {\"b\": 1, \"c\": {\"d\":2}}\n}"},
		{"keeps carriage returns", "{\r\n  \"a\": 1\r\n}\r\n", "b", `{"c":2}`, "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
		{"keeps tabs and blank lines", "\n{\n\n\t\"a\": 1\n\n}", "b", `2`, "\n{\n\n\t\"a\": 1,\n\n\t\"b\": 2\n\n}"},
		{"keeps the spelling of what it sets", `{"a":1}`, "b", `{"\u0061":1.0E2,"<&>":"\/"}`, `{"a":1,"b":{"\u0061":1.0E2,"<&>":"\/"}}`},
		{"finds an escaped name", `{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{"escapes a name", `{"a":1}`, "ü\"", `2`, `{"a":1,"\u00fc\"":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tt.src).Set([]byte(tt.value), strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.Bytes())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, path, want string }{
		{"the first", laidOut, "model", strings.Replace(laidOut, "\"model\": \"a\",\n  ", "", 1)},
		{"one between", laidOut, "number", strings.Replace(laidOut, "\"number\": 1.50e0,\n  ", "", 1)},
		{"the last", laidOut, "last", strings.Replace(laidOut, ",\n  \"last\": \"\\u00fc\"", "", 1)},
		{"the only one", laidOut, "nested.x", strings.Replace(laidOut, "{\n    \"x\": [\n      1\n    ]\n  }", "{}", 1)},
		{"what is not there", laidOut, "nothing", laidOut},
		{"on one line", `{"a":1, "b":2 ,"c":3}`, "b", `{"a":1, "c":3}`},
		{"an escaped name", `{"a":1,"\u0062":2}`, "b", `{"a":1}`},
		{"a value like another one", `{"a":1,"b":1,"c":1}`, "b", `{"a":1,"c":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tt.src).Delete(strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.Bytes())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src, path, value string
		want                   error
	}{
		{"duplicate members", `{"a":1,"a":2,"b":{}}`, "b", `1`, jsonedit.ErrIrregular},
		{"NaN", `{"a":NaN}`, "b", `1`, jsonedit.ErrIrregular},
		{"NaN as the new value", `{"a":1}`, "b", `[NaN]`, jsonedit.ErrIrregular},
		{"a missing object", `{"a":1}`, "x.y", `1`, jsonedit.ErrNoObject},
		{"through a string", `{"a":"b"}`, "a.b", `1`, jsonedit.ErrNoObject},
		{"an array", `[1]`, "a", `1`, jsonedit.ErrNoObject},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := strings.Split(tt.path, ".")
			if _, err := parse(t, tt.src).Set([]byte(tt.value), path...); !errors.Is(err, tt.want) {
				t.Errorf("Set: %v, want %v", err, tt.want)
			}
			if strings.Contains(tt.name, "new value") {
				return
			}
			if _, err := parse(t, tt.src).Delete(path...); !errors.Is(err, tt.want) {
				t.Errorf("Delete: %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := parse(t, `{}`).Set([]byte(`1`)); !errors.Is(err, jsonedit.ErrNoObject) {
		t.Errorf("no path: %v", err)
	}
	_, err := parse(t, `{}`).Set([]byte(`"sk-example`), "api_key")
	if _, ok := errors.AsType[*jsonedit.SyntaxError](err); !ok || strings.Contains(err.Error(), "sk-") {
		t.Errorf("broken value: %v", err)
	}
}

func TestADocDoesNotChange(t *testing.T) {
	t.Parallel()
	doc := parse(t, laidOut)
	if _, err := doc.Set([]byte(`"zzzzzzzz"`), "model"); err != nil {
		t.Fatal(err)
	}
	if _, err := doc.Delete("nested"); err != nil {
		t.Fatal(err)
	}
	if got := string(doc.Bytes()); got != laidOut {
		t.Errorf("the text is now %s", got)
	}
}
