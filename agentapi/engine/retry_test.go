package engine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// A repeat is news for those who watch. OpenHands' Python, which opens the same
// directory, never sees it.
func TestARepeatedRequestIsAnnouncedAndNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withRealModels(twice))
	w.llm.Reply(llmtest.Fail(503, "busy"), llmtest.Text("Done."))
	var told []turn.Update
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Retry != nil {
			told = append(told, u)
		}
	}})
	if res.Answer != "Done." || res.Actions != 0 {
		t.Errorf("result %+v", res)
	}
	if len(told) != 1 || told[0].Retry.Attempt != 2 || told[0].Retry.Of != 2 || !strings.Contains(told[0].Text, "answered 503 Service Unavailable; attempt 2 of 2") {
		t.Errorf("announced %+v", told)
	}
	w.expect("SP U M")
	err := filepath.WalkDir(w.dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "ohgw.retry") {
			t.Errorf("%s has the repeat", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
