package structured_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon/structured"
)

// person is a schema with what Pydantic and Zod write: references, a union, an
// enum, nested arrays, no further properties.
const person = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object", "additionalProperties": false, "required": ["name", "contacts"],
	"properties": {
		"name": {"type": "string", "minLength": 1},
		"role": {"enum": ["admin", "user"]},
		"age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
		"born": {"type": "string", "format": "date"},
		"contacts": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/contact"}}
	},
	"$defs": {"contact": {"oneOf": [
		{"type": "object", "required": ["mail"], "additionalProperties": false, "properties": {"mail": {"type": "string"}}},
		{"type": "object", "required": ["phones"], "additionalProperties": false, "properties": {"phones": {"type": "array", "items": {"type": "string", "pattern": "^[0-9]+$"}}}}
	]}}
}`

const ada = `{"name":"Ada","contacts":[{"mail":"a@b.c"},{"phones":["12"]}]}`

func compile(t testing.TB, schema string) *structured.Schema {
	t.Helper()
	s, err := structured.Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindTakesTheOneDocument(t *testing.T) {
	t.Parallel()
	spaced := strings.ReplaceAll(strings.ReplaceAll(ada, ",", " ,\n  "), ":", " : ")
	for name, text := range map[string]string{
		"nothing else":             ada,
		"white space":              "\uFEFF \n" + spaced + "\n",
		"a fence":                  "```json\n" + spaced + "\n```",
		"a fence without an end":   "Here:\n```json\n" + ada,
		"a longer fence":           "````\n" + ada + "\n````\n",
		"an indented fence":        "1. Done:\n   ```json\n   " + ada + "\n   ```\n",
		"words around":             "Here you are: " + ada + " — anything else?",
		"words and a fence":        "I wrote {files} and [1].\n\n```json\n" + ada + "\n```\n\nThat is all {so far}.",
		"brackets before":          "{ [ and then " + ada,
		"another document before":  "The config was {\"debug\":true}; the answer is\n" + ada,
		"a program in a fence":     "```python\nprint({'a': [1]})\n```\n" + ada,
		"twice the same":           ada + "\n\nAgain:\n\n" + spaced,
		"a fence on the same line": "```" + ada + "```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compile(t, person).Find(text)
			if err != nil || got != ada {
				t.Errorf("the document = %q, %v, want %q", got, err, ada)
			}
		})
	}
}

func TestFindTakesNothingThatDoesNotSatisfyTheSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, flaw string }{
		"empty":              {"", "no JSON document"},
		"words":              {"Her name is Ada.", "no JSON document"},
		"cut off":            {ada[:len(ada)-1], "no JSON document"},
		"cut off in words":   {"Here: " + ada[:len(ada)-1], "no JSON document"},
		"a mistake":          {"Here: " + ada[:len(ada)-1] + ",}", "no JSON document"},
		"a property missing": {`{"name":"Ada"}`, "at the top level: missing property 'contacts'"},
		"one too many":       {strings.Replace(ada, `"name"`, `"x":1,"name"`, 1), "additional properties 'x' not allowed"},
		"a wrong enum":       {strings.Replace(ada, `"name"`, `"role":"boss","name"`, 1), "at /role: value must be one of 'admin', 'user'"},
		"a wrong union":      {strings.Replace(ada, `"name"`, `"age":-1,"name"`, 1), "at /age: got number, want null; at /age: minimum: got -1, want 0"},
		"a wrong reference":  {strings.Replace(ada, `"12"`, `"twelve"`, 1), "at /contacts/1/phones/0: 'twelve' does not match pattern"},
		"a wrong format":     {strings.Replace(ada, `"name"`, `"born":"soon","name"`, 1), "at /born: 'soon' is not valid date"},
		"two of them":        {ada + "\n" + strings.Replace(ada, "Ada", "Bob", 1), "more than one JSON document"},
		"an array of it":     {"[" + ada + "]", "at the top level: got array, want object"},
		"a part of another":  {`{"result":` + ada + `}`, "additional properties 'result' not allowed"},
		"a huge number":      {strings.Replace(ada, `"name"`, `"age":1e999999999,"name"`, 1), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compile(t, person).Find(c.text)
			if _, ok := errors.AsType[*structured.Flaw](err); !ok || got != "" || !strings.Contains(err.Error(), c.flaw) {
				t.Errorf("the document = %q, %v; want the flaw %q", got, err, c.flaw)
			}
		})
	}
}

func TestAnyObjectIsAnObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1}`:                     `{"a":1}`,
		"Done: ```\n{\"a\": [] }\n```": `{"a":[]}`,
		`[1]`:                          "",
		`{"a":{"b":1}`:                 "",
		`Done: {"a":{"b":1},}`:         "",
		`{'a': {"b":1}}`:               "",
		`"a"`:                          "",
		`true`:                         "",
		`see [1] and [2]`:              "",
	} {
		if got, err := structured.Any().Find(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: document = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestCompileSaysWhatIsWrongWithASchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ schema, why string }{
		"no JSON":              {`{`, "not JSON"},
		"no schema":            {`[]`, "want boolean or object"},
		"an unknown type":      {`{"properties":{"a":{"type":"text"}}}`, "at /properties/a/type"},
		"a number for a list":  {`{"required":1}`, "at /required: got number, want array"},
		"a reference to none":  {`{"$ref":"#/$defs/none"}`, `"#/$defs/none" not found`},
		"a file":               {`{"$ref":"file://` + file + `"}`, "only to its own parts"},
		"an address":           {`{"$ref":"https://example.com/s.json"}`, `it refers to "https://example.com/s.json"`},
		"another document":     {`{"$ref":"other.json"}`, `it refers to "other.json"`},
		"an unknown draft":     {`{"$schema":"https://example.com/draft"}`, "only to its own parts"},
		"a pattern too clever": {`{"pattern":"^(?=a)"}`, "invalid or unsupported"},
		"a huge number":        {`{"minimum":1e999999}`, "too large"},
		"a dynamic reference":  {`{"$dynamicRef":"#a"}`, "$dynamicRef and $recursiveRef are not supported"},
		"too many ways":        {doubled(30), "in too many ways"},
		"too deep":             {strings.Repeat(`{"not":`, 50) + `{}` + strings.Repeat(`}`, 50), "nested more than 40 levels"},
		"too long":             {`{"description":"` + strings.Repeat("x", structured.MaxSchema) + `"}`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := structured.Compile([]byte(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "schema.invalid") {
				t.Errorf("the error of the schema: %v; want %q", err, c.why)
			}
		})
	}
}

// doubled is a schema that refers to a part of itself in 2^n ways.
func doubled(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/a0","$defs":{%s"a%d":{"type":"object"}}}`, b.String(), n)
}

// A validator goes every way to a part; each level of this document has six.
func TestADocumentThatTakesTooLongIsNotCompared(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, kind := range []string{"add", "sub", "mul"} {
		kinds = append(kinds, `{"type":"object","required":["`+kind+`","l","r"],"properties":{"l":{"$ref":"#/$defs/term"},"r":{"$ref":"#/$defs/term"}}}`)
	}
	s := compile(t, `{"$ref":"#/$defs/term","$defs":{"term":{"anyOf":[`+strings.Join(kinds, ",")+`,{"type":"integer"}]}}}`)
	term := func(levels int) string {
		return strings.Repeat(`{"sub":1,"l":`, levels) + "1" + strings.Repeat(`,"r":2}`, levels)
	}
	if _, err := s.Find(term(5)); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(term(40)); err == nil || !strings.Contains(err.Error(), "too long to compare") {
		t.Error(err)
	}
	if _, err := compile(t, doubled(8)).Find("{}"); err != nil {
		t.Error(err)
	}
}

func TestALargeDocumentIsCompared(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b"]}}}}}}`)
	rows := strings.Repeat(`{"id":1,"tags":["a","b"]},`, 20_000)
	if _, err := s.Find("[" + strings.TrimSuffix(rows, ",") + "]"); err != nil {
		t.Error(err)
	}
}

func TestCompileReadsEarlierDraftsAndReferencesToItself(t *testing.T) {
	t.Parallel()
	tree := compile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/node","definitions":{"node":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"},"next":{"$ref":"#/definitions/node"}}}}}`)
	if _, err := tree.Find(`{"v":1,"next":{"v":2,"next":{"v":3}}}`); err != nil {
		t.Error(err)
	}
	if _, err := tree.Find(`{"v":1,"next":{"v":2,"next":{}}}`); err == nil {
		t.Error("a node without its value was taken")
	}
}

// llm answers with one text after the other.
type llm struct {
	says    []string
	prompts [][]structured.Message
}

func (l *llm) ask(_ context.Context, prompt []structured.Message) (string, error) {
	l.prompts = append(l.prompts, prompt)
	if len(l.says) < len(l.prompts) {
		return "", errors.New("asked too often")
	}
	return l.says[len(l.prompts)-1], nil
}

func TestFormAsksOnlyForWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		says   []string
		calls  int
	}{
		"a document":       {ada, nil, 0},
		"words":            {"Ada, a@b.c or 12", []string{"```json\n" + ada + "\n```"}, 1},
		"a bad conversion": {"Ada, a@b.c or 12", []string{`{"name":"Ada"}`, ada}, 2},
		"no conversion":    {"Ada, a@b.c or 12", []string{"", ada}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &llm{says: c.says}
			got, err := compile(t, person).Form(t.Context(), "Who is Ada?", c.answer, l.ask)
			if err != nil || got != ada || len(l.prompts) != c.calls {
				t.Errorf("the document = %q, %v after %d calls, want %q after %d", got, err, len(l.prompts), ada, c.calls)
			}
		})
	}
}

func TestFormTellsTheAnswerTheSchemaAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := &llm{says: []string{`{"name":"Ada","contacts":[]}`, ada}}
	if _, err := compile(t, person).Form(t.Context(), "Who is Ada?", "It is Ada.", l.ask); err != nil {
		t.Fatal(err)
	}
	first, second := fmt.Sprint(l.prompts[0]), l.prompts[1]
	for _, want := range []string{"Who is Ada?", "It is Ada.", `"additionalProperties":false`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first prompt has no %q:\n%s", want, first)
		}
	}
	if diff := cmp.Diff(l.prompts[0], second[:2]); diff != "" {
		t.Error(diff)
	}
	if last := second[3]; second[2].Text != `{"name":"Ada","contacts":[]}` || last.Role != "user" || !strings.Contains(last.Text, "- at /contacts: minItems: got 0, want 1") {
		t.Errorf("the last messages = %+v", second[2:])
	}
}

func TestFormGivesUpAfterTwoCalls(t *testing.T) {
	t.Parallel()
	s, l := compile(t, person), &llm{says: []string{"{}", `{"name":""}`, ada}}
	_, err := s.Form(t.Context(), "", "Ada", l.ask)
	if flaw, ok := errors.AsType[*structured.Flaw](err); !ok || len(l.prompts) != 2 || !strings.Contains(flaw.Error(), "minLength") {
		t.Errorf("the error of the form: %v after %d calls", err, len(l.prompts))
	}
	if _, err := s.Form(t.Context(), "", " \n", l.ask); !errors.Is(err, structured.ErrBlank) || len(l.prompts) != 2 {
		t.Errorf("the error of the form: %v after %d calls", err, len(l.prompts))
	}
	broken := errors.New("no LLM")
	if _, err := s.Form(t.Context(), "", "Ada", func(context.Context, []structured.Message) (string, error) { return ada, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{
		ada, "```json\n" + ada + "\n```", "a {\"b\":[1,{}]} c", "{[\"", "````\n{}\n```", `{"age":1e-999,"name":"x"}`, `{"a":1,"a":2}`,
		strings.Repeat("[", 1000), strings.Repeat(`{"a":`, 100), "\uFEFF{}", "{\"\\ud800\":\"\xff\"}",
	} {
		f.Add(text)
	}
	s, err := structured.Compile([]byte(person))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, schema := range []*structured.Schema{s, structured.Any()} {
			doc, err := schema.Find(text)
			if err != nil {
				if flaw, ok := errors.AsType[*structured.Flaw](err); !ok || len(flaw.Problems) == 0 || doc != "" {
					t.Fatalf("%q: document = %q, %v", text, doc, err)
				}
				continue
			}
			var object map[string]any
			if err := json.Unmarshal([]byte(doc), &object); err != nil {
				t.Fatalf("%q: %q: %v", text, doc, err)
			}
			if again, err := schema.Find("Here:\n```\n" + doc + "\n```"); err != nil || again != doc {
				t.Fatalf("%q: %q is found as %q, %v", text, doc, again, err)
			}
		}
	})
}
