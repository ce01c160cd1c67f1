package definition

import (
	"fmt"
	"slices"
	"strings"
)

// Known is what definitions can refer to. A nil list is not checked.
type Known struct {
	Tools, Profiles, Skills []string
}

// Check names what a definition refers to and is not there, and what of it has no
// effect.
func Check(d Definition, known Known) []Problem {
	c := checker{def: d}
	c.missing("tools", d.Tools, known.Tools, "there is no tool %q", "remove it, or use one of %s")
	c.missing("skills", d.Skills, known.Skills, "there is no skill %q", "remove it, or use one of %s")
	if d.Model != Inherit && d.Model != "" && d.ProfileDir == "" {
		c.missing("model", []string{strings.TrimSuffix(d.Model, ".json")}, known.Profiles,
			"there is no LLM profile %q", "write inherit, or use one of %s")
	}
	if d.Team != nil {
		checkTeam(&c)
	} else {
		for _, name := range d.Others {
			c.other(name, fields)
		}
	}
	if strings.TrimSpace(d.Description) == "" {
		noun := "agent"
		if d.Team != nil {
			noun = "team"
		}
		c.add("description", "there is no description, so nothing says when to use this "+noun, "add a line such as description: Reviews Go code")
	}
	return c.problems
}

type checker struct {
	def      Definition
	problems []Problem
}

func (c *checker) add(field, msg, hint string) {
	c.problems = append(c.problems, Problem{Path: c.def.Path, Line: c.def.Line(field), Agent: c.def.Name, Msg: msg, Hint: hint})
}

// other notes a field that has no meaning.
func (c *checker) other(name string, fields []string) {
	hint := "remove the field"
	if near := nearest(name, fields); near != "" {
		hint = "write " + near + ", or remove the field"
	}
	c.add(name, fmt.Sprintf("the field %s has no meaning and is ignored", name), hint)
}

func (c *checker) missing(field string, names, known []string, msg, hint string) {
	if known == nil {
		return
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		remedy, _, _ := strings.Cut(hint, ", or")
		if len(known) > 0 {
			remedy = fmt.Sprintf(hint, strings.Join(known, ", "))
		}
		c.add(field, fmt.Sprintf(msg, name), remedy)
	}
}

// fields are the fields that have a meaning.
var fields = []string{
	"name", "description", "model", "color", "tools", "skills", "max_iteration_per_run", "max_budget_per_run", "max_tokens_per_run",
	"hooks", "profile_store_dir", "mcp_config", "mcp_servers", "permission_mode", "condenser",
}

// nearest is the field that a name may stand for; "" if there is none.
func nearest(name string, fields []string) string {
	bare := func(s string) string {
		return strings.NewReplacer("_", "", "-", "", "per_run", "", "perrun", "").Replace(strings.ToLower(s))
	}
	for _, f := range fields {
		if a, b := bare(name), bare(f); a == b || a == b+"s" || a+"s" == b {
			return f
		}
	}
	return ""
}
