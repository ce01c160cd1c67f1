package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// briefs are the descriptions of tools for a model with a small context. They say what
// the names of the parameters do not.
var briefs = map[string]string{
	"terminal": "Runs a command in a bash that stays open: its directory, variables and background jobs are there in the next call. " +
		"Exit code -1: the program still runs. Then call with an empty command to wait, or with is_input and C-c to stop it. " +
		"Start servers in the background, with their output in a file.",
	"file_editor": "Shows and edits files, by absolute paths. view: a file, or the lines of view_range, or a directory. create: a new file with file_text. " +
		"str_replace: new_str in the place of old_str, which is in the file exactly once. insert: new_str after insert_line. undo_edit.",
	"task_tracker": "The list of steps of a long task: view it, or plan with the whole new task_list.",
	"finish":       "Ends your work. message is your answer to the user.",
}

// A model with a small context gets on without these: they change nothing.
var spared = map[string]bool{"think": true, "switch_llm": true, "route_task_to_model": true}

// The most that is left of a description of another tool, in bytes.
const (
	maxBriefTool  = 240
	maxBriefParam = 80
)

// Short is a tool as a model with a small context is told.
type Short struct {
	Description string
	Parameters  json.RawMessage
}

// Brief reduces the offer of the tool to the least that is needed to use it: the schema
// of its own parameters, without the two that are for people. It is false for a tool
// that a model with a small context is not offered.
func (d Definition) Brief(offer json.RawMessage) (short Short, ok bool, err error) {
	ours := d.MCP == nil && !d.Client
	if ours && spared[d.Name] {
		return short, false, nil
	}
	schema, err := object.Parse(offer)
	if err != nil {
		return short, false, fmt.Errorf("read schema of %s: %w", d.Name, err)
	}
	props, err := object.Parse(schema.Get("properties"))
	if err != nil {
		return short, false, fmt.Errorf("read schema of %s: %w", d.Name, err)
	}
	props = props.Without(ParamRisk)
	if !d.hasSummary() {
		props = props.Without(ParamSummary)
	}
	text, known := briefs[d.Name]
	limit := 0
	if known = known && ours; !known {
		text, limit = firstSentences(d.Description, maxBriefTool), maxBriefParam
	}
	return Short{text, schema.Without("description").With("properties", briefProps(props, limit).JSON()).JSON()}, true, nil
}

// hasSummary reports whether a parameter of the tool itself has the name.
func (d Definition) hasSummary() bool {
	own, err := object.Parse(d.Parameters)
	if err != nil {
		return false
	}
	props, err := object.Parse(own.Get("properties"))
	return err == nil && props.Has(ParamSummary)
}

// briefProps cuts the descriptions of parameters, at every depth.
func briefProps(props object.Object, limit int) object.Object {
	var out object.Object
	for _, m := range props {
		if o, err := object.Parse(m.Value); err == nil {
			m.Value = briefNode(o, limit).JSON()
		}
		out = append(out, m)
	}
	return out
}

func briefNode(node object.Object, limit int) object.Object {
	var out object.Object
	for _, m := range node {
		switch m.Name {
		case "description":
			var text string
			if json.Unmarshal(m.Value, &text) != nil {
				continue
			}
			if text = firstSentences(text, limit); text == "" {
				continue
			}
			m.Value = mustJSON(text)
		case "properties":
			if o, err := object.Parse(m.Value); err == nil {
				m.Value = briefProps(o, limit).JSON()
			}
		case "items":
			if o, err := object.Parse(m.Value); err == nil {
				m.Value = briefNode(o, limit).JSON()
			}
		}
		out = append(out, m)
	}
	return out
}

// firstSentences cuts a text to what fits, in whole sentences where the first one fits.
// Line breaks are blanks.
func firstSentences(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	if limit == 0 {
		return ""
	}
	cut := text[:limit]
	if end := strings.LastIndex(cut, ". "); end > 0 {
		return cut[:end+1]
	}
	if end := strings.LastIndexByte(cut, ' '); end > 0 {
		cut = cut[:end]
	}
	return strings.ToValidUTF8(cut, "") + " …"
}
