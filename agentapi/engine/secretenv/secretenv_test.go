package secretenv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func registry(t *testing.T, secrets map[string]secretenv.Secret) *secretenv.Registry {
	t.Helper()
	r := secretenv.New(secretenv.Config{HTTP: http.DefaultClient, Now: time.Now})
	r.Set(secrets)
	return r
}

// resolved has given out all its values.
func resolved(t *testing.T, values ...string) *secretenv.Registry {
	t.Helper()
	secrets := map[string]secretenv.Secret{}
	for i, v := range values {
		secrets[fmt.Sprintf("S%d", i)] = secretenv.Static(v, "")
	}
	r := registry(t, secrets)
	for name := range secrets {
		if _, err := r.Value(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestForGivesWhatACommandNames(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{
		"API_TOKEN": secretenv.Static("v1", ""), "OTHER": secretenv.Static("v2", ""),
		"not-a-name": secretenv.Static("v3", ""), "EMPTY": secretenv.Static("", ""), "Z": secretenv.Static("v4", ""),
	})
	for command, want := range map[string][]string{
		"echo $API_TOKEN":         {"API_TOKEN=v1"},
		"echo $api_token ${OTHER": {"API_TOKEN=v1", "OTHER=v2"},
		"echo x":                  nil,
		"echo not-a-name EMPTY":   nil,
		"echo zebra":              {"Z=v4"},
		"":                        nil,
	} {
		vars, missing := r.For(t.Context(), command)
		var got []string
		for _, v := range vars {
			got = append(got, v.Name+"="+v.Value())
		}
		if diff := cmp.Diff(want, got); diff != "" || missing != nil {
			t.Errorf("%q: %s missing %v", command, diff, missing)
		}
	}
}

func TestMaskHidesWhatWasGivenOut(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{"A": secretenv.Static("hunter2", ""), "B": secretenv.Static("unseen", "")})
	if got := r.Mask("hunter2 unseen"); got != "hunter2 unseen" {
		t.Errorf("a value that nobody was given is masked: %s", got)
	}
	if _, err := r.Value(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	if got := r.Mask("xhunter2hunter2 unseen"); got != "x"+secretenv.Mark+secretenv.Mark+" unseen" {
		t.Error(got)
	}
	r.Set(map[string]secretenv.Secret{"A": secretenv.Static("newer-one", "")})
	if _, err := r.Value(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	if got := r.Mask("hunter2 newer-one"); got != secretenv.Mark+" "+secretenv.Mark {
		t.Errorf("the old value is shown, or the new one: %s", got)
	}
}

func TestMaskTreatsValuesThatOverlap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values     []string
		text, want string
	}{
		"longest wins":        {[]string{"abc", "abcdef"}, "-abcdef-abcx", "-#-#x"},
		"overlap is one":      {[]string{"abcd", "cdef"}, "-abcdef-", "-#-"},
		"chain of overlaps":   {[]string{"abc", "cde", "efg"}, "abcdefgh", "#h"},
		"value with line end": {[]string{"key\n"}, "key\nkey.", "##."},
		"lines":               {[]string{"one\r\ntwo"}, "one\ntwo one\r\ntwo", "# #"},
		"bytes, not text":     {[]string{"\xff\xfe"}, "a\xff\xfeb", "a#b"},
		"one letter":          {[]string{"x"}, "axb", "a#b"},
		"beginning at end":    {[]string{"secret"}, "my secre", "my secre"},
		"itself twice":        {[]string{"aa"}, "aaa b", "# b"},
		"none":                {nil, "text", "text"},
	} {
		if got := resolved(t, test.values...).Mask(test.text); strings.ReplaceAll(got, secretenv.Mark, "#") != test.want {
			t.Errorf("%s: Mask = %q, want %q", name, got, test.want)
		}
	}
}

func TestMaskerDoesNotCareWhereItsTextIsCut(t *testing.T) {
	t.Parallel()
	r := resolved(t, "abcabd", "bda", "hunter2", "ab")
	random := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "c", "d", "abcabd", "hunter2", "hunt", " ", "\n"}
	for range 500 {
		var text strings.Builder
		for range 1 + random.IntN(30) {
			text.WriteString(letters[random.IntN(len(letters))])
		}
		want := r.Mask(text.String())
		if strings.Contains(want, "hunter2") || strings.Contains(want, "ab") {
			t.Fatalf("%q is masked as %q", text.String(), want)
		}
		m := r.Masker()
		var got strings.Builder
		for rest := text.String(); rest != ""; {
			n := 1 + random.IntN(min(4, len(rest)))
			got.Write(m.Write([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.Write(m.Flush())
		if got.String() != want {
			t.Fatalf("%q in pieces: %q, want %q", text.String(), got.String(), want)
		}
	}
}

func TestMaskerReleasesOnlyALittle(t *testing.T) {
	t.Parallel()
	m := resolved(t, "password1").Masker()
	var got strings.Builder
	got.Write(m.Write([]byte("files: pa")))
	got.Write(m.Release(3))
	if got.String() != "files: pa" {
		t.Errorf("masked = %q", got.String())
	}
	got.Write(m.Write([]byte("sswor")))
	if len(m.Release(3)) != 0 {
		t.Error("most of a value is released")
	}
	got.Write(m.Write([]byte("d1, pa")))
	got.Write(m.Flush())
	if want := "files: pa" + secretenv.Mark + ", pa"; got.String() != want {
		t.Errorf("masked = %q, want %q", got.String(), want)
	}
}

func TestMaskerShowsWhatWasReleasedOnce(t *testing.T) {
	t.Parallel()
	m := resolved(t, "password1").Masker()
	var got strings.Builder
	got.Write(m.Write([]byte("pa")))
	got.Write(m.Release(3))
	got.Write(m.Write([]byte("ss")))
	got.Write(m.Write([]byte("age")))
	got.Write(m.Flush())
	if got.String() != "passage" {
		t.Errorf("masked = %q", got.String())
	}
}

func TestMaskerKnowsValuesThatComeLater(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{"A": secretenv.Static("hunter2", "")})
	m := r.Masker()
	first := string(m.Write([]byte("x ")))
	if _, err := r.Value(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	if got := first + string(m.Write([]byte("hunter2"))); got != "x "+secretenv.Mark {
		t.Error(got)
	}
}

func TestNoRegistryHasNoSecrets(t *testing.T) {
	t.Parallel()
	var r *secretenv.Registry
	vars, missing := r.For(t.Context(), "echo $A")
	if vars != nil || missing != nil || r.List() != nil || r.Mask("text") != "text" {
		t.Error("it has something")
	}
	if _, err := r.Value(t.Context(), "A"); !errors.Is(err, secretenv.ErrUnknown) {
		t.Error(err)
	}
}

func TestLookupAsksAndRemembersFailures(t *testing.T) {
	t.Parallel()
	asked, status := 0, http.StatusInternalServerError
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked++
		if req.Header.Get("X-Token") != "header-value" || req.URL.Path != "/secrets/a" {
			t.Errorf("request for %s has the header %v", req.URL, req.Header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "looked-up")
	}))
	defer server.Close()
	now := time.Unix(0, 0)
	r := secretenv.New(secretenv.Config{HTTP: server.Client(), BaseURL: server.URL, Now: func() time.Time { return now }})
	r.Set(map[string]secretenv.Secret{"A": secretenv.Lookup("/secrets/a", map[string]string{"X-Token": "header-value"}, "")})
	try := func(wantMissing, wantAsked int) {
		t.Helper()
		_, missing := r.For(t.Context(), "$A")
		if len(missing) != wantMissing || asked != wantAsked {
			t.Errorf("missing %v, asked %d times", missing, asked)
		}
	}
	try(1, 1)
	try(1, 1)
	now = now.Add(61 * time.Second)
	status = http.StatusOK
	try(0, 2)
	if got := r.Mask("looked-up"); got != secretenv.Mark {
		t.Error(got)
	}
	if _, err := r.Value(t.Context(), "A"); err != nil {
		t.Error(err)
	}
}

func TestLookupErrorsDoNotTellTheURL(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{
		"A": secretenv.Lookup("http://127.0.0.1:1/?token=SECRET", nil, ""),
		"B": secretenv.Lookup("http://SECRET\x00", nil, ""),
	})
	for _, name := range []string{"A", "B"} {
		if _, err := r.Value(t.Context(), name); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Error(err)
		}
	}
}

func TestACancelledLookupIsNotAFailure(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{"A": secretenv.Lookup("http://127.0.0.1:1/", nil, "")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Value(ctx, "A"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Value(t.Context(), "A"); err == nil || strings.Contains(err.Error(), "less than") {
		t.Error(err)
	}
}

func TestSecretsDoNotShowThemselves(t *testing.T) {
	t.Parallel()
	s := secretenv.Static("SECRET", "")
	r := registry(t, map[string]secretenv.Secret{"A": s})
	vars, _ := r.For(t.Context(), "$A")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "variable", vars[0], "both", struct {
		S secretenv.Secret
		V secretenv.Variable
	}{s, vars[0]})
	_, err := json.Marshal(s)
	if err == nil {
		t.Error("a secret can be encoded")
	}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", s, s, s, s), fmt.Sprintf("%v %+v %#v %s", vars, vars[0], vars[0], vars), log.String(),
	} {
		if strings.Contains(text, "SECRET") {
			t.Error(text)
		}
	}
}

func TestEncodeSealsEveryValue(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{
		"A": secretenv.Static("SECRET-1", "what it is"),
		"B": secretenv.Lookup("https://example.com/x", map[string]string{"Authorization": "SECRET-2", "Accept": "text/plain"}, ""),
	})
	seal := func(v string) (string, error) { return "sealed:" + strings.ToLower(v), nil }
	open := func(v string) (string, error) { return strings.ToUpper(strings.TrimPrefix(v, "sealed:")), nil }
	stored, err := r.Encode(seal)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"secret_sources":{` +
		`"A":{"description":"what it is","value":"sealed:secret-1","kind":"StaticSecret"},` +
		`"B":{"url":"https://example.com/x","headers":{"Accept":"text/plain","Authorization":"sealed:secret-2"},"kind":"LookupSecret"}}}`
	if diff := cmp.Diff(want, string(stored)); diff != "" {
		t.Error(diff)
	}
	again := registry(t, nil)
	lost, err := again.Decode(stored, open)
	if err != nil || lost != nil {
		t.Fatal(lost, err)
	}
	twice, err := again.Encode(seal)
	if err != nil || string(twice) != want {
		t.Errorf("encoded = %s, error %v", twice, err)
	}
	without, err := r.Encode(nil)
	if err != nil || strings.Contains(string(without), "SECRET") {
		t.Errorf("encoded = %s, error %v", without, err)
	}
	if lost, err := registry(t, nil).Decode(without, open); err != nil || len(lost) != 2 {
		t.Error(lost, err)
	}
}

func TestExpandReplacesReferences(t *testing.T) {
	t.Parallel()
	find := func(name string) (string, error) {
		switch name {
		case "A":
			return "$B", nil
		case "BROKEN":
			return "", errors.New("no connection")
		}
		return "", secretenv.ErrUnknown
	}
	in := map[string]any{"x": []any{"${A} $A ${NO} ${NO:-d e} ${NO:-}", json.Number("1"), true, nil}, "${A}": "k"}
	for bare, want := range map[bool]any{
		false: map[string]any{"x": []any{"$B $A ${NO} d e ", json.Number("1"), true, nil}, "${A}": "k"},
		true:  map[string]any{"x": []any{"$B $B ${NO} d e ", json.Number("1"), true, nil}, "${A}": "k"},
	} {
		got, err := secretenv.Expand(in, bare, find)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := secretenv.Expand("${BROKEN:-x}", false, find); err == nil || !strings.Contains(err.Error(), "BROKEN") {
		t.Error(err)
	}
}

func BenchmarkMask(b *testing.B) {
	r := secretenv.New(secretenv.Config{Now: time.Now})
	r.Set(map[string]secretenv.Secret{"A": secretenv.Static("hunter2", ""), "B": secretenv.Static("sk-abcdefgh", "")})
	r.For(b.Context(), "$A $B")
	text := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog\n", 1000))
	m := r.Masker()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.Write(text)
	}
}

func TestMaskJSONMasksStringsOnly(t *testing.T) {
	t.Parallel()
	const value = `va"lue\4711`
	r := registry(t, map[string]secretenv.Secret{"A": secretenv.Static(value, ""), "B": secretenv.Static("short", "")})
	if _, err := r.Value(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(`{"a":` + string(quoted) + `}`)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"kind":"short","type":"short","short":"short <&>","n":12.50}`: `{"kind":"short","type":"short","short":"<secret-hidden> <&>","n":12.50}`,
		`{"a" : [` + string(quoted) + `, true, null]}`:                  `{"a" : ["<secret-hidden>", true, null]}`,
		`{"arguments":` + string(args) + `}`:                            `{"arguments":"{\"a\":\"<secret-hidden>\"}"}`,
		`{"é":"sh\u006frt"}`:                                            `{"é":"<secret-hidden>"}`,
		`"short`:                                                        `"<secret-hidden>"`,
		`{"image_urls":["data:image/png;base64,AshortA","https://short.example"]}`: `{"image_urls":["data:image/png;base64,AshortA","https://<secret-hidden>.example"]}`,
		`[{"image_urls":["data:a/b;base64,short"]},"data:a/b;base64,short"]`:       `[{"image_urls":["data:a/b;base64,short"]},"data:a/b;base64,<secret-hidden>"]`,
		`{}`: `{}`,
		``:   ``,
	} {
		if got := string(r.MaskJSON(json.RawMessage(in))); got != want {
			t.Errorf("%s: MaskJSON = %s, want %s", in, got, want)
		}
	}
}

func TestLongStaticValuesAreMaskedBeforeTheyAreGivenOut(t *testing.T) {
	t.Parallel()
	r := registry(t, map[string]secretenv.Secret{"A": secretenv.Static("long-enough", ""), "B": secretenv.Static("main", "")})
	if got := r.Mask("long-enough main bG9uZy1lbm91Z2g= bG9uZy1lbm91Z2gK"); got != "<secret-hidden> main <secret-hidden>= <secret-hidden>" {
		t.Error(got)
	}
	r.Set(map[string]secretenv.Secret{"A": secretenv.Static("another-one", "")})
	if got := r.Mask("long-enough another-one"); got != "<secret-hidden> <secret-hidden>" {
		t.Error(got)
	}
}
