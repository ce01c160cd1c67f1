package plainjson_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/plainjson"
)

func TestNothingOfHTMLIsEscaped(t *testing.T) {
	t.Parallel()
	v := map[string]any{"a<b>": "x && y", "raw": json.RawMessage(`[ "<&>" ]`), "line": "\u2028"}
	const want = `{"a<b>":"x && y","line":"\u2028","raw":["<&>"]}`
	got, err := plainjson.Marshal(v)
	if err != nil || string(got) != want {
		t.Errorf("JSON = %s, error %v, want %s", got, err, want)
	}
	var b strings.Builder
	if err := plainjson.Write(&b, v); err != nil || b.String() != want+"\n" {
		t.Errorf("written = %q, error %v", b.String(), err)
	}
	laid, err := plainjson.Indent(map[string]string{"a": "<"}, "  ", "\t")
	if err != nil || string(laid) != "{\n  \t\"a\": \"<\"\n  }" {
		t.Errorf("indented = %q, error %v", laid, err)
	}
	if got, err := plainjson.Marshal("ends\n"); err != nil || string(got) != `"ends\n"` {
		t.Errorf("JSON = %s, error %v", got, err)
	}
	if got, err := plainjson.Marshal(math.Inf(1)); err == nil {
		t.Errorf("infinity became %s", got)
	}
}

func TestAnEscapeIsReadAsEncodingJSONReadsIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`\b`, `\f`, `\n`, `\r`, `\t`, `\"`, `\\`, `\/`, `\u0000`, `\u00fC`, `\uABcd`, `\ud83D\uDe00`} {
		var want string
		if err := json.Unmarshal([]byte(`"`+text+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if r, size := plainjson.Escape([]byte(text + "x")); string(r) != want || size != len(text) {
			t.Errorf("%s: %q of %d bytes, want %q", text, r, size, want)
		}
	}
	for text, want := range map[string]rune{`\ud83d`: 0xd83d, `\ude00\ud83d`: 0xde00, `\ud83d\ud83d`: 0xd83d, `\ud83dx`: 0xd83d, `\ud83d\n`: 0xd83d} {
		if r, size := plainjson.Escape([]byte(text)); r != want || size != 6 {
			t.Errorf("%s: %U of %d bytes", text, r, size)
		}
	}
}
