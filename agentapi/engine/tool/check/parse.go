package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// parse reads the arguments, without those that are null. JSON that is not an object counts
// as an empty one. So does an empty text, with which some models call a tool without
// parameters.
func parse(raw string) (object.Object, error) {
	if strings.TrimSpace(raw) == "" {
		return object.Object{}, nil
	}
	args, err := object.Parse([]byte(raw))
	if err != nil && !errors.Is(err, object.ErrNotObject) {
		args, err = object.Parse([]byte(escapeControls(raw)))
	}
	switch {
	case errors.Is(err, object.ErrNotObject):
		return object.Object{}, nil
	case err != nil:
		return nil, describeSyntax(raw)
	}
	return slices.DeleteFunc(args, func(m object.Member) bool { return string(m.Value) == "null" }), nil
}

// describeSyntax says where the text stops being JSON, without any of it.
func describeSyntax(raw string) error {
	var v any
	raw = escapeControls(raw)
	err := json.Unmarshal([]byte(raw), &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		if syntax.Offset >= int64(len(raw)) {
			return fmt.Errorf("its arguments are cut off: the JSON ends after %d bytes in the middle", len(raw))
		}
		return fmt.Errorf("its arguments are not valid JSON from byte %d of %d on", syntax.Offset, len(raw))
	}
	return errors.New("its arguments are not valid JSON")
}

// escapeControls escapes the raw control characters inside the strings of a
// JSON text. Between its tokens they are white space and stay.
func escapeControls(raw string) string {
	var b strings.Builder
	inString, escaped := false, false
	for i := range len(raw) {
		c := raw[i]
		switch {
		case inString && c < 0x20:
			b.WriteString(escape(c))
			escaped = false
			continue
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		}
		b.WriteByte(c)
	}
	return b.String()
}

func escape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// renameRisk corrects the misspellings of security_risk that models were seen
// to make.
func renameRisk(args object.Object) object.Object {
	for _, typo := range [...]string{"security_rort", "securtiy_risk", "security_riks"} {
		if v := args.Get(typo); v != nil {
			return args.Without(typo).With(tool.ParamRisk, v)
		}
	}
	return args
}

// takeRisk takes the risk out of the arguments. The model is not asked for the risk of a
// read-only tool, and without an analyzer it is never asked.
func takeRisk(args object.Object, def tool.Definition, opts Options) (risk string, rest object.Object, problem string) {
	raw := args.Get(tool.ParamRisk)
	rest = args.Without(tool.ParamRisk)
	if def.ReadOnly() || !opts.Analyzer || raw == nil {
		return tool.Risks[0], rest, ""
	}
	if err := json.Unmarshal(raw, &risk); err != nil || !slices.Contains(tool.Risks[:], risk) {
		return "", rest, tool.ParamRisk + " must be one of " + strings.Join(tool.Risks[:], ", ")
	}
	return risk, rest, ""
}

// takeSummary takes the summary out of the arguments, unless it is a parameter
// of the tool itself.
func takeSummary(args object.Object, def tool.Definition, schema object.Object) (string, object.Object) {
	raw := args.Get(tool.ParamSummary)
	if props, err := object.Parse(schema.Get("properties")); err != nil || !props.Has(tool.ParamSummary) {
		args = args.Without(tool.ParamSummary)
	}
	var summary string
	if json.Unmarshal(raw, &summary) == nil && strings.TrimSpace(summary) != "" {
		return strings.TrimSpace(summary), args
	}
	return def.Name + ": " + string(args.JSON()), args
}
