package openai_test

import (
	"fmt"

	"github.com/ohgw/ohgw/daemon/openai"
)

func ExampleParseChat() {
	body := `{"model":"openhands_default","stream":true,"temperature":0.2,"messages":[
		{"role":"developer","content":"Be brief."},
		{"role":"user","content":[{"type":"text","text":"Do the tests pass?"}]}]}`
	r, err := openai.ParseChat([]byte(body), openai.Limits{Messages: 200})
	fmt.Println(err, r.Model, r.Stream, r.Ignored)
	fmt.Printf("%q %q\n", r.System, r.Text)

	_, err = openai.ParseChat([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"file"}]}]}`), openai.Limits{})
	fmt.Println(err)
	// Output:
	// <nil> openhands_default true [temperature]
	// "Be brief." "Do the tests pass?"
	// Content part 'file' is not supported by this model; send text and images.
}

func ExampleChunks() {
	c := openai.NewChunks("chatcmpl-1", "openhands_default", 1790000000, false)
	fmt.Println(string(c.Content(nil, "They pass.")))
	// Output:
	// {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"openhands_default","service_tier":"default","system_fingerprint":"fp_ohgw_1","choices":[{"index":0,"delta":{"content":"They pass."},"logprobs":null,"finish_reason":null}]}
}
