package secretenv

import (
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/internal/pattern"
)

var (
	braced = pattern.Of(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^}]*))?\}`)
	anyRef = pattern.Of(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^}]*))?\}|\$([a-zA-Z_][a-zA-Z0-9_]*)`)
)

// Expand replaces ${NAME} and ${NAME:-default} in every text inside a decoded
// JSON value, and $NAME too if bare is set. find gives the value of a name, or
// an error that wraps [ErrUnknown]: then the default counts, and without one
// the reference stays as it is.
func Expand(value any, bare bool, find func(name string) (string, error)) (any, error) {
	switch v := value.(type) {
	case string:
		return expandText(v, bare, find)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			x, err := Expand(item, bare, find)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			x, err := Expand(item, bare, find)
			if err != nil {
				return nil, err
			}
			out[name] = x
		}
		return out, nil
	}
	return value, nil
}

func expandText(s string, bare bool, find func(string) (string, error)) (string, error) {
	re := braced()
	if bare {
		re = anyRef()
	}
	var failed error
	out := re.ReplaceAllStringFunc(s, func(ref string) string {
		groups := re.FindStringSubmatchIndex(ref)
		group := func(i int) (string, bool) {
			if 2*i+1 >= len(groups) || groups[2*i] < 0 {
				return "", false
			}
			return ref[groups[2*i]:groups[2*i+1]], true
		}
		name, ok := group(1)
		if !ok {
			name, _ = group(3)
		}
		value, err := find(name)
		switch {
		case err == nil:
			return value
		case !errors.Is(err, ErrUnknown):
			failed = errors.Join(failed, fmt.Errorf("expand %s: %w", name, err))
		}
		if fallback, ok := group(2); ok {
			return fallback
		}
		return ref
	})
	return out, failed
}
