package definition

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/frontmatter"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Parse reads the definition in the file of a path.
func Parse(path string, data []byte) (Definition, []Problem) {
	r := newReader(path)
	r.parse(data)
	r.named()
	return r.def, r.problems
}

func newReader(path string) *reader {
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return &reader{def: Definition{Name: stem, Model: Inherit, Path: path, lines: make(map[string]int)}}
}

// parse reads the file.
func (r *reader) parse(data []byte) {
	if !utf8.Valid(data) {
		r.refuse(1, "the file is not UTF-8", "store the file as UTF-8")
		return
	}
	head, body, first, closed := frontmatter.Split(data)
	if !closed {
		r.note(1, "the front matter has no end, so the whole file is the prompt", "add a line --- below the front matter")
	}
	r.offset = first - 1
	r.def.Prompt = string(body)
	members, err := parseHead(head)
	if err != nil {
		e := err.(*headError) //nolint:errorlint // parseHead has no others
		r.refuse(e.line, e.msg, e.hint)
		return
	}
	r.fields(members)
	r.headed = true
}

// named gives the problems the name of the agent, if the file could be read.
func (r *reader) named() {
	for i := range r.problems {
		if r.problems[i].Agent == "" && r.headed {
			r.problems[i].Agent = r.def.Name
		}
	}
}

// reader turns the fields of a front matter into a definition.
type reader struct {
	def      Definition
	problems []Problem
	offset   int  // lines above the front matter
	headed   bool // the front matter could be read
}

// refused reports whether the file defines nothing.
func (r *reader) refused() bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Unused })
}

func (r *reader) note(line int, msg, hint string) {
	r.problems = append(r.problems, Problem{Path: r.def.Path, Line: max(1, line+r.offset), Msg: msg, Hint: hint})
}

func (r *reader) refuse(line int, msg, hint string) {
	r.note(line, msg, hint)
	r.problems[len(r.problems)-1].Unused = true
}

// read returns, for each field that has a meaning, the function that reads it.
func (r *reader) read() map[string]func(*node) {
	return map[string]func(*node){
		"name": r.name, "description": r.description,
		"model": func(n *node) { r.def.Model = text(n) }, "color": func(n *node) { r.def.Color = text(n) },
		"tools": func(n *node) { r.def.Tools = r.names(n, "tools", false) }, "skills": func(n *node) { r.def.Skills = r.names(n, "skills", true) },
		"max_iteration_per_run": r.iterations, "max_budget_per_run": r.budget, "max_tokens_per_run": r.tokens,
		"hooks": r.hooks, "profile_store_dir": r.profileDir, "permission_mode": r.permission, "condenser": r.condenser,
		"mcp_config": r.servers, "mcp_servers": r.servers,
	}
}

func (r *reader) fields(members []member) {
	known := r.read()
	if r.def.Team != nil {
		known = r.readTeam()
	}
	last := make(map[string]member, len(members))
	var order []string
	for _, m := range members {
		if before, twice := last[m.name]; twice {
			r.note(m.line, fmt.Sprintf("the field %s is there twice; line %d does not count", m.name, before.line+r.offset), "remove one of them")
		} else {
			order = append(order, m.name)
		}
		last[m.name] = m
		r.def.lines[m.name] = m.line + r.offset
	}
	if _, both := last["mcp_config"]; both && known["mcp_servers"] != nil {
		known["mcp_servers"] = func(n *node) { // as in OpenHands
			r.note(n.line, "mcp_config counts and mcp_servers does not", "put all servers into one of them")
		}
	}
	for _, name := range order {
		m := last[name]
		read := known[name]
		if read == nil {
			r.other(m)
			continue
		}
		if m.value.value != nil {
			m.value.line = m.line
			read(m.value)
		}
	}
}

// other keeps a field that has no meaning here; programs that list agents show it.
func (r *reader) other(m member) {
	r.def.Others = append(r.def.Others, m.name)
	value, err := encode(m.value)
	if err != nil { // a number that JSON does not have
		return
	}
	if r.def.Metadata == nil {
		r.def.Metadata = make(map[string]json.RawMessage)
	}
	r.def.Metadata[m.name] = value
}

func (r *reader) name(n *node) {
	if name := strings.TrimSpace(text(n)); name != "" {
		r.def.Name = text(n)
		return
	}
	r.note(n.line, "the name is empty, so the name of the file counts", "write a name, or remove the field")
}

func (r *reader) description(n *node) {
	r.def.Description = text(n)
	r.def.Examples = examples(r.def.Description)
}

// names reads a list of names; one text is one name, or several with commas.
func (r *reader) names(n *node, field string, commas bool) []string {
	var list []string
	switch v := n.value.(type) {
	case string:
		if !commas {
			if v != "" {
				list = append(list, v)
			}
			break
		}
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	case []*node:
		for _, item := range v {
			list = append(list, text(item))
		}
	default:
		r.note(n.line, field+" is not a list of names, so it does not count", fmt.Sprintf("write %s: [NAME, NAME]", field))
	}
	return list
}

func (r *reader) iterations(n *node) {
	const field = "max_iteration_per_run"
	if limit, ok := r.whole(n, field, field+": 50", math.MaxInt32); ok {
		r.def.MaxIterations = int(limit)
	}
}

func (r *reader) tokens(n *node) {
	const field = "max_tokens_per_run"
	if limit, ok := r.whole(n, field, field+": 200000", math.MaxInt64); ok {
		r.def.MaxTokens = limit
	}
}

// whole reads a whole number from 1 to a highest one; ok is false where it does not count.
func (r *reader) whole(n *node, field, example string, highest int64) (limit int64, ok bool) {
	hint := "write a whole number greater than 0, such as " + example
	switch v := n.value.(type) {
	case int64:
		limit = v
	case string:
		var err error
		if limit, err = strconv.ParseInt(strings.TrimSpace(v), 10, 64); err != nil {
			limit = 0
		}
	default:
		r.note(n.line, field+" is not a whole number, so it does not count", hint)
		return 0, false
	}
	if limit <= 0 || limit > highest {
		r.refuse(n.line, field+" cannot be "+text(n), hint)
		return 0, false
	}
	return limit, true
}

func (r *reader) budget(n *node) {
	const hint = "write US dollars greater than 0, such as max_budget_per_run: 0.50"
	limit, err := number(n)
	if err != nil {
		r.note(n.line, "max_budget_per_run is not a number, so it does not count", hint)
		return
	}
	if !(limit > 0) { // or not a number
		r.refuse(n.line, "max_budget_per_run cannot be "+text(n), hint)
		return
	}
	r.def.MaxBudget = limit
}

func number(n *node) (float64, error) {
	switch v := n.value.(type) {
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f, nil
		}
		return math.NaN(), nil
	}
	return 0, errNotNumber
}

func (r *reader) permission(n *node) {
	mode := strings.ToLower(strings.TrimSpace(text(n)))
	switch mode {
	case AlwaysConfirm, NeverConfirm, ConfirmRisky:
		r.def.Permission = mode
	default:
		r.refuse(n.line, fmt.Sprintf("permission_mode cannot be %q", text(n)),
			"write always_confirm, never_confirm or confirm_risky, or remove the field to leave it to the settings")
	}
}

func (r *reader) profileDir(n *node) {
	dir, ok := n.value.(string)
	if !ok {
		r.refuse(n.line, "profile_store_dir is not a path", "write a path, or remove the field")
		return
	}
	r.def.ProfileDir = dir
}

var example = pattern.Of(`(?is)<example>(.*?)</example>`)

// examples are those in a description.
func examples(description string) []string {
	var list []string
	for _, m := range example().FindAllStringSubmatch(description, -1) {
		if s := strings.TrimSpace(m[1]); s != "" {
			list = append(list, s)
		}
	}
	return list
}
