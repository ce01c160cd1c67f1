package secret

import (
	"strings"

	"github.com/ohgw/ohgw/internal/pattern"
)

// knownKey is a key with the start of a known issuer, as a word of its own.
var knownKey = pattern.Of(`(?:^|[^A-Za-z0-9_\-])((?:sk|pk|rk|xai|pplx|glpat|tvly|ohgw|xox[abprs])[\-]|(?:sk|hf|gsk|r8|fw|gh[opsu]|github_pat)_|gAAAAA|AIza|AKIA)([A-Za-z0-9_\-]{11,})`)

// The random part of a key has a piece without dashes of one of these lengths:
// the first if there is a digit in it, the second otherwise.
const (
	randomPiece  = 12
	letterPieces = 24
)

// tokenStart begins the tokens of the gateway. It also begins the names of files
// and images of the project, which may end in a digest.
const tokenStart = "ohgw-"

// HasKey reports whether a text has a key of a known issuer in it. It does not
// guess: the text may be a question, a command, a path or an id, with digests and
// ids of any shape.
func HasKey(text string) bool {
	for _, found := range knownKey().FindAllStringSubmatch(text, -1) {
		if isRandom(found[2]) && (found[1] != tokenStart || strings.Trim(found[2], "0123456789abcdef-_") != "") {
			return true
		}
	}
	return false
}

// isRandom tells the random part of a key from words that are joined by dashes.
func isRandom(text string) bool {
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '-' || r == '_' }) {
		digit := strings.ContainsAny(piece, "0123456789")
		mixed := strings.ToLower(piece) != piece && strings.ToUpper(piece) != piece
		if len(piece) >= randomPiece && digit || len(piece) >= letterPieces && mixed {
			return true
		}
	}
	return false
}
