package conversation_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/providertest"
)

// gif is one pixel, with a label that is not its own.
const gif = "data:image/jpg;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="

// goesOnAt is how often the provider answers anything.
const goesOnAt = 2

// survives plays a conversation in which the provider answers anything, two times,
// and then goes on, also after a restart. Every request has to be one that a
// provider takes.
func survives(t *testing.T, a providertest.Adapter, whole bool, anything []byte) {
	t.Helper()
	kind := a.Kind
	if whole {
		kind = "application/json"
	}
	p := &providertest.Provider{Adapter: a}
	p.Answers = func(n int, _ []byte) (int, string, []byte) {
		if n <= goesOnAt {
			return http.StatusOK, kind, anything
		}
		return p.Done()
	}
	w := openAdapter(t, p)
	w.show("look", gif)
	w.reopen()
	for n := len(p.Requests()); n < goesOnAt; n = len(p.Requests()) {
		w.show("go on")
	}
	w.says(w.show("and on"), "agent says Done.")
	for _, body := range p.Requests() {
		providertest.Fits(t, p.Name, body)
	}
}

// TestAnyAnswerLeavesAHistoryThatProvidersTake is bounded; the fuzz target below
// goes on.
func TestAnyAnswerLeavesAHistoryThatProvidersTake(t *testing.T) {
	t.Parallel()
	const rounds = 12
	for _, a := range providertest.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			survives(t, a, false, a.Frames(a.Calls))
			for seed := range uint64(rounds) {
				rng := rand.New(rand.NewPCG(seed, uint64(len(a.Name))))
				payloads := providertest.Spoil(rng, a.Calls)
				anything := a.Frames(payloads)
				whole := a.Whole != "" && rng.IntN(3) == 0
				if whole {
					anything = []byte(providertest.Inside(rng, a.Whole))
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
	all := providertest.Adapters()
	for i, a := range all {
		f.Add(byte(i), false, []byte(strings.Join(a.Calls, "\n")))
		f.Add(byte(i), false, []byte(strings.ReplaceAll(strings.Join(a.Calls, "\n"), `it\"`, `\\ud99c\"`)))
		f.Add(byte(i), false, []byte(strings.ReplaceAll(strings.Join(a.Calls, "\n"), `"name":"look"`, `"name":""`)))
		if a.Whole != "" {
			f.Add(byte(i), true, []byte(a.Whole))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, whole bool, data []byte) {
		a := all[int(which)%len(all)]
		if whole = whole && a.Whole != ""; !whole {
			data = a.Frames(strings.Split(string(data), "\n"))
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
	for _, a := range providertest.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			p := &providertest.Provider{Adapter: a}
			p.Answers = func(_ int, body []byte) (int, string, []byte) {
				if bytes.Contains(body, []byte(bad)) {
					return http.StatusBadRequest, "application/json", []byte(refusals[a.Name])
				}
				return p.Done()
			}
			w := openAdapter(t, p)
			w.says(w.show("one", "data:image/gif;base64,"+good), "agent says Done.")
			w.says(w.show("two", "data:image/jpeg;base64,"+bad), "agent says Done.")
			w.says(w.show("three"), "agent says Done.")
			w.reopen()
			w.says(w.show("four"), "agent says Done.")
			sent := p.Requests()
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
