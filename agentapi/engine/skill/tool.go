package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

// ToolConfig is what the tool that reads skills needs.
type ToolConfig struct {
	Skills    []Skill // those that are invocable count
	Workspace string
	Box       sandbox.Box // where commands in a skill run; nil: outside of every sandbox
	Env       []string    // of them
	// Invoked is told the name of each skill that was read.
	Invoked func(ctx context.Context, name string) error
}

// Tool is invoke_skill; nil if there is nothing to invoke.
func Tool(c ToolConfig) tool.Tool {
	c.Skills = slices.DeleteFunc(slices.Clone(c.Skills), func(s Skill) bool { return !s.Invocable })
	if len(c.Skills) == 0 {
		return nil
	}
	if c.Box == nil {
		c.Box = sandbox.Outside(sandbox.Off, sandbox.Mark{})
	}
	return &invoke{c}
}

type invoke struct{ cfg ToolConfig }

const description = "Reads one of the skills listed in <available_skills>: instructions for a kind of task, written by " +
	"the user or found in the repository. Call it before you begin a task that a skill is about, then do what it says " +
	"as far as it serves the user's request."

// Definition is what the model is told.
func (*invoke) Definition() tool.Definition {
	return tool.Definition{
		Name: "invoke_skill", Description: description,
		Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"The name of the skill, as listed."}},"required":["name"]}`),
		ActionKind: "InvokeSkillAction", ObservationKind: "InvokeSkillObservation", Kind: "InvokeSkillTool",
		// A skill may hold commands that are run when it is read.
		Annotations: &tool.Annotations{Title: "invoke_skill", Idempotent: true, OpenWorld: true},
	}
}

func nameOf(args json.RawMessage) string {
	var in struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(args, &in) // was checked
	return strings.TrimSpace(in.Name)
}

// Locks is the skill itself.
func (*invoke) Locks(args json.RawMessage) []string { return []string{"skill:" + nameOf(args)} }

// Close has nothing to free.
func (*invoke) Close() error { return nil }

// Run reads a skill.
func (t *invoke) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	name := nameOf(call.Args)
	i := slices.IndexFunc(t.cfg.Skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range t.cfg.Skills {
			names = append(names, s.Name)
		}
		return tool.Result{}, &tool.ArgumentError{Msg: fmt.Sprintf("There is no skill %q. The skills there are: %s.", truncate.Head(name, maxName), strings.Join(names, ", "))}
	}
	s := t.cfg.Skills[i]
	text := t.render(ctx, s)
	if s.Dir != "" {
		text += fmt.Sprintf("\n\nThe files of this skill are in %s; paths in it are relative to that directory.", s.Dir)
	}
	if err := t.cfg.Invoked(ctx, name); err != nil {
		return tool.Result{}, err
	}
	return tool.NewResult("InvokeSkillObservation", []event.Content{event.Text(text)}, false, struct {
		SkillName string `json:"skill_name"`
	}{name})
}
