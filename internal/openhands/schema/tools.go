package schema

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// The members that choose tools. Before OpenHands 1.51 two switches chose two of them.
const (
	toolsMember = "tools"
	subAgents   = shape.SubAgentsSwitch
	switchLLM   = shape.ModelSwitch
)

const browserTools = "browser_tool_set"

// tool is an element of a list of tools.
type tool struct {
	name string
	raw  []byte
	bare bool // it has no parameters
}

func named(name string) tool {
	return tool{name, []byte(`{"name": "` + name + `", "params": {}}`), true}
}

func (t tool) switches() bool { return shape.IsModelTool(t.name) }

// standard are the tools that OpenHands pins where the switches differ from what null
// stands for.
func standard(withTasks, withSwitch bool) []tool {
	tools := []tool{named("terminal"), named("file_editor"), named("task_tracker"), named(browserTools)}
	if withTasks {
		tools = append(tools, named(shape.SubAgentsTool))
	}
	if withSwitch {
		tools = append(tools, named(shape.ModelTool))
	}
	return tools
}

// foldSwitches makes one list of the list and the switches.
func foldSwitches(e *editor) {
	tasks, withSwitch := e.flag(subAgents, false), e.flag(switchLLM, true)
	e.delete(subAgents)
	e.delete(switchLLM)
	if e.isACP() || e.err != nil {
		return
	}
	list := e.get(toolsMember)
	switch {
	case !list.Exists(), list.Kind() == jsonedit.Null, isEmptyList(list):
		if isEmptyList(list) && !tasks && withSwitch {
			e.set([]byte("null"), toolsMember)
		}
		if tasks || !withSwitch {
			e.setTools(standard(tasks, withSwitch))
		}
	case list.Kind() == jsonedit.Array:
		tools := e.tools()
		has := slices.ContainsFunc(tools, tool.switches)
		if withSwitch && !has {
			e.setTools(append(tools, named(shape.ModelTool)))
		} else if !withSwitch && has {
			e.setTools(slices.DeleteFunc(tools, tool.switches))
		}
	}
}

// unfoldSwitches says with the switches what they can say.
func unfoldSwitches(e *editor) {
	list := e.get(toolsMember)
	if e.isACP() || list.Kind() != jsonedit.Array {
		return
	}
	tools := e.tools()
	for _, tasks := range []bool{false, true} {
		for _, withSwitch := range []bool{false, true} {
			if (tasks || !withSwitch) && sameTools(tools, standard(tasks, withSwitch)) {
				e.set([]byte("null"), toolsMember)
				e.setSwitches(tasks, withSwitch)
				return
			}
		}
	}
	has := slices.ContainsFunc(tools, tool.switches)
	kept := slices.DeleteFunc(slices.Clone(tools), tool.switches)
	if len(kept) != len(tools) {
		e.setTools(kept)
	}
	e.loseEmpty(kept)
	e.setSwitches(false, has)
}

// loseEmpty names a list that has nothing left.
func (e *editor) loseEmpty(kept []tool) {
	if len(kept) == 0 {
		e.lose("OpenHands takes an empty list for the standard tools when it migrates the file again", toolsMember)
	}
}

// setSwitches writes the switches that differ from what their absence means.
func (e *editor) setSwitches(tasks, withSwitch bool) {
	if tasks {
		e.set([]byte("true"), subAgents)
	}
	if !withSwitch {
		e.set([]byte("false"), switchLLM)
		e.unlisted = true
	}
}

func sameTools(a, b []tool) bool {
	return slices.EqualFunc(a, b, func(x, y tool) bool { return x.name == y.name && x.bare && y.bare })
}

// tools are the elements of the list.
func (e *editor) tools() []tool {
	var tools []tool
	for v := range e.get(toolsMember).Elements() {
		name, ok := v.Get("name").Text()
		params := v.Get("params")
		if !ok || strings.TrimSpace(name) == "" {
			e.fail("has an element without a name", toolsMember)
		}
		tools = append(tools, tool{name, v.Raw(), params.Kind() != jsonedit.Object || isEmptyObject(params)})
	}
	return tools
}

func isEmptyObject(v jsonedit.Value) bool {
	for range v.Members() {
		return false
	}
	return true
}

func (e *editor) setTools(tools []tool) {
	raw := make([][]byte, len(tools))
	for i, t := range tools {
		raw[i] = t.raw
	}
	e.set(slices.Concat([]byte("["), bytes.Join(raw, []byte(", ")), []byte("]")), toolsMember)
}

// flag reads the value of a switch, in all spellings that OpenHands takes for one.
func (e *editor) flag(name string, missing bool) bool {
	v := e.get(name)
	text, isText := v.Text()
	if !isText {
		text = string(v.Raw())
	}
	switch strings.ToLower(text) {
	case "":
		if !v.Exists() {
			return missing
		}
	case "true", "1", "1.0", "yes", "on", "y", "t":
		return true
	case "false", "0", "0.0", "no", "off", "n", "f":
		return false
	}
	e.fail("is neither true nor false", name)
	return missing
}
