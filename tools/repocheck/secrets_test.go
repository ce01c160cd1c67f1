package repocheck_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestNoKeysAreKeptHere looks for keys in the form and length in which their
// issuers give them out. Keys for tests are made up, and look it.
func TestNoKeysAreKeptHere(t *testing.T) {
	t.Parallel()
	shapes := regexp.MustCompile(strings.Join([]string{
		`sk-ant-api\d\d-[\w-]{90,}`,          // Anthropic
		`sk-(?:proj|svcacct)-[\w-]{70,}`,     // OpenAI
		`\bsk-[A-Za-z0-9]{20}T3BlbkFJ`,       // OpenAI, before
		`\bsk-or-v1-[0-9a-f]{64}\b`,          // OpenRouter
		`\bAIza[\w-]{35}\b`,                  // Google
		`\bAKIA[0-9A-Z]{16}\b`,               // AWS
		`\bgh[pousr]_[A-Za-z0-9]{36}\b`,      // GitHub
		`\bxox[abprs]-\d{10,}-[\w-]{20,}`,    // Slack
		`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY`, // anybody
	}, "|"))
	for _, name := range files(t) {
		if path.Base(name) == "go.sum" {
			continue
		}
		if found := shapes.FindString(read(t, name)); found != "" && !strings.Contains(found, "EXAMPLE") {
			t.Errorf("%s holds what looks like a real key: %.12s…", name, found)
		}
	}
}
