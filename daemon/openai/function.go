package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A request can force the call of a function of the client: many libraries ask for
// a structured answer in this way. The document is then the arguments of that call.

const (
	// maxFunctionName is how many characters the name of a function may have.
	maxFunctionName = 128
	callPrefix      = "call_"
	// idDigits is how many hexadecimal digits the id of an answer or a conversation
	// has, and answerDigits how many of an answer's are in the id of a call beside
	// those of its conversation.
	idDigits     = 32
	answerDigits = 8
	// outputTool is the function by which Pydantic AI requires a structured answer
	// without naming it.
	outputTool = "final_result"
	// noArguments is the schema of a function without parameters.
	noArguments = `{"type":"object","properties":{}}`
)

// choice reads the field tool_choice.
type choice struct {
	tools []byte // an array; nil: the request has no tools
	flat  bool   // the objects are those of a Responses request
}

// forced reads the format of the arguments of the function that v forces, and the tool
// with that function. Both are nil where the choice is left to the model.
func (c choice) forced(v []byte, name string) (*Format, []byte, error) {
	switch kindOf(v) {
	case "string":
		switch s := decodeString(v); s {
		case "none", "auto":
			return nil, nil, nil
		case "required":
			return c.only(c.tools, "tools", name)
		default:
			return nil, nil, invalidValue(name, "%s is not a valid choice; send none, auto or required.", brief(s))
		}
	case "object":
		return c.named(v, name)
	default:
		return nil, nil, invalidType(name, "string or object", v)
	}
}

// named reads a choice that is an object.
func (c choice) named(v []byte, name string) (*Format, []byte, error) {
	switch string(field(v, "type")) {
	case `"function"`:
		return c.function(c.name(v), FinishStop, name)
	case `"allowed_tools"`:
		allowed := c.inner(v, "allowed_tools")
		if allowed == nil {
			break
		}
		switch string(field(allowed, "mode")) {
		case `"auto"`:
			return nil, nil, nil
		case `"required"`:
			return c.only(field(allowed, "tools"), "its list", name)
		}
	}
	return nil, nil, cannotForce(name, "")
}

// only chooses the one function of a list of tools, if it is for the client's own
// answer. A client that requires some call of a function wants it run, with arguments
// that the work needs; what an agent answers are not those.
func (c choice) only(list []byte, where, name string) (*Format, []byte, error) {
	var names []string
	if list != nil && kindOf(list) == "array" {
		_ = elements(list, func(_ int, tool []byte) error {
			if n := c.name(tool); n != "" {
				names = append(names, n)
			}
			return nil
		})
	}
	switch len(names) {
	case 0:
		return nil, nil, cannotForce(name, where+" has no function")
	case 1:
		if names[0] != outputTool {
			return nil, nil, cannotForce(name, "which function is not said")
		}
		return c.function(names[0], FinishToolCalls, name)
	}
	return nil, nil, cannotForce(name, where+" has several functions")
}

// function finds the function with this name among the tools.
func (c choice) function(want, finish, name string) (f *Format, tool []byte, err error) {
	if want != "" && c.tools != nil {
		err = elements(c.tools, func(i int, v []byte) error {
			if c.name(v) != want {
				return nil
			}
			tool = v
			var err error
			f, err = c.arguments(v, fmt.Sprintf("tools[%d]", i))
			return err
		})
	}
	if err != nil {
		return nil, nil, err
	}
	if f == nil {
		return nil, nil, cannotForce(name, "tools has no function of this name")
	}
	f.Function, f.Finish = want, finish
	return f, tool, nil
}

// arguments reads the format of the arguments of a function.
func (c choice) arguments(tool []byte, path string) (*Format, error) {
	spec := c.inner(tool, "function")
	if !c.flat {
		path += ".function"
	}
	if err := nameOf(field(spec, "name"), path+".name", maxFunctionName); err != nil {
		return nil, err
	}
	if d := field(spec, "description"); d != nil && kindOf(d) != "string" {
		return nil, invalidType(path+".description", "string", d)
	}
	if _, err := boolean(field(spec, "strict"), path+".strict"); err != nil {
		return nil, err
	}
	path += ".parameters"
	schema := field(spec, "parameters")
	if schema == nil {
		return &Format{Schema: json.RawMessage(noArguments), Param: path}, nil
	}
	if kindOf(schema) != "object" {
		return nil, invalidType(path, "object", schema)
	}
	switch kind := field(schema, "type"); {
	case kind == nil:
		schema = ofObjects(schema)
	case string(kind) != `"object"`:
		return nil, invalidValue(path+".type", "the arguments of a function are an object; send \"object\".")
	}
	return &Format{Schema: bytes.Clone(schema), Param: path}, nil
}

// ofObjects is a schema without a type, for objects only.
func ofObjects(schema []byte) []byte {
	typed := []byte(`{"type":"object"`)
	_ = members(schema, func(key string, v []byte) error {
		if key != "type" {
			typed = append(appendString(append(typed, ','), key), ':')
			typed = append(typed, v...)
		}
		return nil
	})
	return append(typed, '}')
}

// name is the name of a tool that is a function, or of a choice of one; empty: it
// is another tool.
func (c choice) name(v []byte) string {
	if kindOf(v) != "object" || string(field(v, "type")) != `"function"` {
		return ""
	}
	spec := c.inner(v, "function")
	if spec == nil {
		return ""
	}
	if name := field(spec, "name"); name != nil && kindOf(name) == "string" {
		return decodeString(name)
	}
	return ""
}

// inner is the object with the members of v: v itself where it is flat.
func (c choice) inner(v []byte, key string) []byte {
	if c.flat {
		return v
	}
	if v = field(v, key); v == nil || kindOf(v) != "object" {
		return nil
	}
	return v
}

// cannotForce says what is possible.
func cannotForce(name, why string) error {
	if why != "" {
		why = " (" + why + ")"
	}
	return unsupportedValue(name, "must be none, auto, or force one function of tools"+why+
		". The agent calls its own tools; its answer can be the arguments of one function.")
}

// oneForm refuses a second format: an answer has one. Some libraries send the same
// schema in both places, and read the call.
func oneForm(format, forced *Format, name string) (*Format, error) {
	switch {
	case forced == nil:
		return format, nil
	case format == nil, format.Schema != nil && same(format.Schema, forced.Schema):
		return forced, nil
	}
	return nil, unsupportedValue(name, "must be text, or have the schema of the function, where tool_choice forces one; the answer is its arguments.")
}

// same reports whether two values are equal, whatever their form.
func same(a, b []byte) bool {
	var c canonical
	first, _ := c.sum(a, 0)
	second, _ := c.sum(b, 0)
	return first == second
}

// CallID is the id of the call in an answer with this id. Where the conversation of
// the answer cannot be found by the answer's id, the call names it, too: a UUID.
func CallID(answer, conversation string) string {
	digits := answer[strings.LastIndexAny(answer, "-_")+1:]
	if conversation == "" {
		return callPrefix + digits
	}
	// Some providers take ids of 64 characters at most.
	return callPrefix + strings.ReplaceAll(conversation, "-", "") + "_" + digits[:min(len(digits), answerDigits)]
}

// ownCall reads the id of a call that ohgw has made: the digits of its answer's id, or
// the conversation that it names.
func ownCall(id []byte) (answer, conversation string, ok bool) {
	if id == nil || kindOf(id) != "string" || len(id) > maxID {
		return "", "", false
	}
	rest, ours := strings.CutPrefix(decodeString(id), callPrefix)
	first, second, both := strings.Cut(rest, "_")
	if !ours || !isHex(first, idDigits) || both && !isHex(second, answerDigits) {
		return "", "", false
	}
	if !both {
		return first, "", true
	}
	return "", strings.Join([]string{first[:8], first[8:12], first[12:16], first[16:20], first[20:]}, "-"), true
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// saidInCall is the document of a call that ohgw has made, for the history of a
// chat; empty: the call is another one.
func saidInCall(id, arguments []byte) string {
	if _, _, ours := ownCall(id); !ours || arguments == nil || kindOf(arguments) != "string" {
		return ""
	}
	var doc bytes.Buffer // as it was sent: some libraries write it with spaces
	if json.Compact(&doc, []byte(decodeString(arguments))) != nil {
		return ""
	}
	return doc.String()
}

// saidInCalls finds the document in the calls of an assistant's message, as a JSON
// string; nil: there is none.
func saidInCalls(message []byte) []byte {
	calls := field(message, "tool_calls")
	if calls == nil || kindOf(calls) != "array" {
		return nil
	}
	said := ""
	_ = elements(calls, func(_ int, call []byte) error {
		if kindOf(call) != "object" {
			return nil
		}
		if f := field(call, "function"); f != nil && kindOf(f) == "object" && said == "" {
			said = saidInCall(field(call, "id"), field(f, "arguments"))
		}
		return nil
	})
	if said == "" {
		return nil
	}
	return appendString(nil, said)
}
