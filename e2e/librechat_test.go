//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLibreChat sends what LibreChat sends, through LangChain for JavaScript,
// to a real agent-server: one run for each message, none for the title.
func TestLibreChat(t *testing.T) {
	node := nodeProgram(t)
	s := newStack(t, racyProgram(t))
	first, firstMark := prompt("[[say Hello.]]")
	second, secondMark := prompt("[[say Second.]]")
	edited, editedMark := prompt("[[say Edited.]]")
	slow, slowMark := prompt("[[slow 400 100ms]]")
	last, lastMark := prompt("[[say Gone on.]]")
	in, err := json.Marshal(map[string]any{
		"base_url": s.URL + "/v1", "api_key": gatewayKey, "model": model, "steps": []string{first, second, edited, slow, last},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "librechat.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = "node", bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the program: %v\n%s", err, out)
	}
	var got map[string]struct {
		Text         string
		Error        string
		Reconciled   string
		Task         string
		Conversation string `json:"serverconversation-id"`
		Requests     int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reading the output as JSON: %v\n%s", err, out)
	}
	for step, want := range map[string]struct{ text, how, task string }{
		"first":  {text: "Hello."},
		"title":  {task: "plain_title_generation"},
		"second": {text: "Second.", how: "continued"},
		"edited": {text: "Edited.", how: "forked"},
		"slow":   {how: "continued"},
		"last":   {text: "Gone on.", how: "continued"},
	} {
		r := got[step]
		if want.text != "" && r.Text != want.text || r.Text == "" || r.Reconciled != want.how || r.Task != want.task || r.Error != "" || r.Requests != 1 {
			t.Errorf("%s: message = %+v", step, r)
		}
	}
	if got["title"].Conversation != "" || got["second"].Conversation != got["first"].Conversation || got["edited"].Conversation == got["first"].Conversation {
		t.Errorf("conversations: %+v", got)
	}
	// A message that was interrupted before the agent had an answer is shown to
	// the model again, together with the next one.
	marks := []string{firstMark, secondMark, editedMark, slowMark, lastMark}
	for i, mark := range marks {
		agents := 0
		for _, r := range s.asked(mark) {
			later := slices.ContainsFunc(marks[i+1:], func(m string) bool { return strings.Contains(r.UserText(), m) })
			if len(r.Tools) > 0 && !later {
				agents++
			}
		}
		if agents != 1 {
			t.Errorf("%d calls of the agent for %q, want one", agents, mark)
		}
	}
}
