package finishstream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/finishstream"
)

// decode returns what a decoder says of args that come in pieces of n bytes.
func decode(args string, n int) string {
	var d finishstream.Decoder
	var out strings.Builder
	for len(args) > 0 {
		n := min(n, len(args))
		out.WriteString(d.Write(args[:n]))
		args = args[n:]
	}
	return out.String()
}

func TestTheMessageComesOutWhereverItIsCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ args, want string }{
		"plain":                 {`{"message":"Hello there."}`, "Hello there."},
		"empty":                 {`{"message":""}`, ""},
		"white space":           {" { \n\"message\" :\t\"a b\" \r} ", "a b"},
		"behind other members":  {`{"summary":"s","security_risk":"LOW","n":-1.5e3,"ok":true,"z":null,"message":"m"}`, "m"},
		"before other members":  {`{"message":"m","summary":"s"}`, "m"},
		"nested values":         {`{"a":[{"message":"no","x":["]","}"]}],"b":{"message":["no"]},"message":"yes"}`, "yes"},
		"escapes":               {`{"message":"\"\\\/\b\f\n\r\t"}`, "\"\\/\b\f\n\r\t"},
		"unicode escapes":       {`{"message":"\u00e9\u20AC\u0041"}`, "é€A"},
		"surrogate pair":        {`{"message":"\ud83d\ude00!"}`, "😀!"},
		"half a pair":           {`{"message":"a\ud83db\ude00c\ud83d"}`, "a�b�c�"},
		"two first halves":      {`{"message":"\ud83d\ud83d\ude00"}`, "�😀"},
		"half, then an escape":  {`{"message":"\ud83d\n"}`, "�\n"},
		"characters":            {`{"message":"äöü 日本語 😀"}`, "äöü 日本語 😀"},
		"raw control character": {"{\"message\":\"a\nb\tc\"}", "a\nb\tc"},
		"key with escapes":      {`{"mess\u0061ge":"m"}`, "m"},
		"longer key":            {`{"messages":"no","message":"m"}`, "m"},
		"not a text":            {`{"message":{"message":"no"}}`, ""},
		"null":                  {`{"message":null}`, ""},
		"no message":            {`{"text":"no"}`, ""},
		"no members":            {`{}`, ""},
		"said twice":            {`{"message":"a","message":"b"}`, "a"},
		"behind the end":        {`{"message":"a"} {"message":"b"}`, "a"},
		"invalid UTF-8":         {"{\"message\":\"a\xff\xe2\x82b\xe2\x82\"}", "a���b��"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= len(tt.args); n++ {
				if got := decode(tt.args, n); got != tt.want {
					t.Fatalf("in pieces of %d bytes: %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestMalformedArgumentsStopQuietly(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		``: "", `null`: "", `[]`: "", `"message"`: "", `{message:"a"}`: "", `{"message" "a"}`: "", `{"message":'a'}`: "",
		`{,"message":"a"}`: "", `{"x":}`: "", `{"x":[}],"message":"a"}`: "", `{"x":1 2,"message":"a"}`: "",
		`{"message":"ab\xcd"}`: "ab", `{"message":"ab\u12g4"}`: "ab", `{"message":"ab`: "ab", `{"message":"ab\u00`: "ab",
		`{"x":` + strings.Repeat("[", 2000): "",
	}
	for args, want := range tests {
		if got := decode(args, 1); got != want {
			t.Errorf("%.40q: text = %q, want %q", args, got, want)
		}
	}
}

func TestEachCharacterComesAtOnce(t *testing.T) {
	t.Parallel()
	var d finishstream.Decoder
	steps := []struct{ piece, want string }{
		{`{"mess`, ""},
		{`age":"`, ""},
		{`Hel`, "Hel"},
		{`lo \`, "lo "},
		{`n\u00`, "\n"},
		{`e9 \ud83d`, "é "},
		{`\ude00`, "😀"},
		{"\xe2\x82", ""},
		{"\xacx\"", "€x"},
		{`,"more":1}`, ""},
	}
	for _, s := range steps {
		if got := d.Write(s.piece); got != s.want {
			t.Errorf("%q gives %q, want %q", s.piece, got, s.want)
		}
	}
	if !d.Found() || !d.Stopped() {
		t.Errorf("found %v, stopped %v; want both", d.Found(), d.Stopped())
	}
}

func TestFoundTellsAnEmptyMessageFromNone(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{`{"message":""}`: true, `{"message":1}`: false, `{"text":"x"}`: false} {
		var d finishstream.Decoder
		d.Write(args)
		if d.Found() != want {
			t.Errorf("%s: found %v, want %v", args, d.Found(), want)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add(`{"a":[1,{"b":"]"}],"message":"x\n\ud83d\ude00é"}`, 3)
	f.Add(`{"message":"a\ud83d`, 1)
	f.Add("{\"message\":\"\xff\xe2\x82\"}", 2)
	f.Add(`{"message":null,"message":"x"}`, 5)
	f.Fuzz(func(t *testing.T, args string, n int) {
		whole := decode(args, len(args)+1)
		if got := decode(args, max(1, n)); got != whole {
			t.Errorf("in pieces of %d bytes %q, at once %q", n, got, whole)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q is no valid text", whole)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(args), &members) != nil || len(members) == 0 {
			return
		}
		var want string
		if json.Unmarshal(members["message"], &want) != nil || strings.Count(args, "mess") != 1 || strings.Contains(args, `\u`) {
			return // told twice, perhaps
		}
		if whole != want {
			t.Errorf("text = %q, encoding/json says %q", whole, want)
		}
	})
}

func BenchmarkDecoder(b *testing.B) {
	args := `{"message":"` + strings.Repeat(`word and \"word\" `, 100) + `"}`
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		decode(args, 12)
	}
}
