package gateway_test

import (
	"fmt"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/gateway"
)

// lines are items in a line each.
func lines(items []gateway.Item) (all []string) {
	for _, item := range items {
		switch item.Kind {
		case gateway.Did:
			all = append(all, "did "+item.Call.State+" "+item.Call.Line)
		default:
			all = append(all, fmt.Sprint(item.Kind, " ", item.Text, " ", item.Images))
		}
	}
	return all
}

// What other clients added to a conversation is among the earlier messages. An
// entry that is not a message of the chat is not among them.
func TestAddedMessagesAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, _ := start(t, script(daemontest.Finish("Done.")), func(cfg *daemon.Config) { cfg.StateDir = dir })
	add := func(items ...string) {
		t.Helper()
		err := clientitems.Open(dir).Change(conversation, func(*clientitems.Record) (change clientitems.Change, _ error) {
			for i, item := range items {
				change.Add = append(change.Add, clientitems.Item{ID: fmt.Sprint("msg_", i), Data: []byte(item)})
			}
			return change, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(`{"id":"msg_0","type":"message","role":"user","content":[{"type":"input_text","text":"I like tea."}]}`,
		`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Noted."}]}`,
		`{"id":"msg_2","type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]}`,
		`{"id":"msg_3","type":"function_call","name":"look"}`)
	if a := ask(t.Context(), c, gateway.Question{Conversation: conversation, Text: "go"}); a.err != nil {
		t.Fatal(a.err)
	}
	items, more, err := c.Earlier(t.Context(), conversation, 130)
	want := []string{"0 I like tea. 0", "2 Noted. 0", "0 go 0", "2 Done. 0"}
	if got := lines(items); err != nil || more || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines = %q, more %v, error %v", got, more, err)
	}
}

func TestWhatWasSaidIsListedAndDeleted(t *testing.T) {
	t.Parallel()
	c, _ := start(t, script(daemontest.Batch("Let me look.", "ls"), daemontest.Finish("Done.")))
	const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for i := range 60 { // more than a page
		q := gateway.Question{Conversation: conversation, Text: fmt.Sprint("go ", i)}
		if i == 59 {
			q.Images = []string{image}
		}
		if a := ask(t.Context(), c, q); a.err != nil {
			t.Fatal(a.err)
		}
	}
	items, more, err := c.Earlier(t.Context(), conversation, 130)
	if err != nil || !more || len(items) != 130 {
		t.Fatalf("%d items, more %v, %v", len(items), more, err)
	}
	want := []string{"0 go 59 1", "1 Let me look. 0", "did done $ ls", "2 Done. 0"}
	if got := lines(items[126:]); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the last ones are %q", got)
	}
	all, more, err := c.Earlier(t.Context(), conversation, 1000)
	if err != nil || more || len(all) != 240 || all[0].Text != "go 0" {
		t.Errorf("%d items, more %v, %v", len(all), more, err)
	}
	if err := c.Delete(t.Context(), conversation); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Earlier(t.Context(), conversation, 1); !gateway.IsUnknown(err) {
		t.Errorf("after the removal: %v", err)
	}
	if _, _, err := c.Earlier(t.Context(), "nosuch", 1); !gateway.IsUnknown(err) {
		t.Errorf("an ID that is not a UUID: %v", err)
	}
	if err := c.Delete(t.Context(), conversation); !gateway.IsUnknown(err) {
		t.Errorf("the second removal: %v", err)
	}
}
