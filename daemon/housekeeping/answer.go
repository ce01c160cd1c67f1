package housekeeping

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTitleWords = 5
	maxTitle      = 60 // runes
)

// ByRule answers a task without a model; ok is false where only a model can.
func (t Task) ByRule(prompt string) (answer string, ok bool) {
	switch t {
	case Title:
		return object("title", titleOf(prompt)), true
	case PlainTitle:
		return titleOf(prompt), true
	case Tags:
		return object("tags", []string{"General"}), true
	case FollowUps:
		return object("follow_ups", []string{}), true
	case Queries:
		return object("queries", []string{}), true
	case Functions:
		return object("tool_calls", []string{}), true
	case ImagePrompt:
		return object("prompt", titleOf(prompt)), true
	case Autocomplete:
		return object("text", ""), true
	case Emoji:
		return "💬", true
	default:
		return "", false
	}
}

func object(key string, value any) string {
	data, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return "{}" // texts and lists of texts always have a form
	}
	return string(data)
}

// Shaped puts a model's answer into the form that the task asks for; ok is false if
// it has not that form. Models put fences and sentences around JSON, and a UI that
// cannot read the answer shows it.
func (t Task) Shaped(answer string) (shaped string, ok bool) {
	answer = strings.TrimSpace(answer)
	key, isObject := t.shape()
	if !isObject {
		return answer, answer != ""
	}
	from, to := strings.Index(answer, "{"), strings.LastIndex(answer, "}")
	if from < 0 || to < from {
		return "", false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(answer[from:to+1]), &members) != nil {
		return "", false
	}
	value := members[key]
	switch t {
	case Title, ImagePrompt, Autocomplete:
		var text string
		ok = json.Unmarshal(value, &text) == nil && (text != "" || t == Autocomplete)
	case Functions:
		var calls []json.RawMessage
		ok = json.Unmarshal(value, &calls) == nil && value != nil
	default:
		var texts []string
		ok = json.Unmarshal(value, &texts) == nil && value != nil
	}
	if !ok {
		return "", false
	}
	return object(key, value), true
}

// titleOf makes a title of the first thing that the user says in a prompt.
func titleOf(prompt string) string {
	text := firstMessage(prompt)
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	var title strings.Builder
	for i, w := range words {
		if i == maxTitleWords || utf8.RuneCountInString(title.String())+utf8.RuneCountInString(w) >= maxTitle {
			break
		}
		if i > 0 {
			title.WriteByte(' ')
		}
		title.WriteString(w)
	}
	short := strings.TrimRight(strings.Trim(title.String(), "\"'`*#<> "), ".,:;!?")
	if short == "" {
		return "New chat"
	}
	return short
}

// firstMessage finds the first line of what the user says first.
func firstMessage(prompt string) string {
	chat := ""
	if !beginsPrompt(prompt) { // the prompt is the system text, or the message before
		chat = prompt
	}
	for _, mark := range []string{"<chat_history>\n", "\nConversation:\n", "starts with:\n", openCodeTitle, crushTitle, gooseTitle, vsCodeTitle} {
		if _, after, ok := strings.Cut(prompt, mark); ok {
			chat = strings.TrimSuffix(strings.TrimSpace(after), "</chat_history>")
			break
		}
	}
	var message struct { // as some clients send it
		Content string
		Parts   []struct{ Text string }
	}
	if strings.HasPrefix(chat, "{") && json.Unmarshal([]byte(chat), &message) == nil {
		chat = message.Content
		for _, part := range message.Parts {
			chat += "\n" + part.Text
		}
	}
	first := ""
	for line := range strings.Lines(chat) {
		line = strings.TrimSpace(line)
		who, said, named := strings.Cut(line, ":")
		switch {
		case named && (strings.EqualFold(who, "user") || who == "Human"):
			if said = strings.TrimSpace(said); said != "" {
				return said
			}
		case first == "":
			first = line
		}
	}
	return first
}

// openCodeTitle stands before what opencode wants a title of.
const openCodeTitle = "Generate a title for this conversation:\n"

// beginsPrompt reports whether a text begins as one of the prompts does.
func beginsPrompt(text string) bool {
	if strings.HasPrefix(text, "### Task:") {
		return true
	}
	return slices.ContainsFunc(slices.Concat(patterns(), chatPatterns()), func(p prompt) bool { return !p.system && strings.HasPrefix(text, p.begins) })
}
