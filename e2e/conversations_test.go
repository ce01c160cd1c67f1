//go:build e2e

package e2e_test

import "slices"

// conversationTasks are programs of OpenAI's library for Python and of the Agents
// SDK, whose sessions are conversations.
func conversationTasks(python string) []task {
	const one, two, three, noted = "user: [[finish One.]]", "user: [[finish Two.]]", "user: [[finish Three.]]", "assistant: Noted."
	added, turns := []any{"user: I like tea.", noted, "function_call"}, []any{one, "assistant: One.", two, "assistant: Two."}
	answers, missing := []any{"One.", "Two.", "Three."}, "404 conversation_not_found id"
	command := []string{python, "conversations.py"}
	return []task{
		{"library", command, "python", map[string]any{
			"metadata": []any{map[string]any{"topic": "tea"}, map[string]any{"topic": "coffee"}}, "before": added,
			"answers": answers[:2], "same": true, "retrieved": true, "items": slices.Concat(added, turns),
			"after": slices.Concat(added[:1], added[2:], turns), "deleted": true, "missing": missing,
		}},
		{"session", command, "python", map[string]any{
			"answers": answers, "whole": turns, "last": turns[3:], "popped": []any{turns[3:], []any{}, turns[2:3]}, "rest": turns[:2],
			"end": []any{one, "assistant: One.", three, "assistant: Three."}, "cleared": missing,
		}},
		{"server_side", command, "python", map[string]any{
			"answers": answers, "doubled": false, "items": turns, "popped": turns[3:],
			"end": []any{one, "assistant: One.", two, three, "assistant: Three."},
		}},
	}
}
