package check

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Changed checks another input for a call that has passed: one that a hook wrote, who knows
// actions, and not the model. So the input may have the form of an action, with its kind and
// with members that are null. Its risk is not read from the input.
func Changed(call event.ToolCall, def tool.Definition, input json.RawMessage) (*Passed, error) {
	given, err := object.Parse(input)
	if err != nil {
		return nil, errors.New("it is not a JSON object")
	}
	if def.ActionKind == tool.KindMCPAction && given.Has("kind") {
		if given, err = object.Parse(given.Get("data")); err != nil {
			return nil, errors.New("its member data is not a JSON object")
		}
	}
	args := object.Object{}
	for _, m := range given.Without("kind") {
		if string(m.Value) != "null" {
			args = append(args, m)
		}
	}
	call.Arguments = string(args.JSON())
	passed, refused := Call(call, []tool.Definition{def}, Options{})
	if refused != nil {
		return nil, fmt.Errorf("the tool does not take it: %s", refused.Message)
	}
	return passed, nil
}
