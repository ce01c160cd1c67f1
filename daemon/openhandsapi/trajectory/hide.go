package trajectory

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
)

// sealed begins each secret that was encrypted.
const sealed = "gAAAAA"

// secretNames are the members that have a secret wherever they are.
var secretNames = []string{"api_key", "llm_api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}

// hide masks the secrets in JSON, those that are encrypted as well, and reports whether
// there were any.
func hide(v any) (changed bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if isSecret(name, value) {
				v[name], changed = hidden.Redacted, true
			} else if hide(value) {
				changed = true
			}
		}
	case []any:
		for i, value := range v {
			if isSecret("", value) {
				v[i], changed = hidden.Redacted, true
			} else if hide(value) {
				changed = true
			}
		}
	}
	return changed
}

func isSecret(name string, value any) bool {
	text, ok := value.(string)
	if !ok || text == "" || text == hidden.Redacted {
		return false
	}
	return strings.HasPrefix(text, sealed) || slices.Contains(secretNames, name)
}
