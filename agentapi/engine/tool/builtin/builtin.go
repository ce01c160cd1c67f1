// Package builtin is the tools that need nothing but the conversation itself:
// finish, think, switch_llm and route_task_to_model.
//
// They hold no state. What they cause (the end of a run, another model) is done
// by whom they were made with.
package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// simple is a tool without anything to hold.
type simple struct {
	def   tool.Definition
	locks func(args json.RawMessage) []string
	run   func(ctx context.Context, args json.RawMessage) (tool.Result, error)
}

func (s simple) Definition() tool.Definition { return s.def }
func (s simple) Close() error                { return nil }

func (s simple) Locks(args json.RawMessage) []string {
	if s.locks == nil {
		return []string{}
	}
	return s.locks(args)
}

func (s simple) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return s.run(ctx, call.Args)
}

// quiet are the annotations of a tool that changes nothing in the world.
func quiet(name string) *tool.Annotations {
	return &tool.Annotations{Title: name, ReadOnly: true, Idempotent: true}
}

func parse(name string, args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return &tool.ArgumentError{Msg: "the arguments of " + name + " cannot be read"}
	}
	return nil
}

// FinishName is the name of the tool that ends a run.
const FinishName = "finish"

// Finish makes the tool that ends a run: its message is the answer. The loop knows it by
// its name.
func Finish() tool.Tool {
	return simple{
		def: tool.Definition{
			Name: FinishName,
			Description: "Ends your work on the request and gives the person your answer. Call it when the request is fulfilled, " +
				"when you cannot get any further, or when you need to know something from the person. " +
				"The message is what they read: what you did and what came out, what is left to do, or your question.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"The answer, as the person will read it."}},` +
				`"required":["message"],"additionalProperties":false}`),
			ActionKind: "FinishAction", ObservationKind: "FinishObservation", Kind: "FinishTool",
			Annotations: quiet(FinishName),
		},
		run: func(_ context.Context, args json.RawMessage) (tool.Result, error) {
			var a struct{ Message string }
			if err := parse(FinishName, args, &a); err != nil {
				return tool.Result{}, err
			}
			return tool.NewResult("FinishObservation", []event.Content{event.Text(a.Message)}, false, nil)
		},
	}
}

// ThinkName is the name of the tool that does nothing.
const ThinkName = "think"

// Think makes the tool that does nothing: writing a thought down is its use.
func Think() tool.Tool {
	return simple{
		def: tool.Definition{
			Name: ThinkName,
			Description: "Writes down a thought and does nothing else. Use it to work out something difficult before you act: " +
				"compare ways to do it, look for the cause of a failure, weigh what a change would break. It gets you no new information.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The thought."}},` +
				`"required":["thought"],"additionalProperties":false}`),
			ActionKind: "ThinkAction", ObservationKind: "ThinkObservation", Kind: "ThinkTool",
			Annotations: quiet(ThinkName),
		},
		run: func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.NewResult("ThinkObservation", []event.Content{event.Text("Noted.")}, false, nil)
		},
	}
}

// Switcher changes the model of a conversation.
type Switcher interface {
	// Profiles are the names of the profiles there are.
	Profiles() ([]string, error)
	// SwitchLLM makes the next LLM call use that profile and gives the name of
	// its model. The error is shown to the model: no key may be in it.
	SwitchLLM(ctx context.Context, profile string) (model string, err error)
}

// SwitchLLM makes the tool that lets the model hand over to another one. The profiles in
// its description are those of this moment.
func SwitchLLM(s Switcher) tool.Tool {
	const name = "switch_llm"
	return simple{
		def: tool.Definition{
			Name:        name,
			Description: switchText(s),
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"profile_name":{"type":"string","description":"The name of the profile, as listed."},` +
				`"reason":{"type":"string","description":"Why that one is better for what comes next, in a few words."}},` +
				`"required":["profile_name","reason"],"additionalProperties":false}`),
			ActionKind: "SwitchLLMAction", ObservationKind: "SwitchLLMObservation", Kind: "SwitchLLMTool",
			Annotations: &tool.Annotations{Title: name},
		},
		locks: func(json.RawMessage) []string { return nil },
		run: func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
			return switchLLM(ctx, s, args)
		},
	}
}

func switchText(s Switcher) string {
	const text = "Hands this conversation over to another model: the next step is made by the model of the profile you name. " +
		"Use it when another one is clearly better for what comes next."
	names, err := s.Profiles()
	if err != nil || len(names) == 0 {
		return text + " No profiles are known at the moment."
	}
	slices.Sort(names)
	return text + "\n\nThe profiles:\n- " + strings.Join(names, "\n- ")
}

func switchLLM(ctx context.Context, s Switcher, args json.RawMessage) (tool.Result, error) {
	var a struct {
		Profile string `json:"profile_name"`
		Reason  string `json:"reason"`
	}
	if err := parse("switch_llm", args, &a); err != nil {
		return tool.Result{}, err
	}
	fields := struct {
		Profile string `json:"profile_name"`
		Reason  string `json:"reason"`
		Model   string `json:"active_model,omitempty"`
	}{Profile: a.Profile, Reason: a.Reason}
	refuse := func(why string) (tool.Result, error) {
		return tool.NewResult("SwitchLLMObservation", []event.Content{event.Text(why)}, true, fields)
	}
	model, why, err := handOver(ctx, s, a.Profile)
	switch {
	case err != nil:
		return tool.Result{}, err
	case why != "":
		return refuse(why)
	}
	fields.Model = model
	return tool.NewResult("SwitchLLMObservation",
		[]event.Content{event.Text(fmt.Sprintf("From the next step on the profile %q is used, with the model %s.", a.Profile, model))}, false, fields)
}

// handOver makes the next LLM call use a profile, and gives the name of its model; or it
// says why the model stays the same. The error is that of ctx.
func handOver(ctx context.Context, s Switcher, profile string) (model, why string, err error) {
	names, err := s.Profiles()
	if err != nil {
		return "", fmt.Sprintf("The profiles cannot be read: %v. %s", err, unchanged), nil
	}
	if !slices.Contains(names, profile) {
		slices.Sort(names)
		known := "There are none."
		if len(names) > 0 {
			known = "There are: " + strings.Join(names, ", ") + "."
		}
		return "", fmt.Sprintf("There is no profile %q. %s %s", truncate.Head(profile, 64), known, unchanged), nil
	}
	model, err = s.SwitchLLM(ctx, profile)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil:
		return "", fmt.Sprintf("The profile %q cannot be used: %v. %s", profile, err, unchanged), nil
	}
	return model, "", nil
}
