package hidden_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/hidden"
)

const fixtureKey = "sk-example-not-a-real-key-0123456789"

// holder has a Value where fmt and the encoders find it and where they cannot
// call its methods.
type holder struct {
	Shown  hidden.Text
	hidden hidden.Text
	List   []hidden.Text
	Map    map[string]hidden.Text
	Any    any
	Ptr    *hidden.Text
}

type xmlHolder struct{ Key hidden.Text }

func everywhere(v hidden.Text) holder {
	return holder{v, v, []hidden.Text{v}, map[string]hidden.Text{"k": v}, v, &v}
}

func TestAValueIsNotPrinted(t *testing.T) {
	t.Parallel()
	v := hidden.NewText(fixtureKey)
	h := everywhere(v)
	body := hidden.New(map[string]string{"key": fixtureKey})
	for _, verb := range "vsqxXdTpcbtUeEfFgGow" {
		for _, flag := range []string{"", "+", "#", "-", " ", "0", "10", ".3"} {
			format := "%" + flag + string(verb)
			for _, in := range []any{v, &v, h, &h, []any{h}, h.hidden, v.Reveal, body, struct{ inner hidden.Of[map[string]string] }{body}} {
				check(t, format, fmt.Sprintf(format, in))
			}
		}
	}
	check(t, "Errorf", fmt.Errorf("call with %v: %w", v, errors.New("x")).Error())
	check(t, "Sprint", fmt.Sprint(v, h)+fmt.Sprintln(v, h))
}

func TestAValueIsNotLogged(t *testing.T) {
	t.Parallel()
	v := hidden.NewText(fixtureKey)
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(handler).With("with", v)
		log.Info("message", "key", v, "body", hidden.New([]string{fixtureKey}), "holder", everywhere(v), "pointer", &v, slog.Group("group", "key", v))
	}
	check(t, "slog", out.String())
	if !strings.Contains(out.String(), "key=REDACTED") {
		t.Errorf("no mask in %s", out.String())
	}
}

func TestAValueIsNotMarshalled(t *testing.T) {
	t.Parallel()
	v := hidden.NewText(fixtureKey)
	out, err := json.Marshal(everywhere(v))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "JSON", string(out))
	if !strings.Contains(string(out), `"Shown":"REDACTED"`) {
		t.Errorf("no mask in %s", out)
	}
	if out, err = xml.Marshal(xmlHolder{v}); err != nil {
		t.Fatal(err)
	}
	check(t, "XML", string(out))

	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(struct{ K hidden.Text }{v}); err == nil {
		t.Error("gob encodes it")
	}
	check(t, "gob", buf.String())
	if _, err := v.MarshalBinary(); err == nil {
		t.Error("MarshalBinary encodes it")
	}
}

func TestADiffDoesNotShowValues(t *testing.T) {
	t.Parallel()
	diff := cmp.Diff(
		struct{ K hidden.Text }{hidden.NewText(fixtureKey)},
		struct{ K hidden.Text }{hidden.NewText(fixtureKey + "x")})
	if diff == "" {
		t.Error("no difference found")
	}
	check(t, "cmp", diff)
}

func TestTheZeroValue(t *testing.T) {
	t.Parallel()
	for _, v := range []hidden.Text{{}, hidden.NewText("")} {
		if !v.IsZero() || v.Reveal() != "" || v.String() != "" || v.Tail() != "" {
			t.Errorf("%#v is not nothing", v)
		}
	}
	out, err := json.Marshal(struct {
		A hidden.Text
		B hidden.Text `json:",omitzero"`
	}{})
	if err != nil || string(out) != `{"A":""}` {
		t.Errorf("JSON = %s, error %v", out, err)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	a, b := hidden.NewText("a"), hidden.NewText("b")
	if !a.Equal(hidden.NewText("a")) || a.Equal(b) || a.Equal(hidden.Text{}) || !(hidden.Text{}).Equal(hidden.Text{}) {
		t.Error("Equal is wrong")
	}
	if a.Reveal() != "a" {
		t.Errorf("Reveal = %q", a.Reveal())
	}
}

func TestTailShowsOnlyTheEndOfLongKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		fixtureKey: "6789", "0123456789abcdef": "cdef", "0123456789abcde": "",
		"ключключключключ": "ключ",
	} {
		if got := hidden.NewText(in).Tail(); got != want {
			t.Errorf("Tail of %d characters = %q, want %q", len(in), got, want)
		}
	}
}

func TestWhatStandsForASecretIsNone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`null`: "", `""`: "", `"  "`: "", `"**********"`: "", `"REDACTED"`: "", `"*********"`: "*********", `"` + fixtureKey + `"`: fixtureKey,
	} {
		v := hidden.NewText("before")
		if err := json.Unmarshal([]byte(in), &v); err != nil || v.Reveal() != want || v.IsZero() != (want == "") {
			t.Errorf("%s is read as %q, %v", in, v.Reveal(), err)
		}
	}
	var v hidden.Text
	if err := json.Unmarshal([]byte(`["`+fixtureKey+`"]`), &v); !errors.Is(err, hidden.ErrType) || !v.IsZero() {
		t.Errorf("a list: %v", err)
	}
}

// check fails when the output holds the key, as text or as numbers.
func check(t *testing.T, how, out string) {
	t.Helper()
	for _, leak := range []string{"example", "sk-", "736b2d", "736B2D", "115 107 45", "0x73, 0x6b", "0x73 0x6b"} {
		if strings.Contains(out, leak) {
			t.Errorf("%s shows %q: %s", how, leak, out)
		}
	}
}
