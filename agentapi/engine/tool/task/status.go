package task

import "strings"

// Status is the status that a word means: models of other agents write pending for
// todo, or "In Progress". A word that means none is given back.
func Status(word string) string {
	s := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(word)))
	switch s {
	case "todo", "in_progress", "done":
		return s
	case "pending", "to_do":
		return "todo"
	case "completed", "complete":
		return "done"
	}
	return word
}
