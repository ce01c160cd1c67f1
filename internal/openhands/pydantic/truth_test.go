package pydantic_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// truth is what the pydantic of OpenHands answers to the values of a form. See
// testdata/truth.py.
type truth struct {
	Form     string            `json:"form"`
	Accepted map[string]string `json:"accepted"` // values, and what they are read as
	Refused  []struct {
		Values []string `json:"values"`
		Faults []fault  `json:"faults"`
	} `json:"refused"`
}

type fault struct {
	Type string         `json:"type"`
	Loc  []any          `json:"loc"`
	Msg  string         `json:"msg"`
	Ctx  map[string]any `json:"ctx,omitempty"`
}

func table(t *testing.T) []truth {
	t.Helper()
	data, err := os.ReadFile("testdata/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []truth
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPydanticReadsTheSame(t *testing.T) {
	t.Parallel()
	for _, row := range table(t) {
		read := readers()[row.Form]
		if read == nil {
			t.Errorf("the form %q has no reader", row.Form)
			continue
		}
		for value, want := range row.Accepted {
			if got, faults := read(json.RawMessage(value)); len(faults) > 0 || got != "" && !same(got, want) {
				t.Errorf("%s: %s is read as %s %v, want %s", row.Form, value, got, faults, want)
			}
		}
		for _, group := range row.Refused {
			for _, value := range group.Values {
				_, faults := read(json.RawMessage(value))
				if diff := cmp.Diff(group.Faults, shown(t, faults)); diff != "" {
					t.Errorf("%s: %.80s (-theirs +ours):\n%s", row.Form, value, diff)
				}
			}
		}
	}
}

// same compares what Python prints with JSON, or numbers.
func same(got, want string) bool {
	ours, err := strconv.ParseFloat(got, 64)
	theirs, ourErr := strconv.ParseFloat(want, 64)
	if err == nil && ourErr == nil {
		return ours == theirs || math.IsNaN(ours) && math.IsNaN(theirs)
	}
	var our, their any
	if json.Unmarshal([]byte(got), &our) != nil || json.Unmarshal([]byte(want), &their) != nil {
		return got == want
	}
	return cmp.Equal(our, their)
}

// shown are faults as clients see them, apart from the input.
func shown(t *testing.T, faults []pydantic.Fault) (list []fault) {
	t.Helper()
	data, err := json.Marshal(faults)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// reader reads a value of a form.
type reader func(raw json.RawMessage) (read string, faults []pydantic.Fault)

func readers() map[string]reader {
	at := func(n float64) *float64 { return &n }
	return map[string]reader{
		"text":              single(pydantic.Text{}.Read, quoted),
		"text 1..":          single(pydantic.Text{Min: 1}.Read, quoted),
		"text 2..4":         single(pydantic.Text{Min: 2, Max: 4}.Read, quoted),
		"text ^[a-z]+$":     single(pydantic.Text{Form: regexp.MustCompile(`\A[a-z]+\z`), Pattern: "^[a-z]+$"}.Read, quoted),
		"int":               whole(pydantic.Bounds{}),
		"int 1..10":         whole(pydantic.Between(1, 10)),
		"float":             number(pydantic.Bounds{}),
		"float 0..1":        number(pydantic.Between(0, 1)),
		"float 0.01..":      number(pydantic.AtLeast(0.01)),
		"float inside 0..1": number(pydantic.Bounds{Gt: at(0), Lt: at(1)}),
		"bool":              single(pydantic.Bool, pythonTruth),
		"uuid":              single(pydantic.UUID, quoted),
		"literal a":         choice(pydantic.Literal, "a"),
		"literal a b":       choice(pydantic.Literal, "a", "b"),
		"literal a b c":     choice(pydantic.Literal, "a", "b", "c"),
		"enum LOW HIGH":     choice(pydantic.Enum, "LOW", "HIGH"),
		"list": member(func(o *pydantic.Object, name string) {
			o.NotNull(name, pydantic.NoList())
			o.Texts(name)
		}),
		"dict": member((*pydantic.Object).TextMap),
		"any dict": member(func(o *pydantic.Object, name string) {
			o.NotNull(name, pydantic.NoDict())
			o.Map(name)
		}),
		"overrides": overrides,
		"whole":     readWhole,
	}
}

func single[T any](read func(json.RawMessage) (T, *pydantic.Refusal), show func(T) string) reader {
	return func(raw json.RawMessage) (string, []pydantic.Fault) {
		value, refused := read(raw)
		if refused != nil {
			return "", []pydantic.Fault{refused.At(nil, nil)}
		}
		return show(value), nil
	}
}

func whole(b pydantic.Bounds) reader {
	return single(func(raw json.RawMessage) (*big.Int, *pydantic.Refusal) { return pydantic.Int(raw, b) }, (*big.Int).String)
}

func number(b pydantic.Bounds) reader {
	return single(func(raw json.RawMessage) (float64, *pydantic.Refusal) { return pydantic.Float(raw, b) },
		func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
}

func choice(kind string, of ...string) reader {
	return single(func(raw json.RawMessage) (string, *pydantic.Refusal) { return pydantic.Choice(raw, kind, of...) }, quoted)
}

func quoted(text string) string { return string(pydantic.Quoted(text)) }

func pythonTruth(value bool) string {
	if value {
		return "True"
	}
	return "False"
}

// member checks the value as a member of an object.
func member(check func(o *pydantic.Object, name string)) reader {
	return func(raw json.RawMessage) (string, []pydantic.Fault) {
		o, err := pydantic.NewObject(slices.Concat([]byte(`{"x":`), raw, []byte("}")))
		if err == nil {
			check(o, "x")
			err = o.Err()
		}
		return "", below(err)
	}
}

// overrides checks the members of an object as package shape does.
func overrides(raw json.RawMessage) (string, []pydantic.Fault) {
	o, err := pydantic.NewObject(raw)
	if err != nil {
		return "", []pydantic.Fault{pydantic.NoDict().At(nil, nil)}
	}
	var faults []pydantic.Fault
	for _, name := range o.Names() {
		raw := o.Raw(name)
		if raw == nil {
			raw = json.RawMessage("null")
		}
		for _, fault := range pydantic.TruthOrText(raw) {
			fault.Loc = append([]any{name}, fault.Loc...)
			faults = append(faults, fault)
		}
	}
	return "", faults
}

// below are the faults of a value, without the name of the member.
func below(err error) []pydantic.Fault {
	e, ok := errors.AsType[*pydantic.Error](err)
	if !ok {
		return nil
	}
	for i := range e.Faults {
		e.Faults[i].Loc = e.Faults[i].Loc[1:]
	}
	return e.Faults
}

// The form "whole".
type (
	form struct {
		Items   []item            `json:"items"`
		Texts   []string          `json:"texts"`
		Headers struct{}          `json:"headers"`
		Server  map[string]string `json:"server"`
		Strict  map[string]string `json:"strict"`
	}
	item struct {
		Name  string  `json:"name"`
		Count int     `json:"count"`
		Text  *string `json:"text"`
	}
)

func readWhole(raw json.RawMessage) (string, []pydantic.Fault) {
	o, err := pydantic.NewObject(raw)
	if e, ok := errors.AsType[*pydantic.Error](err); ok {
		return "", e.Faults
	}
	out := form{Items: []item{}}
	o.NotNull("items", pydantic.NoList())
	for _, one := range o.List("items") {
		if in := one.Object(); in != nil {
			in.Need("name")
			out.Items = append(out.Items, item{in.String("name", ""), in.Int("count", 1, pydantic.AtLeast(1)), in.Text("text", 1, 3)})
		}
	}
	o.NotNull("texts", pydantic.NoList())
	out.Texts = o.Texts("texts")
	o.TextMap("headers")
	switch kind, in := o.Tagged("server", "type", "stdio", "http", "sse"); kind {
	case "stdio":
		in.Need("command")
		out.Server = map[string]string{"type": kind, "command": in.Within("command", "", 1, -1)}
	case "http", "sse":
		in.Need("url")
		out.Server = map[string]string{"type": kind, "url": in.String("url", "")}
	}
	if in := o.Object("strict"); in != nil {
		in.Need("name")
		out.Strict = map[string]string{"name": in.String("name", "")}
		in.Only("name")
	}
	if e, ok := errors.AsType[*pydantic.Error](o.Err()); ok {
		return "", e.Faults
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err.Error(), nil
	}
	return string(data), nil
}
