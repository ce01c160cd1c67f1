package apitest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Respond asks for a response.
func (g *Gateway) Respond(body string, header ...string) Response {
	g.T.Helper()
	return g.Do(http.MethodPost, "/v1/responses", body, header...)
}

// Input is the body of a request with one message.
func Input(prompt string, more ...string) string {
	return `{"model":"openhands_default","input":` + fmt.Sprintf("%q", prompt) + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Made is a response object.
type Made struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Previous     string `json:"previous_response_id"`
	Conversation struct {
		ID string `json:"id"`
	} `json:"conversation"`
	Error *struct {
		Code, Message string
	} `json:"error"`
	Output []struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
	} `json:"output"`
	Usage *struct {
		Total int64 `json:"total_tokens"`
	} `json:"usage"`
	Metadata map[string]string `json:"metadata"`
}

// Text is what the response says, as SDKs join it.
func (m Made) Text() string {
	said := ""
	for _, item := range m.Output {
		for _, part := range item.Content {
			said += part.Text
		}
	}
	return said
}

// Object reads a response object.
func Object(t testing.TB, data []byte) Made {
	t.Helper()
	Valid(t, "response", data)
	var m Made
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Responded reads an answer that has to be a response.
func Responded(t testing.TB, res Response) Made {
	t.Helper()
	if res.Status != http.StatusOK || res.Err != nil {
		t.Fatalf("status %d, %v: %s", res.Status, res.Err, res.Body)
	}
	return Object(t, []byte(res.Body))
}

// StreamEvent is an event of a streamed response.
type StreamEvent struct {
	Type     string          `json:"type"`
	Number   int             `json:"sequence_number"`
	Output   int             `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Item     json.RawMessage `json:"item"`
	Delta    string          `json:"delta"`
	Response json.RawMessage `json:"response"`
	Raw      string
}

// EventsOf reads a stream and checks what every client's parser insists on.
func EventsOf(t testing.TB, body string) []StreamEvent {
	t.Helper()
	var all []StreamEvent
	items := []string{}
	scanner := bufio.NewScanner(strings.NewReader(body))
	scanner.Buffer(nil, 4<<20)
	name := ""
	for scanner.Scan() {
		line := scanner.Text()
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		Valid(t, "response-stream-event", []byte(data))
		e := StreamEvent{Raw: data}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != name {
			t.Errorf("the event %q has the type %q", name, e.Type)
		}
		if len(all) > 0 && e.Number != all[len(all)-1].Number+1 {
			t.Errorf("event %d follows event %d", e.Number, all[len(all)-1].Number)
		}
		all = append(all, e)
		if all[0].Number == 0 { // else items were added before
			items = e.follows(t, items)
		}
	}
	return all
}

// follows checks the item that an event is about, and returns the items with it.
func (e StreamEvent) follows(t testing.TB, items []string) []string {
	t.Helper()
	switch {
	case e.Type == "response.output_item.added":
		var item struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(e.Item, &item); err != nil || e.Output != len(items) || item.ID == "" {
			t.Errorf("item %d is added as %s (%v)", len(items), e.Raw, err)
		}
		return append(items, item.ID)
	case e.ItemID != "" && len(items) > 0 && e.ItemID != items[e.Output]:
		t.Errorf("%s is about item %s, want %s", e.Type, e.ItemID, items[e.Output])
	}
	return items
}

// Object is the response in an event.
func (e StreamEvent) Object(t testing.TB) Made { return Object(t, e.Response) }

// Types are the types of events, without what all begin with.
func Types(events []StreamEvent) []string {
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimPrefix(e.Type, "response."))
	}
	return all
}

// AsDeleted checks the answer of a deletion, and that there is nothing behind it.
func (r Response) AsDeleted(t testing.TB, id string) Response {
	t.Helper()
	Equal(t, "status of the deletion", r.Status, http.StatusOK)
	if !strings.Contains(r.Body, `"deleted":true`) || !strings.Contains(r.Body, id) {
		t.Errorf("deletion: %s", r.Body)
	}
	return Response{Status: http.StatusOK, Body: emptyResponse}
}

// emptyResponse is a response in which there is nothing.
const emptyResponse = `{"id":"resp_0","object":"response","created_at":1,"error":null,"incomplete_details":null,"instructions":null,"model":"m","tools":[],"output":[],"parallel_tool_calls":true,"metadata":{},"tool_choice":"auto","temperature":1,"top_p":1,"status":"completed"}`

// Inputs is the body of a request with these items.
func Inputs(list string) string { return `{"model":"openhands_default","input":[` + list + `]}` }

// ApprovalTool is the member of a request whose client is asked for confirmations.
const ApprovalTool = `"tools":[{"type":"mcp","server_label":"openhands","server_url":"http://localhost","require_approval":"always"}]`

// Called is a call of a function, as an answer has it.
type Called struct {
	ID, Name, Arguments string
	Finish              string // of a chat completion
	Reasoning           string
}

// Of puts words in the place of the digits in its id: those of the answer, and of the
// conversation, if it has one.
func (c Called) Of(answer, conversation string) Called {
	digits := answer[strings.LastIndexAny(answer, "-_")+1:]
	c.ID = strings.Replace(c.ID, digits, "ANSWER", 1)
	if conversation != "" {
		c.ID = strings.Replace(c.ID, strings.ReplaceAll(conversation, "-", "")+"_"+digits[:8], "CONVERSATION_ANSWER", 1)
	}
	return c
}

// Call returns the last item of a response, which has to be a call.
func (m Made) Call(t testing.TB, object []byte) Called {
	t.Helper()
	var body struct {
		Output []struct {
			ID, Type, Name, Arguments, Status string
			Call                              string `json:"call_id"`
		} `json:"output"`
	}
	if err := json.Unmarshal(object, &body); err != nil {
		t.Fatal(err)
	}
	item := body.Output[len(body.Output)-1]
	Equal(t, "type", item.Type, "function_call")
	Equal(t, "status", item.Status, "completed")
	Equal(t, "text", m.Text(), "")
	if digits := strings.TrimPrefix(m.ID, "resp_"); !strings.HasPrefix(item.ID, "fc_"+digits) {
		t.Errorf("the item %s of %s", item.ID, m.ID)
	}
	c := Called{ID: item.Call, Name: item.Name, Arguments: item.Arguments}
	for _, item := range m.Output {
		for _, part := range item.Summary {
			c.Reasoning += part.Text + "\n"
		}
	}
	return c.Of(m.ID, "")
}
