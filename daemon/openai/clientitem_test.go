package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon/openai"
)

// Items are listed as they were sent, messages in their long form.
func TestAnItemIsListedAsItWasSent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string][2]string{
		"a short message": {`{"role":"user","content":"hi"}`, `{"id":"x","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"hi"}]}`},
		"a short answer": {
			`{"role":"assistant","content":"hi","type":"message","id":null}`,
			`{"id":"x","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[],"logprobs":[]}]}`,
		},
		"a developer": {`{"role":"developer","content":"hi"}`, `{"id":"x","type":"message","status":"completed","role":"developer","content":[{"type":"input_text","text":"hi"}]}`},
		"an answer of a response": {
			`{"id":"old","type":"message","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[1]}],"phase":"final_answer"}`,
			`{"id":"x","type":"message","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[1],"logprobs":[]}],"phase":"final_answer"}`,
		},
		"a picture":                   {`{"role":"user","content":[{"type":"input_image","image_url":"` + pixel + `"}]}`, `{"id":"x","type":"message","status":"completed","role":"user","content":[{"type":"input_image","image_url":"` + pixel + `"}]}`},
		"a call":                      {`{ "type" : "function_call", "arguments":"{}", "status":null, "id":"old" }`, `{"id":"x","type":"function_call","arguments":"{}","status":null}`},
		"a field that is twice there": {`{"type":"a","b":1,"b":2}`, `{"id":"x","type":"a","b":2}`},
	} {
		items, err := openai.ParseItems([]byte(`{"items":[`+tc[0]+`]}`), limits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(items[0].Wire("x")); got != tc[1] {
			t.Errorf("%s: item = %s, want %s", name, got, tc[1])
		}
		again := openai.ReadItem(items[0].Wire("x"))
		if again.ID != "x" || again.Kind != items[0].Kind || again.Role != items[0].Role || again.Text != items[0].Text || string(again.Wire("x")) != tc[1] {
			t.Errorf("%s: read as %+v", name, again)
		}
	}
	if item := openai.ReadItem([]byte("x")); item.Kind != "" {
		t.Errorf("the item = %+v, want no kind", item)
	}
}

// Whatever was added, and whatever is said after it, is told apart again.
func TestAddedMessagesAreTakenOffAMessage(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\nb", "> a", "The new message of the user:\n\nx", "a\r\nThe new message of the user:\n", "\u2028The new message of the user:\u2028b"}))
	rapid.Check(t, func(r *rapid.T) {
		var turns []openai.Turn
		for range rapid.IntRange(0, 3).Draw(r, "turns") {
			turns = append(turns, openai.Turn{Role: rapid.SampledFrom([]string{"user", "assistant", "system"}).Draw(r, "role"), Text: text.Draw(r, "text")})
		}
		said := text.Draw(r, "said")
		message := openai.QuoteAdded(turns, 64<<10) + said
		if got := openai.WithoutAdded(message); got != said {
			r.Fatalf("the message without the addition = %q, of %q", got, message)
		}
	})
	for _, said := range []string{"Messages that were added to this conversation, quoted as background:\n\nx", "Earlier turns"} {
		if got := openai.WithoutAdded(said); got != said {
			t.Errorf("%q of %q", got, said)
		}
	}
}

func FuzzParseItems(f *testing.F) {
	f.Add([]byte(`{"items":[{"role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`))
	f.Add([]byte(`{"items":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}","id":"fc_1"},{"type":"item_reference","id":"x"}]}`))
	f.Add([]byte(`{"items":[{"type":"reasoning","summary":[],"id":null, "a" : {"b":[1, 2]}}],"metadata":{"a":"b"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := openai.ParseConversation(in, limits); err != nil && !isRequestError(err) {
			t.Fatalf("%T: %v", err, err)
		}
		if _, err := openai.ParseMetadata(in); err != nil && !isRequestError(err) {
			t.Fatalf("%T: %v", err, err)
		}
		items, err := openai.ParseItems(in, limits)
		if err != nil {
			if !isRequestError(err) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, item := range items {
			wire := item.Wire("x")
			if !json.Valid(wire) || strings.Contains(string(wire), "\n") {
				t.Fatalf("the wire = %s, want one line of JSON", wire)
			}
			if again := openai.ReadItem(wire); again.ID != "x" || again.Kind != item.Kind || again.Role != item.Role || again.Text != item.Text {
				t.Fatalf("%s is read as %+v, was %+v", wire, again, item)
			}
		}
	})
}

func isRequestError(err error) bool {
	_, ok := errors.AsType[*openai.RequestError](err)
	return ok
}
