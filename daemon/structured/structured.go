// Package structured makes an answer one JSON document: it finds the document
// in what an agent said, validates it against a schema, and has an LLM put the
// answer into the form where that fails. It knows neither the wire of a client
// nor how an LLM is called.
//
// A document that it returns satisfies its schema, without exception.
package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ohgw/ohgw/internal/rescue"
)

// The limits of a schema. It is a part of the prompt.
const (
	// MaxSchema is its size in bytes, without white space.
	MaxSchema = 64 << 10
	// MaxDepth is how many objects and arrays may be in each other.
	MaxDepth = 40
)

// location is the address of a schema: names in it that are not addresses are
// relative to this one, whose domain cannot be registered.
const location = "https://schema.invalid/answer"

// Schema is what a document has to satisfy. It is safe for concurrent use.
type Schema struct {
	text     []byte             // compact
	compiled *jsonschema.Schema // nil: any JSON object
}

// Any is satisfied by every JSON object.
func Any() *Schema { return &Schema{} }

// Compile reads a JSON schema, which is a JSON object: of draft 2020-12, or of an
// earlier one that its $schema names. It may refer to itself only. The error is
// a sentence for whoever wrote the schema.
func Compile(schema []byte) (*Schema, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, schema); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if text.Len() > MaxSchema {
		return nil, fmt.Errorf("it has %d bytes, and %d are allowed", text.Len(), MaxSchema)
	}
	value, err := decode(text.Bytes())
	if err != nil {
		return nil, err
	}
	if depth(value) > MaxDepth {
		return nil, fmt.Errorf("objects and arrays are nested more than %d levels deep", MaxDepth)
	}
	if dynamic(value) {
		return nil, errors.New("$dynamicRef and $recursiveRef are not supported; use $ref")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.AssertFormat()
	s := &Schema{text: text.Bytes()}
	err = rescue.Do(func() error {
		if err := c.AddResource(location, value); err != nil {
			return err
		}
		s.compiled, err = c.Compile(location)
		return err
	})
	if err != nil {
		return nil, schemaError(err)
	}
	if tooMuch(s.compiled, nil) {
		return nil, errors.New("its references lead to the same parts in too many ways")
	}
	return s, nil
}

// nowhere loads no document: neither a file of this machine nor one of the web.
type nowhere struct{}

func (nowhere) Load(string) (any, error) {
	return nil, errors.New("a schema may refer only to its own parts, such as #/$defs/name")
}

// schemaError explains why a schema cannot be used, in words about the schema alone.
func schemaError(err error) error {
	if of, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = of.Err
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(strings.Join(problems(invalid, 3), "; "))
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Errorf("it refers to %q: %w", strings.TrimPrefix(load.URL, "https://schema.invalid/"), load.Err)
	}
	if broken := rescue.Of(err); broken != nil {
		return errors.New("it cannot be read")
	}
	return errors.New(strings.ReplaceAll(err.Error(), location, ""))
}

// decode reads a JSON value whose numbers every client can read.
func decode(data []byte) (any, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return value, numbers(value)
}

// numbers refuses numbers that do not fit into 64 bits: few clients can read
// them, and the arithmetic of schemas takes time and memory for each digit.
func numbers(value any) error {
	switch v := value.(type) {
	case json.Number:
		if _, err := v.Float64(); err != nil || len(v) > maxNumber || hugeExponent(v.String()) {
			return errors.New("it has a number that is too large or too long")
		}
	case []any:
		for _, e := range v {
			if err := numbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := numbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxNumber is how many characters a number may have.
const maxNumber = 400

// hugeExponent reports whether the exponent of a number has more than three
// digits.
func hugeExponent(number string) bool {
	i := strings.IndexAny(number, "eE")
	return i >= 0 && len(strings.TrimLeft(number[i+1:], "+-0")) > 3
}

func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
