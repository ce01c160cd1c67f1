//go:build e2e && linux

package providers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// wholeModels go through the whole engine too: two or more of each dialect.
func wholeModels() []string {
	return []string{
		"openai/gpt-4o", "openai/gpt-5.2", "anthropic/claude-opus-4-8", "anthropic/claude-sonnet-4-5-20250929", "gemini/gemini-2.5-pro",
		"gemini/gemini-3-pro-preview", "openrouter/anthropic/claude-sonnet-4.5", "xai/grok-4", "mistral/mistral-large-latest",
		"deepseek/deepseek-reasoner", "moonshot/kimi-k2-thinking", "minimax/MiniMax-M2", "sambanova/Meta-Llama-3.3-70B-Instruct",
		"openhands/claude-sonnet-4-5-20250929", "azure/gpt-5", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock/amazon.nova-pro-v1:0",
		"hosted_vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct", "ollama_chat/qwen3:8b",
	}
}

// TestTheEngineAsksAsItsLLMLayerDoes has the turn made by an agent of the
// engine: its history, which goes through events on the disk, must become the
// requests that the other tests of this package compare.
func TestTheEngineAsksAsItsLLMLayerDoes(t *testing.T) {
	r := newRecorder(t)
	look := llm.Tool{Name: "look", Description: "Looks at a file.", Parameters: json.RawMessage(lookParameters)}
	for _, name := range wholeModels() {
		i := slices.IndexFunc(cases(), func(c modelCase) bool { return c.name() == name })
		if i < 0 {
			t.Fatalf("%s is no case", name)
		}
		c := cases()[i]
		t.Run(name, func(t *testing.T) {
			runEngine(t, c)
			whole := r.take()
			if err := runOurs(t, c, look); err != nil {
				t.Fatal(err)
			}
			for _, d := range compare(whole, r.take()).differences {
				if !ofTheAgent.MatchString(d.place) {
					t.Errorf("%s: the engine sends %s, its LLM layer %s", d.place, d.ours, d.theirs)
				}
			}
		})
	}
}

// ofTheAgent are the places of what an agent is told about itself: its system
// prompt and its tools.
var ofTheAgent = regexp.MustCompile(`^\d:(messages\[0\]\.content(\[\d\]\.text|\[1\])?|system\[\d\](\.text)?|instructions|systemInstruction\.parts\[\d\](\.text)?|tools\b.*|toolConfig\.tools\b.*)$`)

const lookParameters = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

// lookTool answers as the results of the turn.
func lookTool() *enginetest.Func {
	results := map[string]step{}
	for _, s := range steps() {
		for _, result := range s.Results {
			results[[]string{"/a.txt", "/b.txt", "/c.png"}[len(results)]] = result
		}
	}
	return &enginetest.Func{
		Needs: []string{},
		Def: tool.Definition{
			Name: "look", Description: "Looks at a file.", Parameters: json.RawMessage(lookParameters),
			ActionKind: "LookAction", ObservationKind: "LookObservation", Kind: "LookTool",
			Annotations: &tool.Annotations{Title: "look", ReadOnly: true, Idempotent: true},
		},
		Do: func(_ context.Context, call tool.Call) (tool.Result, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(call.Args, &in); err != nil {
				return tool.Result{}, err
			}
			result, found := results[in.Path]
			if !found {
				return tool.Result{}, fmt.Errorf("nobody asks for %q", in.Path)
			}
			return tool.NewResult("LookObservation", result.message().Content, false, nil)
		},
	}
}

// runEngine makes the turn with an agent of the engine.
func runEngine(t *testing.T, c modelCase) {
	t.Helper()
	model, err := llm.New(c.ours(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "any"))
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) {
		made := c.ours(t)
		made.UsageID = usage
		return llm.New(made)
	}
	cfg.NewTools = func(context.Context, engine.ToolEnv) ([]tool.Tool, error) {
		return []tool.Tool{lookTool(), enginetest.Finish()}, nil
	}
	backend := engine.New(cfg)
	defer func() { _ = backend.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conv, err := backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Profile: "main", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps() {
		if s.Role != "user" {
			continue
		}
		var message agentapi.Message
		for _, c := range s.message().Content {
			if c.Type == event.TypeText {
				message.Text = c.Text
			}
			if model.Info().Vision { // else the engine refuses them before the model is asked
				message.Images = append(message.Images, c.ImageURLs...)
			}
		}
		res, err := turn.Run(ctx, conv, turn.Input{Message: message, Emit: func(turn.Update) {}})
		if err != nil || res.Outcome != turn.Finished || res.Answer != done {
			t.Fatalf("result %+v, %v, want the answer %q", res, err, done)
		}
	}
}
