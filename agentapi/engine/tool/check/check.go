// Package check turns a tool call as a model wrote it into one that can be
// run, or into words for the model that say what is wrong with it.
//
// Models err in a few known ways: a misspelt parameter, a tool's old name, a
// list written as text. Those are repaired, in a fixed order; everything else
// is refused. What a refusal says names parameters and never their values: a
// value can be a secret, and the words are stored and shown.
//
// The functions are pure: they run nothing and know no conversation.
package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Passed is a call that can be run.
type Passed struct {
	Tool tool.Definition
	// Call is the call to store: the name of the tool that runs, and the
	// repaired arguments with risk and summary still among them.
	Call event.ToolCall
	// Args is for [tool.Call]; Action for the ActionEvent.
	Args, Action json.RawMessage
	Risk         string // one of [tool.Risks]
	Summary      string // never empty
}

// Refused is a call that cannot be run.
type Refused struct {
	// ToolName is the tool that was meant, as far as that is known.
	ToolName string
	// Call is the call to store. Arguments that are not JSON are replaced by a
	// mark, so that a replay of the conversation is valid.
	Call event.ToolCall
	// Message is for the model, without any value of its arguments.
	Message string
}

// Options are what the check must know of the agent.
type Options struct {
	// Analyzer says that something asks for the risk of a call. Without it the
	// model's own word on that is not even read.
	Analyzer bool
}

// Call checks a call against the tools there are. Exactly one of the results
// is not nil.
func Call(call event.ToolCall, tools []tool.Definition, opts Options) (*Passed, *Refused) {
	args, err := parse(call.Arguments)
	if err != nil {
		message := fmt.Sprintf("The call of the tool %s was not run: %s. Write the arguments as one JSON object.",
			shortName(call.Name), err)
		call.Arguments = malformed(message)
		return nil, &Refused{ToolName: call.Name, Call: call, Message: message}
	}
	name, args := normalise(call.Name, renameRisk(args), tools)
	i := slices.IndexFunc(tools, func(d tool.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil, &Refused{ToolName: name, Call: storable(call), Message: unknown(name, tools)}
	}
	def := tools[i]
	schema, err := object.Parse(def.Parameters)
	if err != nil {
		return nil, refuse(call, def, args, []string{"the tool's own schema cannot be read"})
	}
	args = repairTypes(args, schema)
	fixed := call
	fixed.Name, fixed.Arguments = name, rewritten(call.Arguments, args)

	risk, args, problem := takeRisk(args, def, opts)
	if problem != "" {
		return nil, refuse(call, def, args, []string{problem})
	}
	given := args
	summary, args := takeSummary(args, def, schema)
	if name == fileEditor && !args.Has("command") {
		return nil, refuse(call, def, given, []string{"command is required: none of the parameters given says which one is meant"})
	}
	if name == taskTracker && string(args.Get("command")) == `"plan"` && !args.Has("task_list") {
		return nil, refuse(call, def, given, []string{"plan needs task_list, the whole new list; nothing was changed"})
	}
	if name == taskTracker {
		args = statuses(args)
	}
	args, problems := validate(args, schema)
	if len(problems) > 0 {
		return nil, refuse(call, def, given, problems)
	}
	return &Passed{
		Tool: def, Call: fixed, Args: args.JSON(), Action: def.Action(args), Risk: risk, Summary: summary,
	}, nil
}

// rewritten is the text of a call's arguments: as the model wrote it where nothing but
// blanks between its tokens differs, so that providers find it in their caches.
func rewritten(raw string, args object.Object) string {
	text := args.JSON()
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(raw)) == nil && bytes.Equal(compact.Bytes(), text) {
		return raw
	}
	return string(text)
}

func refuse(call event.ToolCall, def tool.Definition, args object.Object, problems []string) *Refused {
	given := "no parameters were given"
	if names := args.Names(); len(names) > 0 {
		given = "the parameters given: " + nameList(names)
	}
	return &Refused{
		ToolName: def.Name,
		Call:     storable(call),
		Message: fmt.Sprintf("The call of the tool %s was not run: %s (%s).",
			def.Name, strings.Join(problems, "; "), given),
	}
}

func unknown(name string, tools []tool.Definition) string {
	names := make([]string, len(tools))
	for i, d := range tools {
		names[i] = d.Name
	}
	if len(names) == 0 {
		return fmt.Sprintf("There is no tool %s, and no other tool either.", shortName(name))
	}
	return fmt.Sprintf("There is no tool %s. The tools there are: %s.", shortName(name), strings.Join(names, ", "))
}

// storable is the call with arguments that a replay can parse. Some models
// write raw control characters into them, which only our own parser takes.
func storable(call event.ToolCall) event.ToolCall {
	if json.Valid([]byte(call.Arguments)) {
		return call
	}
	args, err := parse(call.Arguments)
	if err != nil {
		call.Arguments = malformed(err.Error())
		return call
	}
	call.Arguments = string(args.JSON())
	return call
}

// malformed is what is stored in place of arguments that are not JSON. The name
// of its first member is OpenHands' own.
func malformed(message string) string {
	return string(object.Object{
		{Name: "_openhands_malformed_tool_call", Value: json.RawMessage("true")},
		{Name: "error", Value: quote(message)},
	}.JSON())
}

// A model can write anything as a name, and a whole file as the name of a
// parameter: names are shown up to a length, and not too many of them.
const (
	maxNameLength = 64
	maxNames      = 20
)

func shortName(name string) string {
	if short := truncate.Head(name, maxNameLength); short != name {
		return fmt.Sprintf("%q...", short)
	}
	return fmt.Sprintf("%q", name)
}

func nameList(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxNames {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if identifier().FindString(name) == name && len(name) <= maxNameLength {
			b.WriteString(name)
			continue
		}
		b.WriteString(shortName(name))
	}
	return b.String()
}

func quote(s string) json.RawMessage {
	data, err := object.Marshal(s)
	if err != nil {
		panic(err) // cannot be: it is a string
	}
	return data
}
