package optional_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/internal/optional"
)

type object struct {
	Text   *string  `json:"text"`
	Number *float64 `json:"number"`
}

func TestTheZeroValueIsNull(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]object{
		`{"text":null,"number":null}`: {optional.Of(""), optional.Of(0.0)},
		`{"text":"a","number":1.5}`:   {optional.Of("a"), optional.Of(1.5)},
	} {
		if got, err := json.Marshal(o); err != nil || string(got) != want {
			t.Errorf("JSON = %s, error %v instead of %s", got, err, want)
		}
		var back object
		if err := json.Unmarshal([]byte(want), &back); err != nil || optional.Value(back.Text) != optional.Value(o.Text) || optional.Value(back.Number) != optional.Value(o.Number) {
			t.Errorf("%s is read as %q and %v: %v", want, optional.Value(back.Text), optional.Value(back.Number), err)
		}
	}
}
