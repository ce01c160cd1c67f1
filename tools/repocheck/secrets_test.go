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
	// Each shape has a text that all keys of the shape hold: searching for a text is
	// a hundred times faster than matching.
	shapes := map[string]string{
		"sk-ant-api":  `sk-ant-api\d\d-[\w-]{90,}`,          // Anthropic
		"sk-proj-":    `sk-proj-[\w-]{70,}`,                 // OpenAI
		"sk-svcacct-": `sk-svcacct-[\w-]{70,}`,              // OpenAI
		"T3BlbkFJ":    `\bsk-[A-Za-z0-9]{20}T3BlbkFJ`,       // OpenAI, before
		"sk-or-v1-":   `\bsk-or-v1-[0-9a-f]{64}\b`,          // OpenRouter
		"AIza":        `\bAIza[\w-]{35}\b`,                  // Google
		"AKIA":        `\bAKIA[0-9A-Z]{16}\b`,               // AWS
		"xox":         `\bxox[abprs]-\d{10,}-[\w-]{20,}`,    // Slack
		"PRIVATE KEY": `-----BEGIN (?:[A-Z]+ )?PRIVATE KEY`, // anybody
	}
	for _, kind := range "pousr" {
		shapes["gh"+string(kind)+"_"] = `\bgh` + string(kind) + `_[A-Za-z0-9]{36}\b` // GitHub
	}
	for _, name := range files(t) {
		if path.Base(name) == "go.sum" {
			continue
		}
		text := read(t, name)
		for part, shape := range shapes {
			if !strings.Contains(text, part) {
				continue
			}
			if found := regexp.MustCompile(shape).FindString(text); found != "" && !strings.Contains(found, "EXAMPLE") {
				t.Errorf("%s holds what looks like a real key: %.12s…", name, found)
			}
		}
	}
}
