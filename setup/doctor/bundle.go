package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/redact"
)

// minSecret is the shortest value that is looked for in a report. A shorter
// one would be found everywhere, and is not a key.
const minSecret = 6

// Hidden is what must not be in a report.
type Hidden struct {
	// Secrets are values. Whatever holds one loses it.
	Secrets []string
	// Names are texts of this machine and their stand-ins: the home directory,
	// the user, the host.
	Names map[string]string
}

// Bundle writes a report as text that can be shown to everybody: v as JSON, without
// secrets, and without what looks like one.
func Bundle(v any, h Hidden) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	// Whole strings are looked at, not the JSON: a key may need escapes there.
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("read report again: %w", err)
	}
	replacements := h.replacer()
	tree = walk(tree, func(s string) string { return redact.Text(replacements.Replace(s)) })
	if text, err = plainjson.Indent(tree, "", "  "); err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return append(text, '\n'), nil
}

// replacer replaces the longest first: a key may have another one in it, and
// the home directory has the user's name.
func (h Hidden) replacer() *strings.Replacer {
	with := map[string]string{}
	for text, name := range h.Names {
		if len(text) > 2 { // "/" and "me" are everywhere
			with[text] = name
		}
	}
	for _, s := range h.Secrets {
		if len(s) >= minSecret {
			with[s] = redact.Mark
		}
	}
	texts := make([]string, 0, len(with))
	for text := range with {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		pairs = append(pairs, text, with[text])
	}
	return strings.NewReplacer(pairs...)
}

// walk changes every string in a tree of JSON, names of members too.
func walk(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = walk(v[i], change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[change(name)] = walk(value, change)
		}
		return out
	}
	return v
}
