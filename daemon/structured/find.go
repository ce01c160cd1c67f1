package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	// maxScan bounds how many bytes are looked at in search of a document.
	maxScan = 16 << 20
	// maxProblems is how many problems of a document an LLM is told.
	maxProblems = 20
	// maxLeaves bounds from how many they are chosen.
	maxLeaves = 1000
	// maxProblem bounds one of them, in bytes.
	maxProblem = 300
)

// Flaw is why a text is not a document of the schema.
type Flaw struct {
	// Problems are what to correct, each a sentence.
	Problems []string
}

// Error has the first problems.
func (f *Flaw) Error() string {
	const shown = 3
	text := strings.Join(f.Problems[:min(shown, len(f.Problems))], "; ")
	if more := len(f.Problems) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Find returns the one document in text that satisfies the schema, without white
// space. The document may be the whole text, in a code fence, or between other
// words. Where several different ones satisfy the schema, it is not known which
// is meant, and Find takes none. The error is a *[Flaw].
func (s *Schema) Find(text string) (string, error) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\uFEFF"))
	whole, err := s.check(text)
	if err == nil || json.Valid([]byte(text)) {
		return whole, err
	}
	flaw := &Flaw{Problems: []string{"there is no JSON document in it"}}
	for _, candidates := range [...][]string{fenced(text), bare(text)} {
		var found []string
		for _, candidate := range candidates {
			doc, err := s.check(candidate)
			if err != nil && json.Valid([]byte(candidate)) {
				flaw, _ = errors.AsType[*Flaw](err)
			}
			if err == nil && (len(found) == 0 || found[0] != doc) {
				found = append(found, doc)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", &Flaw{Problems: []string{"there is more than one JSON document in it that satisfies the schema"}}
		}
	}
	return "", flaw
}

// check is a text that is a document of the schema, without white space.
func (s *Schema) check(text string) (string, error) {
	value, err := decode([]byte(text))
	if err != nil {
		return "", &Flaw{Problems: []string{truncate.Bytes(err.Error(), maxProblem, "…")}}
	}
	if err := s.validate(value); err != nil {
		return "", err
	}
	var doc bytes.Buffer
	if err := json.Compact(&doc, []byte(text)); err != nil {
		return "", &Flaw{Problems: []string{truncate.Bytes(err.Error(), maxProblem, "…")}}
	}
	return doc.String(), nil
}

func (s *Schema) validate(value any) error {
	if s.compiled == nil {
		if _, ok := value.(map[string]any); !ok {
			return &Flaw{Problems: []string{"it is not a JSON object"}}
		}
		return nil
	}
	if tooMuch(s.compiled, value) {
		return &Flaw{Problems: []string{"it takes too long to compare it with the schema"}}
	}
	err := rescue.Do(func() error { return s.compiled.Validate(value) })
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return &Flaw{Problems: problems(invalid, maxProblems)}
	}
	return &Flaw{Problems: []string{"it cannot be compared with the schema"}}
}

// problems lists the leaves of a validation error, sorted: where, and what is wrong.
func problems(err *jsonschema.ValidationError, limit int) []string {
	printer := message.NewPrinter(language.English)
	var list []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(list) >= maxLeaves {
			return
		}
		if len(e.Causes) == 0 {
			list = append(list, truncate.Bytes("at "+pointer(e.InstanceLocation)+": "+e.ErrorKind.LocalizedString(printer), maxProblem, "…"))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(err)
	slices.Sort(list) // the validator reads the members of an object in any order
	return list[:min(len(list), limit)]
}

// pointer is a place in a document as a JSON pointer; "the top level" for all of it.
func pointer(path []string) string {
	if len(path) == 0 {
		return "the top level"
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + escape.Replace(name))
	}
	return b.String()
}

// fenced finds the texts in code fences. A line within a JSON document cannot begin
// with a fence, because its strings have no line ends.
func fenced(text string) []string {
	var found []string
	fence, begin, at := "", 0, 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		trimmed := strings.TrimSpace(line)
		marks := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case fence == "" && marks >= 3:
			fence, begin = trimmed[:marks], at
		case fence != "" && marks >= len(fence) && marks == len(trimmed):
			found = append(found, strings.TrimSpace(text[begin:start]))
			fence = ""
		}
	}
	if fence != "" { // the end was cut off, or left out
		found = append(found, strings.TrimSpace(text[begin:]))
	}
	return found
}

// bare finds the objects and arrays in a text that are in no other brackets: what is
// in a document that was cut off, or has a mistake, is not what was meant.
func bare(text string) []string {
	var found []string
	for i, budget := 0, maxScan; i < len(text) && budget > 0; {
		next := strings.IndexAny(text[i:], "{[")
		if next < 0 {
			break
		}
		i += next
		end := nested(text, i)
		switch {
		case end > 0:
			budget -= end - i
			if json.Valid([]byte(text[i:end])) {
				found = append(found, text[i:end])
			}
			i = end
		case begins(text[i:]):
			return found
		default: // a bracket in a sentence
			budget -= len(text) - i
			i++
		}
	}
	return found
}

// begins reports whether a text that begins with a bracket looks like the beginning
// of a JSON document.
func begins(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	if rest == "" {
		return true
	}
	if text[0] == '{' {
		return rest[0] == '"'
	}
	return strings.IndexByte(`"{[-0123456789tfn`, rest[0]) >= 0
}

// nested returns the index after the bracket that closes the one at i; -1: none does.
func nested(text string, i int) int {
	open, quoted := 0, false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			if open--; open == 0 {
				return i + 1
			}
		}
	}
	return -1
}
