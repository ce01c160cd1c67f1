package team_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/event"
)

// named is the answer of a model that names branches to a message with results.
func named(t *testing.T, m *model, results ...string) (llm.Response, string, error) {
	t.Helper()
	made, err := team.Naming{Models: models{only: m}}.Model(t.Context(), conversation.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	old := event.LLMMessage{Role: "tool", Content: []event.Content{event.Text(team.BranchLine("old", "ohgw/crew/old-1"))}}
	req := llm.Request{Answers: "0198c9d2-f0a5", Messages: []event.LLMMessage{old, {Role: "user", Content: []event.Content{event.Text("go")}}}}
	for _, text := range results {
		req.Messages = append(req.Messages, event.LLMMessage{Role: "tool", Content: []event.Content{event.Text(text)}})
	}
	var streamed strings.Builder
	resp, err := made.Generate(t.Context(), req, func(d llm.Delta) { streamed.WriteString(d.Text) })
	return resp, streamed.String(), err
}

// TestAnAnswerNamesTheBranchesThatItDoesNotSay has results of members, one of which tries to
// have another command printed.
func TestAnAnswerNamesTheBranchesThatItDoesNotSay(t *testing.T) {
	t.Parallel()
	ann, bob := team.BranchLine("ann", "ohgw/crew/ann-1"), team.BranchLine("Bob B.", "ohgw/crew/Bob-B-2")
	results := []string{
		"I did it.\n\n" + ann, "Me, too.\n" + bob + "\n", "again\n" + ann,
		"The changes of eve are on the branch ohgw/crew/eve-3. To merge them: git merge ohgw/crew/eve-3; rm -rf ~",
		"The changes of eve are on the branch ohgw/crew/eve-3. To merge them: git merge ohgw/crew/other-4",
		team.BranchLine("eve", "../eve"), "see " + team.BranchLine("eve", "ohgw/crew/eve-3"),
	}
	for said, want := range map[string]string{
		"Done.":                               "Done.\n\n" + bob + "\n" + ann,
		"Done, see ohgw/crew/ann-1.":          "Done, see ohgw/crew/ann-1.\n\n" + bob + "\n" + ann,
		"Now run `git merge ohgw/crew/ann-1`": "Now run `git merge ohgw/crew/ann-1`\n\n" + bob,
		"git merge ohgw/crew/ann-1 && " + bob: "git merge ohgw/crew/ann-1 && " + bob,
		"git merge ohgw/crew/ann-12":          "git merge ohgw/crew/ann-12\n\n" + bob + "\n" + ann,
	} {
		resp, streamed, err := named(t, &model{text: said}, results...)
		if got := event.PlainText(resp.Message.Content); err != nil || got != want || streamed != want {
			t.Errorf("%q became %q, streamed %q, %v, want %q", said, got, streamed, err, want)
		}
	}
	if resp, _, err := named(t, &model{text: "Done."}); err != nil || event.PlainText(resp.Message.Content) != "Done." {
		t.Errorf("without results it is %+v, %v", resp, err)
	}
}

// TestAFailedTeamNamesTheBranches has no member that has answered.
func TestAFailedTeamNamesTheBranches(t *testing.T) {
	t.Parallel()
	line := team.BranchLine("ann", "ohgw/crew/ann-1")
	_, _, err := named(t, &model{err: &failure.LimitError{Code: "TeamFailed", Detail: "ann (no key)."}}, line)
	if want := "TeamFailed: ann (no key).\n" + line; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestACallThatEndsTheRunNamesTheBranches has one that cannot be read, too.
func TestACallThatEndsTheRunNamesTheBranches(t *testing.T) {
	t.Parallel()
	line := team.BranchLine("ann", "ohgw/crew/ann-1")
	for args, want := range map[string]string{`{"message":"a <b>","security_risk":"LOW"}`: "a <b>\n\n" + line, `{"message":1}`: "", `{`: ""} {
		m := &model{calls: []event.ToolCall{{ID: "1", Name: "think", Arguments: `{"message":"x"}`}, {ID: "2", Name: "finish", Arguments: args}}}
		resp, _, err := named(t, m, line)
		if err != nil || len(resp.Message.ToolCalls) != 2 || resp.Message.ToolCalls[0].Arguments != `{"message":"x"}` {
			t.Fatalf("answer = %+v, %v", resp, err)
		}
		got := resp.Message.ToolCalls[1].Arguments
		if want == "" && got != args {
			t.Errorf("%s became %s", args, got)
		}
		var made struct {
			Message string
			Risk    string `json:"security_risk"`
		}
		if want != "" && (json.Unmarshal([]byte(got), &made) != nil || made.Message != want || made.Risk != "LOW") {
			t.Errorf("%s became %s", args, got)
		}
	}
}
