// Package redact takes what looks like a key out of a text that somebody else
// wrote: the error of a provider, the command of an agent.
//
// It is the last net, not the first: our own code never puts a secret into a
// text. It knows shapes, not values, so it can miss one; where the value is
// known, compare with the value instead.
package redact

import "regexp"

// Mark replaces what was taken out.
const Mark = "[redacted]"

// The shapes: keys with the prefix of a known issuer, bearer tokens, and
// assignments to a name that says it is a secret.
var shapes = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AIza|AKIA|gAAAAA|hf|gsk|tvly|ohgw)[-_]?[A-Za-z0-9][A-Za-z0-9_\-]{10,}[*A-Za-z0-9_\-=]*`), Mark},
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/\-]{8,}=*`), "$1 " + Mark},
	{regexp.MustCompile(`(?i)\b([A-Za-z0-9_\-]*(?:api[_\-]?key|secret|token|password|passwd))(["']?\s*[=:]\s*["']?)[^\s"'&;,]{6,}`), "$1$2" + Mark},
	{regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`), "$1" + Mark + "@"},
}

// Text is s without what looks like a key.
func Text(s string) string {
	for _, shape := range shapes {
		s = shape.re.ReplaceAllString(s, shape.with)
	}
	return s
}
