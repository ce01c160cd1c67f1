// Package title asks for the title of a conversation and makes one out of the
// answer. It calls no model itself.
package title

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/truncate"
)

// The lengths that OpenHands has for titles, in characters.
const (
	maxTitle   = 50
	maxMessage = 1000
)

const ask = "Give the conversation that begins with the message below a title of a few words, in the language of the message, " +
	"with one fitting emoji in front. Answer with the title and nothing else.\n\nThe message:\n"

// Request is what a model is asked for the title of a conversation that begins
// with message.
func Request(message string) event.LLMMessage {
	return event.LLMMessage{Role: "user", Content: []event.Content{event.Text(ask + truncate.Head(message, maxMessage))}}
}

// Of is the title in an answer, or in the message itself where there is none.
// It is empty only if both are blank.
func Of(answer, message string) string {
	title := strings.Join(strings.Fields(withoutThoughts(answer)), " ")
	if title == "" {
		title = strings.Join(strings.Fields(message), " ")
	}
	return truncate.Within(title, maxTitle, "...")
}

// thought is a thought of a model whose provider leaves it in the text. One without
// an end was cut off, and there is nothing behind it.
var thought = pattern.Of(`(?is)<think>.*?(</think>|$)`)

func withoutThoughts(answer string) string { return thought().ReplaceAllLiteralString(answer, "") }
