package housekeeping

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/pattern"
)

// A list of prompts is always behind: many clients ask for titles, each in its own
// words, and change them. All such requests have one form: they begin a chat, offer
// no tools, and have instructions of a few sentences which ask, at their beginning,
// for a short title of a conversation.

const (
	// maxTitleInstructions is how long such instructions are at most, in bytes. The
	// system text of an agent, which may mention titles too, is longer or says
	// something else first.
	maxTitleInstructions = 4 << 10
	// titleHead is where they say what they want.
	titleHead = 240
	// fewTokens is the limit of an answer that can be a title and no work.
	fewTokens = 128
)

var (
	// titleAsked is found in the head of instructions.
	titleAsked = pattern.Of(`(?i)\b(generat\w*|creat\w*|writ\w*|craft\w*|provid\w*|suggest\w*|produc\w*|repl(?:y|ies)|respond\w*|summari[sz]\w*)\b[^.\n]{0,100}\b(titles?|name|description)\b`)
	// titleShort and titleOf are found anywhere in them.
	titleShort = pattern.Of(`(?i)\b(short|brief|concise|compact|ultra-compact|pithy|(words?|characters?|chars) (or )?(less|fewer|max(imum)?|long|in length)|(max(imum)?|at most|up to|no more than|not more than|under) \d+ (words?|characters?|chars))\b`)
	titleChat  = pattern.Of(`(?i)\b(conversations?|chats?|sessions?|threads?|discussions?)\b`)
)

// asksForTitle reports whether a request has the form of one for the title of a chat.
func asksForTitle(text string, r Request) bool {
	if slices.ContainsFunc(r.History, func(t openai.Turn) bool { return t.Role == "assistant" }) {
		return false
	}
	if isTitleInstruction(r.System) {
		return true
	}
	// Without instructions, a person may want a title of something. A person does
	// not limit the work of an agent to so few tokens.
	return r.System == "" && r.MaxTokens > 0 && r.MaxTokens <= fewTokens && isTitleInstruction(text)
}

func isTitleInstruction(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxTitleInstructions {
		return false
	}
	head := text[:min(len(text), titleHead)]
	return titleAsked().MatchString(head) && titleChat().MatchString(head) && titleShort().MatchString(text)
}
