package jsonedit_test

import (
	"errors"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

func TestReplaceChangesNothingElse(t *testing.T) {
	t.Parallel()
	doc, err := jsonedit.Parse([]byte("{ \"a\":[ {\"b\" : \"x\"},1.50,\"x\" ],\t\"c\":\"x\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	values := []jsonedit.Value{doc.Root().Get("c")}
	for v := range doc.Root().Get("a").Elements() {
		if b := v.Get("b"); b.Exists() {
			values = append(values, b)
		}
	}
	after, err := doc.Replace([]byte(`"longer"`), values...)
	if want := "{ \"a\":[ {\"b\" : \"longer\"},1.50,\"x\" ],\t\"c\":\"longer\"}\n"; err != nil || string(after.Bytes()) != want {
		t.Errorf("document = %s, error %v", after.Bytes(), err)
	}
	if same, err := doc.Replace([]byte("1")); err != nil || string(same.Bytes()) != string(doc.Bytes()) {
		t.Errorf("no value: %s, %v", same.Bytes(), err)
	}
	if _, err := doc.Replace([]byte("{"), values[0]); err == nil {
		t.Error("the text is no JSON any more")
	}
	twice, err := jsonedit.Parse([]byte(`{"a":1,"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := twice.Replace([]byte("3"), twice.Root().Get("a")); !errors.Is(err, jsonedit.ErrIrregular) {
		t.Errorf("a member that is there twice: %v", err)
	}
}
