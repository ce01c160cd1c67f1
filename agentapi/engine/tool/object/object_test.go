package object_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

func TestObjectKeepsTheOrderOfItsMembers(t *testing.T) {
	t.Parallel()
	const text = `{"z":1,"a":[1,2],"m":{"b":null,"a":"<&>"}}`
	o, err := object.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"z", "a", "m"}, o.Names()); diff != "" {
		t.Error(diff)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(o.JSON(), &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestObjectTakesTheLastOfTwoMembers(t *testing.T) {
	t.Parallel()
	o, err := object.Parse([]byte(`{"a":1,"b":2,"a":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.JSON()); got != `{"a":3,"b":2}` {
		t.Error(got)
	}
}

func TestObjectTellsOtherJSONFromNoJSON(t *testing.T) {
	t.Parallel()
	for text, other := range map[string]bool{
		`[1]`: true, `"a"`: true, `null`: true, `7`: true,
		``: false, `{`: false, `{"a":1`: false, `{"a":1} x`: false, `[1`: false, `{a:1}`: false, "{\"a\":\"\n\"}": false,
	} {
		_, err := object.Parse([]byte(text))
		if err == nil || errors.Is(err, object.ErrNotObject) != other {
			t.Errorf("Parse(%q) = %v; other JSON: %v", text, err, other)
		}
	}
}

func TestObjectIsNotChangedByItsCopies(t *testing.T) {
	t.Parallel()
	o, err := object.Parse([]byte(`{"a":1,"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		got  object.Object
		want string
	}{
		"set":    {o.With("a", json.RawMessage(`9`)), `{"a":9,"b":2}`},
		"add":    {o.With("c", json.RawMessage(`3`)), `{"a":1,"b":2,"c":3}`},
		"remove": {o.Without("a", "x"), `{"b":2}`},
		"itself": {o, `{"a":1,"b":2}`},
		"empty":  {nil, `{}`},
	} {
		if got := string(test.got.JSON()); got != test.want {
			t.Errorf("%s: JSON = %s, want %s", name, got, test.want)
		}
	}
	if o.Get("x") != nil || o.Has("x") || string(o.Get("b")) != "2" || !o.Has("b") {
		t.Error("Get or Has is wrong")
	}
}
