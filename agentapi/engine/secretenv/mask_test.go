package secretenv_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// scanned is [secretenv.Registry.Mask] by a masker that looks at the whole text.
func scanned(r *secretenv.Registry, text string) string {
	m := r.Masker()
	return string(m.Write([]byte(text))) + string(m.Flush())
}

var (
	stringOfJSON = regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*(?:"|\\?$)`)
	colon        = regexp.MustCompile(`^[ \t\n\r]*:`)
)

// scannedJSON is [secretenv.Registry.MaskJSON] with each string decoded and scanned.
func scannedJSON(r *secretenv.Registry, doc string) string {
	var out strings.Builder
	done, key, images := 0, "", false
	for _, at := range stringOfJSON.FindAllStringIndex(doc, -1) {
		images = images && !strings.Contains(doc[done:at[0]], "]")
		out.WriteString(doc[done:at[0]])
		literal := doc[at[0]:at[1]]
		done = at[1]
		if colon.MatchString(doc[done:]) {
			key, images = literal, literal == `"image_urls"`
			out.WriteString(literal)
			continue
		}
		picture := images && strings.HasPrefix(literal, `"data:`) && strings.Contains(literal, ";base64,")
		var text string
		if json.Unmarshal([]byte(literal), &text) != nil {
			text = strings.Trim(literal, `"`)
		}
		if hidden := scanned(r, text); hidden != text && key != `"kind"` && key != `"type"` && !picture {
			masked, err := plainjson.Marshal(hidden)
			if err != nil {
				panic(err)
			}
			literal = string(masked)
		}
		key = ""
		out.WriteString(literal)
	}
	out.WriteString(doc[done:])
	return out.String()
}

// compare masks a text and a document with the values that a registry knows.
func compare(t *testing.T, r *secretenv.Registry, text string) {
	t.Helper()
	if got, want := r.Mask(text), scanned(r, text); got != want {
		t.Fatalf("the masked text of %q = %q, want %q", text, got, want)
	}
	if got, want := string(r.MaskJSON(json.RawMessage(text))), scannedJSON(r, text); got != want {
		t.Fatalf("the masked document of %q = %q, want %q", text, got, want)
	}
}

// Texts without a value are not scanned twice, and masked as if they were.
func TestMaskingLooksForValuesFirst(t *testing.T) {
	t.Parallel()
	r := resolved(t, "abcabd", "bda", "hunter2 \n", `va"lue\`, "\ufffd!", "é", `","`)
	pieces := []string{
		"a", "b", "c", "d", "abcabd", "hunter2 \\n", "hunter2 ", `va\"lue\\`, "\xff!", "é", `\u00e9`, "x", `"`, `"`, `"`, `":`, `,`, "[", "]", "{", "}", "\n",
		`"image_urls":[`, `"kind":`, `"data:a/b;base64,bda"`, `\`,
	}
	random := rand.New(rand.NewPCG(3, 4))
	changed := 0
	for range 20_000 {
		var text strings.Builder
		for range 1 + random.IntN(12) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		compare(t, r, text.String())
		if string(r.MaskJSON(json.RawMessage(text.String()))) != text.String() {
			changed++
		}
	}
	if changed < 1000 {
		t.Errorf("only %d documents had a value", changed)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("hunter2", "x", `{"a":"hunter2\n","image_urls":["data:;base64,hunter2"]}`)
	f.Add("é", `a"b`, `"\u00e9 a\"b`)
	f.Add("\ufffd", "]", "[\"\xff\",\"]\"")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		r := secretenv.New(secretenv.Config{Now: time.Now})
		r.Set(map[string]secretenv.Secret{"ONE": secretenv.Static(one, ""), "TWO": secretenv.Static(two, "")})
		r.For(t.Context(), "$ONE $TWO")
		compare(t, r, text)
	})
}

// BenchmarkMaskNothing masks what has no value in it: the text and the arguments of a call.
func BenchmarkMaskNothing(b *testing.B) {
	r := secretenv.New(secretenv.Config{Now: time.Now})
	secrets := map[string]secretenv.Secret{}
	for i := range 20 {
		secrets[fmt.Sprintf("KEY_%d", i)] = secretenv.Static(fmt.Sprintf("sk-%d-abcdefgh", i), "")
	}
	r.Set(secrets)
	text := strings.Repeat("the quick brown fox skips over the lazy dog ", 100)
	doc, err := json.Marshal(map[string]any{"command": "view", "path": "/work/sketch.go", "text": text, "kind": "FileEditorAction"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Mask(text)
		}
	})
	for name, doc := range map[string]json.RawMessage{"json": doc, "lines": json.RawMessage(strings.ReplaceAll(string(doc), "dog ", `dog\n`))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.MaskJSON(doc)
			}
		})
	}
}
