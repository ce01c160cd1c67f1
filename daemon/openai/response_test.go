package openai_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon/openai"
)

// Whatever becomes of a response, its events are in the order that strict
// parsers want, and tell the same as the object at the end.
func TestEventsOfAnyTurnAreInOrder(t *testing.T) {
	t.Parallel()
	s := schema(t, "response-stream-event")
	asked, err := openai.ParseResponse([]byte(`{"model":"m","input":"hi"}`), limits)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		res := openai.Response{ID: "resp_1", Model: "m", Status: openai.ResponseInProgress, Echo: asked.Echo}
		var events []map[string]any
		e := openai.NewResponseEvents(&res)
		ids := 0
		e.NewID = func(prefix string) string { ids++; return prefix + strconv.Itoa(ids) }
		e.Emit = func(event openai.StreamEvent) {
			parsed := valid(t, s, event.Data)
			if parsed["type"] != event.Type {
				rt.Fatalf("%s has the type %v", event.Type, parsed["type"])
			}
			events = append(events, parsed)
		}
		e.Begin()
		said := ""
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 20).Draw(rt, "steps") {
			switch step {
			case 0:
				e.Progress("$ ls")
			case 1:
				e.Text(rapid.SampledFrom([]string{"a", "b\n", "\n\nc", "\n", ""}).Draw(rt, "text"))
			case 2:
				e.Beat()
			case 3:
				e.Ask(openai.OutputItem{ID: "mcpr_" + strconv.Itoa(len(events)), Tool: "terminal", Arguments: "{}"})
			}
		}
		calls := false
		if rapid.Bool().Draw(rt, "fails") {
			e.Fail("server_error", "down")
		} else {
			if calls = rapid.Bool().Draw(rt, "calls"); calls {
				e.Call("f", `{"a":1}`)
			}
			res.Status, res.Completed, res.Usage = openai.ResponseCompleted, 1, &openai.Usage{}
			e.End()
		}
		items := []map[string]any{}
		for i, event := range events {
			if event["sequence_number"] != json.Number(strconv.Itoa(i)) {
				rt.Fatalf("event %d has the number %v", i, event["sequence_number"])
			}
			switch event["type"] {
			case "response.output_item.added":
				if event["output_index"] != json.Number(strconv.Itoa(len(items))) {
					rt.Fatalf("item %d is added at %v", len(items), event["output_index"])
				}
				items = append(items, event["item"].(map[string]any))
			case "response.output_text.delta":
				said += event["delta"].(string)
			}
			if id, ok := event["item_id"]; ok && id != items[len(items)-1]["id"] {
				rt.Fatalf("%s is about %v, not about the last item", event["type"], id)
			}
		}
		var whole struct {
			Output []struct {
				Type, Arguments string
				Content         []struct{ Text string }
			}
		}
		data, err := res.MarshalJSON()
		if err != nil {
			rt.Fatal(err)
		}
		if err := json.Unmarshal(data, &whole); err != nil {
			rt.Fatal(err)
		}
		text := ""
		if calls && whole.Output[len(whole.Output)-1].Arguments != `{"a":1}` {
			rt.Fatalf("%s has no call at its end", data)
		}
		for _, item := range whole.Output {
			for _, part := range item.Content {
				text += part.Text
			}
		}
		if text != said || len(whole.Output) != len(items) {
			rt.Fatalf("the object has %q in %d items, the events %q in %d", text, len(whole.Output), said, len(items))
		}
	})
}

func TestTheNewTurnOfAnInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		input, text, system string
		history             int
	}{
		"a text":                              {`"hi"`, "hi", "", 0},
		"two messages":                        {`[{"role":"user","content":"a"},{"role":"user","content":"b"}]`, "a\n\nb", "", 0},
		"after an answer":                     {`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, "c", "", 2},
		"after an item":                       {`[{"role":"user","content":"a"},{"type":"function_call_output","output":"x"},{"role":"user","content":"c"}]`, "c", "", 1},
		"developer":                           {`[{"role":"developer","content":"d"},{"role":"user","content":"c"}]`, "c", "d", 0},
		"an answer without its probabilities": {`[{"role":"user","content":"a"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":[{"type":"input_text","text":"c"}]}]`, "c", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := openai.ParseResponse([]byte(`{"model":"m","input":`+tc.input+`}`), limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.text, tc.system, strconv.Itoa(tc.history)}, []string{r.Text, r.System, strconv.Itoa(len(r.History))}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheBytesOfAnImageOfAResponseDecideItsType(t *testing.T) {
	t.Parallel()
	input := func(url string) []byte {
		return []byte(`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"` + url + `"}]}]}`)
	}
	r, err := openai.ParseResponse(input(strings.Replace(pixel, "image/png", "image/jpg", 1)), limits)
	if err != nil || len(r.Images) != 1 || r.Images[0] != pixel {
		t.Errorf("the request = %+v, %v", r, err)
	}
	for name, data := range map[string]string{"BMP": "Qk0AAAAAAAAAAAAAAAAA", "ICO": "AAABAAEAEBAAAAEAIAA=", "cut off": pixel[len("data:image/png;base64,") : len(pixel)-20]} {
		_, err := openai.ParseResponse(input("data:image/png;base64,"+data), limits)
		refused, ok := errors.AsType[*openai.RequestError](err)
		if !ok || refused.Param != "input[0].content[1].image_url" || !strings.Contains(refused.Message, "is "+name) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func FuzzParseResponse(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":"hi","stream":true,"metadata":{"a":"b"},"text":{},"reasoning":{"effort":"low"}}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"` + pixel + `"}]},{"type":"reasoning"},{"role":"user","content":"x"}],"tools":[{"type":"mcp","server_label":"openhands"}]}`))
	f.Add([]byte(`{"model":"m","input":[{"type":"mcp_approval_response","approval_request_id":"x","approve":true}],"instructions":"i","conversation":{"id":"c"}}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"call_0123456789abcdef0123456789abcdef","arguments":"{}"},{"role":"user","content":"b"}],"tools":[{"type":"function","name":"f","strict":null}],"tool_choice":{"type":"function","name":"f"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := openai.ParseResponse(in, limits)
		if err != nil {
			if _, ok := errors.AsType[*openai.RequestError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if strings.TrimSpace(r.Text) == "" && len(r.Images) == 0 && len(r.Approvals) == 0 {
			t.Fatalf("nothing is asked in %s", in)
		}
		if (r.Echo.Format() == nil) != (r.Format == nil) {
			t.Fatalf("the response does not repeat the format of %s", in)
		}
		res := openai.Response{ID: "resp_1", Echo: r.Echo, Status: openai.ResponseInProgress}
		if _, err := res.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	})
}
