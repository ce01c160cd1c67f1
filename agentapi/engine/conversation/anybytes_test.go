package conversation_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// gif is one pixel, with a label that is not its own.
const gif = "data:image/jpg;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="

// goesOnAt is how often the provider answers anything.
const goesOnAt = 2

// survives plays a conversation in which the provider answers anything, two times,
// and then goes on, also after a restart. Every request has to be one that a
// provider takes.
func survives(t *testing.T, a adapter, whole bool, anything []byte) {
	t.Helper()
	kind := a.kind
	if whole {
		kind = "application/json"
	}
	p := &provider{adapter: a}
	p.answers = func(n int, _ []byte) (int, string, []byte) {
		if n <= goesOnAt {
			return http.StatusOK, kind, anything
		}
		return p.done()
	}
	w := openAdapter(t, p)
	w.show("look", gif)
	w.reopen()
	for n := len(p.requests()); n < goesOnAt; n = len(p.requests()) {
		w.show("go on")
	}
	w.says(w.show("and on"), "agent says Done.")
	for _, body := range p.requests() {
		fits(t, p, body)
	}
}

// nasty is what goes into the answers of providers: as bytes, and as escapes.
var nasty = []string{
	`\ud99c`, `\\ud99c`, `\udc00\ud800`, `\\\\udead`, `\u0000`, `\\u0000`, "\x00", "\xff", "\xed\xa0\x80", `\n`, `"`, `\`, "", " ", "null", "{}", "[]", `{"at":"\ud800"}`,
	`","name":"`, `","id":"`, `__thought__`, strings.Repeat("x", 300), "é", "😀", "\u2028", "[DONE]", "0", "-1", "1e400",
}

// spoil changes an answer in a few places.
func spoil(rng *rand.Rand, payloads []string) []string {
	out := append([]string(nil), payloads...)
	for range 1 + rng.IntN(4) {
		i := rng.IntN(len(out))
		switch p := out[i]; rng.IntN(7) {
		case 0: // left out
			if len(out) > 1 {
				out = append(out[:i], out[i+1:]...)
			}
		case 1: // twice
			out = append(out[:i+1], append([]string{p}, out[i+1:]...)...)
		case 2: // in another place
			j := rng.IntN(len(out))
			out[i], out[j] = out[j], out[i]
		case 3: // a member is empty
			for _, name := range []string{"name", "id", "call_id", "toolUseId"} {
				if at := strings.Index(p, `"`+name+`":"`); at >= 0 && rng.IntN(2) == 0 {
					at += len(name) + 4
					p = p[:at] + p[at+strings.IndexByte(p[at:], '"'):]
				}
			}
			out[i] = p
		case 4: // equal ids
			out[i] = strings.NewReplacer("call_b", "call_a", "toolu_b", "toolu_a", "tooluse_b", "tooluse_a", "fc_2", "fc_1").Replace(p)
		default:
			out[i] = inside(rng, p)
		}
	}
	return out
}

// inside puts something into a text of a payload, or anywhere.
func inside(rng *rand.Rand, p string) string {
	what := nasty[rng.IntN(len(nasty))]
	if quotes := strings.Count(p, `"`); quotes > 1 && rng.IntN(4) > 0 {
		at := 0
		for range 1 + rng.IntN(quotes) {
			at += strings.IndexByte(p[at:], '"') + 1
		}
		return p[:at] + what + p[at:]
	}
	at := rng.IntN(len(p) + 1)
	if rng.IntN(2) == 0 {
		return p[:at]
	}
	return p[:at] + what + p[at:]
}

// TestAnyAnswerLeavesAHistoryThatProvidersTake is bounded; the fuzz target below
// goes on.
func TestAnyAnswerLeavesAHistoryThatProvidersTake(t *testing.T) {
	t.Parallel()
	const rounds = 12
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			survives(t, a, false, a.frames(a.calls))
			for seed := range uint64(rounds) {
				rng := rand.New(rand.NewPCG(seed, uint64(len(a.name))))
				payloads := spoil(rng, a.calls)
				anything := a.frames(payloads)
				whole := a.whole != "" && rng.IntN(3) == 0
				if whole {
					anything = []byte(inside(rng, a.whole))
				}
				if survives(t, a, whole, anything); t.Failed() {
					t.Fatalf("seed %d, whole %v: %q", seed, whole, anything)
				}
			}
		})
	}
}

// FuzzAnyAnswerLeavesAHistoryThatProvidersTake takes the payloads of frames, one a
// line, so that what is framed need not be guessed.
func FuzzAnyAnswerLeavesAHistoryThatProvidersTake(f *testing.F) {
	all := adapters()
	for i, a := range all {
		f.Add(byte(i), false, []byte(strings.Join(a.calls, "\n")))
		f.Add(byte(i), false, []byte(strings.ReplaceAll(strings.Join(a.calls, "\n"), `it\"`, `\\ud99c\"`)))
		f.Add(byte(i), false, []byte(strings.ReplaceAll(strings.Join(a.calls, "\n"), `"name":"look"`, `"name":""`)))
		if a.whole != "" {
			f.Add(byte(i), true, []byte(a.whole))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, whole bool, data []byte) {
		a := all[int(which)%len(all)]
		if whole = whole && a.whole != ""; !whole {
			data = a.frames(strings.Split(string(data), "\n"))
		}
		survives(t, a, whole, data)
	})
}

// TestEveryAdapterGoesOnWithoutARefusedPicture has the provider refuse one picture,
// in the words of each.
func TestEveryAdapterGoesOnWithoutARefusedPicture(t *testing.T) {
	t.Parallel()
	const good, bad = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==", "/9j/4AAQSkZJRgABAQAAAQABAAA="
	refusals := map[string]string{
		"chat": `{"error":{"message":"Invalid request.","type":"invalid_request_error"}}`, "responses": `{"error":{"message":"The image data you provided does not represent a valid image."}}`,
		"messages": `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`,
		"gemini":   `{"error":{"code":400,"message":"Unable to process input image.","status":"INVALID_ARGUMENT"}}`, "converse": `{"message":"The model returned the following errors: Invalid request."}`,
	}
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			p := &provider{adapter: a}
			p.answers = func(_ int, body []byte) (int, string, []byte) {
				if bytes.Contains(body, []byte(bad)) {
					return http.StatusBadRequest, "application/json", []byte(refusals[a.name])
				}
				return p.done()
			}
			w := openAdapter(t, p)
			w.says(w.show("one", "data:image/gif;base64,"+good), "agent says Done.")
			w.says(w.show("two", "data:image/jpeg;base64,"+bad), "agent says Done.")
			w.says(w.show("three"), "agent says Done.")
			w.reopen()
			w.says(w.show("four"), "agent says Done.")
			sent := p.requests()
			for i, refused := range []bool{false, true, false, false, false} {
				if i >= len(sent) || bytes.Contains(sent[i], []byte(bad)) != refused || !bytes.Contains(sent[i], []byte(good)) {
					t.Errorf("request %d of %d is not as it should be", i, len(sent))
				}
			}
			if len(sent) != 5 {
				t.Errorf("%d requests, want 5: one picture is refused once", len(sent))
			}
		})
	}
}
