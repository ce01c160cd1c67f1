package team

import (
	_ "embed" // the words for what joins the answers
	"strings"
)

//go:embed join.md
var joinPrompt string

// JoinPrompt are the words for the model that joins the answers of the members.
func JoinPrompt() string { return strings.TrimSpace(joinPrompt) }
