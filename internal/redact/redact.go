// Package redact takes what looks like a key out of a text that ohgw did not
// write: the error of a provider, the command of an agent.
//
// It is the last net, not the first: our own code never puts a secret into a
// text. It knows shapes, not values, so it can miss one; where the value is
// known, compare with the value instead.
package redact

import (
	"regexp"
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// Mark replaces what was taken out.
const Mark = "[redacted]"

// shape is what keys look like. Most texts do not look like one, and lists have
// thousands of texts: may rules them out faster than the expression, by the
// text and its lower-case form.
type shape struct {
	re   func() *regexp.Regexp
	with string
	may  func(text, lower string) bool
}

// The shapes: keys with the prefix of a known issuer, bearer tokens, and
// assignments to a name that says it is a secret; not of a shell's $(command).
var shapes = []shape{
	{pattern.Of(`\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AIza|AKIA|gAAAAA|hf|gsk|tvly|ohgw)[-_]?[A-Za-z0-9][A-Za-z0-9_\-]{10,}[*A-Za-z0-9_\-=]*`), Mark, mayBeKey},
	{pattern.Of(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/\-]{8,}=*`), "$1 " + Mark, func(_, lower string) bool {
		return hasAny(lower, "bearer", "basic")
	}},
	{pattern.Of(`(?i)\b([A-Za-z0-9_\-]*(?:api[_\-]?key|secret|token|password|passwd))(["']?\s*[=:]\s*["']?)(?:[^\s"'&;,$]|\$[^\s"'&;,(])[^\s"'&;,]{5,}`), "$1$2" + Mark, func(text, lower string) bool {
		return strings.ContainsAny(text, "=:") && hasAny(lower, "key", "secret", "token", "passw")
	}},
	{pattern.Of(`(://[^/\s:@]+:)[^/\s@]+@`), "$1" + Mark + "@", func(text, _ string) bool {
		return strings.Contains(text, "://") && strings.Contains(text, "@")
	}},
}

// shortest is the length of the shortest text that has any of the shapes: the
// end of a URL with a name and a password of one letter.
const shortest = len("://u:p@")

// shortestKey is the least number of letters, digits, dashes and underscores
// in a row that the first shape takes for a key.
const shortestKey = 13

func mayBeKey(text, _ string) bool {
	run := 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', c == '-', c == '_':
			if run++; run == shortestKey {
				return hasAny(text, "sk", "pk", "rk", "gh", "github_pat", "glpat", "xox", "AIza", "AKIA", "gAAAAA", "hf", "tvly", "ohgw")
			}
		default:
			run = 0
		}
	}
	return false
}

func hasAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// Text is s without what looks like a key.
func Text(s string) string {
	if len(s) < shortest {
		return s
	}
	lower := strings.ToLower(s)
	for _, shape := range shapes {
		if shape.may(s, lower) {
			s = shape.re().ReplaceAllString(s, shape.with)
		}
	}
	return s
}
