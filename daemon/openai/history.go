package openai

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTurn is the share of one earlier turn in a quotation, in bytes: long
// answers are cut so that more turns fit.
const maxTurn = 16 << 10

// MaxQuote bounds the earlier turns that are quoted to a new conversation, in bytes.
const MaxQuote = 64 << 10

// Quote is a quotation of earlier turns of at most limit bytes, the newest
// ones first to be kept, to be put before the user's new message. Every quoted
// line begins with "> ", so no turn can pretend to be that message. Without
// turns, or without room for one, it is empty.
func Quote(history []Turn, limit int) string {
	quoted := Quotation(history, limit)
	if quoted == "" {
		return ""
	}
	return "Earlier turns of this chat, quoted as background:\n\n" + quoted + "\n" + quoteEnd + "\n\n"
}

const (
	addedBegin = "Messages that were added to this conversation, quoted as background:\n\n"
	quoteEnd   = "The new message of the user:"
)

// QuoteAdded is a [Quote] of messages that a client added to a conversation.
func QuoteAdded(added []Turn, limit int) string {
	quoted := Quotation(added, limit)
	if quoted == "" {
		return ""
	}
	return addedBegin + quoted + "\n" + quoteEnd + "\n\n"
}

// WithoutAdded is a message without the [QuoteAdded] before it.
func WithoutAdded(message string) string {
	rest, quoted := strings.CutPrefix(message, addedBegin)
	for quoted {
		line, after, more := strings.Cut(rest, "\n")
		switch {
		case line == quoteEnd && more:
			return strings.TrimPrefix(after, "\n")
		case line != "" && line[0] != '>' || !more:
			return message
		}
		rest = after
	}
	return message
}

// Quotation quotes the newest turns within a limit, like a [Quote] without the words
// around them.
func Quotation(history []Turn, limit int) string {
	quoted := make([]string, 0, len(history))
	size, left := 0, false
	for _, t := range slices.Backward(history) {
		q := quoteTurn(t)
		if size += len(q); size > limit {
			left = true
			break
		}
		quoted = append(quoted, q)
	}
	if len(quoted) == 0 {
		return ""
	}
	slices.Reverse(quoted)
	text := strings.Join(quoted, "\n")
	if left {
		text = "> […]\n\n" + text
	}
	return text
}

func quoteTurn(t Turn) string {
	who := "User"
	switch t.Role {
	case "assistant":
		who = "Assistant"
	case "system":
		who = "System"
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(cut(strings.TrimSpace(t.Text)))
	return "> " + who + ": " + strings.ReplaceAll(text, "\n", "\n> ") + "\n"
}

// cut is s with its middle left out if it is longer than maxTurn.
func cut(s string) string {
	if len(s) <= maxTurn {
		return s
	}
	head, tail := maxTurn/2, len(s)-maxTurn/2
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n[…]\n" + s[tail:]
}
