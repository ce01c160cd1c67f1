package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/event"
)

// model answers with a text, and keeps what it was asked.
type model struct {
	text  string
	calls []event.ToolCall
	err   error
	got   llm.Request
}

func (m *model) Info() llm.Info { return llm.Info{Model: "m"} }

func (m *model) Generate(_ context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	m.got = req
	if onDelta != nil {
		onDelta(llm.Delta{Text: m.text})
	}
	return llm.Response{ID: "r", Message: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(m.text)}, ToolCalls: m.calls}}, m.err
}

// models has one model.
type models struct {
	conversation.Models

	only *model
}

func (m models) Model(context.Context, conversation.Choice) (llm.Model, error) { return m.only, nil }

// panelOf is the model of a team of two over a model.
func panelOf(t *testing.T, m *model) llm.Model {
	t.Helper()
	crew := &team.Team{All: true, Members: []team.Member{{Name: "ann"}, {Name: "bob"}}}
	made, err := team.NewPanel(crew, models{only: m}).Model(t.Context(), conversation.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// asked is the request of a step, and what the panel answers to it.
func asked(t *testing.T, panel llm.Model) (llm.Request, llm.Response) {
	t.Helper()
	req := llm.Request{
		Messages: []event.LLMMessage{
			{Role: "system", Content: []event.Content{event.Text("rules")}}, {Role: "user", Content: []event.Content{event.Text("what?")}},
		},
		Tools: []llm.Tool{{Name: "task"}}, Answers: "0198c9d2-f0a5",
	}
	resp, err := panel.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req, resp
}

// answered is a request with the results of the members.
func answered(req llm.Request, resp llm.Response, results ...string) llm.Request {
	req.Messages = append(req.Messages, resp.Message)
	for i, text := range results {
		content := []event.Content{event.Text(text)}
		if why, failed := strings.CutPrefix(text, "failed: "); failed {
			content = []event.Content{event.Text("The tool reported an error:"), event.Text(why)}
		}
		req.Messages = append(req.Messages, event.LLMMessage{Role: "tool", ToolCallID: resp.Message.ToolCalls[i].ID, Content: content})
	}
	return req
}

func TestAllMembersAreAskedWithoutACallOfTheModel(t *testing.T) {
	t.Parallel()
	m := &model{}
	req, resp := asked(t, panelOf(t, m))
	if len(resp.Message.ToolCalls) != 2 || m.got.Messages != nil || resp.Usage != (event.TokenUsage{}) {
		t.Fatalf("answer = %+v, the model was asked %+v", resp, m.got)
	}
	var args map[string]string
	if err := json.Unmarshal([]byte(resp.Message.ToolCalls[1].Arguments), &args); err != nil || args["prompt"] != "what?" || args["subagent_type"] != "bob" {
		t.Errorf("bob is asked %v, %v", args, err)
	}
	// A request that is not a step of the agent is the model's.
	req.Answers = ""
	if _, err := panelOf(t, m).Generate(t.Context(), req, nil); err != nil || len(m.got.Tools) != 1 {
		t.Errorf("the model was asked %+v, %v", m.got, err)
	}
}

// TestMembersAreAskedOnce has a history that was shortened before the answers were joined.
func TestMembersAreAskedOnce(t *testing.T) {
	t.Parallel()
	m := &model{text: "made up"}
	panel := panelOf(t, m)
	req, _ := asked(t, panel)
	_, err := panel.Generate(t.Context(), req, nil)
	if err == nil || !strings.Contains(err.Error(), "do not fit into the context") || m.got.Messages != nil {
		t.Errorf("error = %v, the model was asked %+v", err, m.got)
	}
	req.Answers = "another message"
	if resp, err := panel.Generate(t.Context(), req, nil); err != nil || len(resp.Message.ToolCalls) != 2 {
		t.Errorf("the next message is answered with %+v, %v", resp, err)
	}
}

// TestOnlyMembersThatTheTextDoesNotNameAreAdded has bob fail.
func TestOnlyMembersThatTheTextDoesNotNameAreAdded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Yes.":                     "Yes.\n\nWithout an answer: bob (no key).",
		"The bobbin is blue.":      "The bobbin is blue.\n\nWithout an answer: bob (no key).",
		"Yes; Bob has not done it": "Yes; Bob has not done it",
		"bobbin of bob":            "bobbin of bob",
	} {
		m := &model{text: text}
		panel := panelOf(t, m)
		req, resp := asked(t, panel)
		var streamed strings.Builder
		resp, err := panel.Generate(t.Context(), answered(req, resp, "it is", "failed: no key."), func(d llm.Delta) { streamed.WriteString(d.Text) })
		if err != nil || event.PlainText(resp.Message.Content) != want || streamed.String() != want {
			t.Errorf("answer = %q, streamed %q, %v, want %q", event.PlainText(resp.Message.Content), streamed.String(), err, want)
		}
		if len(m.got.Tools) != 0 || len(m.got.Messages) != 2 {
			t.Errorf("the model was asked %+v", m.got)
		}
	}
}

func TestATeamWithoutAnAnswerFails(t *testing.T) {
	t.Parallel()
	m := &model{text: "made up"}
	panel := panelOf(t, m)
	req, resp := asked(t, panel)
	_, err := panel.Generate(t.Context(), answered(req, resp, "failed: no\n\x1b key", "failed: "+strings.Repeat("long ", 100)), nil)
	if err == nil || !strings.Contains(err.Error(), "ann (no key), bob (long long") || len(err.Error()) > 400 || m.got.Messages != nil {
		t.Errorf("error = %v, the model was asked %+v", err, m.got)
	}
	m.err = errors.New("broken")
	if _, err := panel.Generate(t.Context(), answered(req, resp, "yes", "no"), nil); !errors.Is(err, m.err) {
		t.Errorf("error = %v, want that of the model", err)
	}
}

// TestATeamIsReadFromMetaAsItWasWritten has also members that are not a team.
func TestATeamIsReadFromMetaAsItWasWritten(t *testing.T) {
	t.Parallel()
	crew := &team.Team{All: true, Members: []team.Member{{Name: "a <b>", Profile: "agent_a", Description: "x", Tools: []string{"terminal"}}}}
	data, err := crew.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := team.Of(map[string]json.RawMessage{team.MetaMember: data})
	if got == nil || !got.All || got.Members[0].Name != "a <b>" || got.Members[0].Tools[0] != "terminal" {
		t.Errorf("team = %+v of %s", got, data)
	}
	for _, other := range []string{``, `null`, `1`, `{}`, `{"members":[]}`, `{"members":1}`} {
		if got := team.Of(map[string]json.RawMessage{team.MetaMember: json.RawMessage(other)}); got != nil {
			t.Errorf("%s is the team %+v", other, got)
		}
	}
}
