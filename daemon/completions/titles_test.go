package completions_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// titleRequests are requests for titles as clients send them, beside the first message
// of a chat. The file says which client and version, and who has seen it.
func titleRequests(t testing.TB) (all []struct {
	Client, Version, Source string
	Title                   json.RawMessage
},
) {
	t.Helper()
	data, err := os.ReadFile("../housekeeping/testdata/titles.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever client asks for a title beside a message: one agent runs, for the message.
func TestATitleBesideAMessageIsNoSecondAgent(t *testing.T) {
	t.Parallel()
	for _, c := range titleRequests(t) {
		t.Run(c.Client+" "+c.Version, func(t *testing.T) {
			t.Parallel()
			b, llm := apitest.Script(daemontest.Tool("date"), daemontest.Finish("ok")), &writer{says: []string{"Seconds of the date"}}
			g := apitest.Serve(t, b, llm.config)
			const message = "Run date twice, then say which second it was."
			var wg sync.WaitGroup
			wg.Go(func() {
				res := g.Chat(apitest.Messages(`{"role":"system","content":"You are an agent."},{"role":"user","content":"`+message+`"}`, apitest.Streamed, chatTool))
				apitest.Equal(t, "status", res.Status, http.StatusOK)
			})
			res := g.Chat(string(c.Title))
			wg.Wait()
			apitest.Equal(t, "status", res.Status, http.StatusOK)
			apitest.Equal(t, "task", res.Header.Get("X-OpenHands-Task"), "plain_title_generation")
			apitest.Equal(t, "conversation", res.Header.Get(apitest.HeaderID), "")
			if !strings.Contains(res.Body, "Seconds") {
				t.Errorf("the title: %s", res.Body)
			}
			if prompts := b.Prompts(); len(prompts) != 1 || prompts[0].Text != message {
				t.Errorf("the agents were told %+v", prompts)
			}
		})
	}
}
