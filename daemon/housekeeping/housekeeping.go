// Package housekeeping knows what chat UIs ask behind their users' backs:
// titles, tags, suggestions. Such a request must never reach an agent.
//
// A header names the task where a UI was told to send one. Else the request is
// recognised by the form of its prompt, which has to be the whole message: one
// that begins before a prompt, or goes on after it, is a person who quotes it.
// Whoever sends such a prompt on purpose gets a plain answer to it.
//
// The package is pure: it reads requests and writes short answers. It asks no
// LLM.
package housekeeping

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openai"
)

// Task is what a UI wants. Its text is Open WebUI's name for it, and the value
// of the header X-OpenHands-Task.
type Task string

// The tasks.
const (
	Title        Task = "title_generation"
	Tags         Task = "tags_generation"
	FollowUps    Task = "follow_up_generation"
	Queries      Task = "query_generation"
	Emoji        Task = "emoji_generation"
	ImagePrompt  Task = "image_prompt_generation"
	Autocomplete Task = "autocomplete_generation"
	Functions    Task = "function_calling"
	Merge        Task = "moa_response_generation"
	Compaction   Task = "context_compaction"
	Memory       Task = "memory_review"

	// Other is a task that only its header, or the model that was asked, tells
	// from the words of a person.
	Other Task = "other"
)

// shape returns the member of the JSON object that a task is to be answered with.
func (t Task) shape() (key string, ok bool) {
	switch t {
	case Title:
		return "title", true
	case Tags:
		return "tags", true
	case FollowUps:
		return "follow_ups", true
	case Queries:
		return "queries", true
	case ImagePrompt:
		return "prompt", true
	case Autocomplete:
		return "text", true
	case Functions:
		return "tool_calls", true
	default:
		return "", false
	}
}

// Request is a request as far as it matters here.
type Request struct {
	*openai.ChatRequest
	// Tools: the client offers tools. No UI does that for its own tasks, except
	// to make the model fill in a form.
	Tools bool
}

// ByHeader returns the task that a header names. Templates that had nothing to fill
// in name none.
func ByHeader(h http.Header) (Task, bool) {
	v := strings.ToLower(strings.TrimSpace(h.Get("X-OpenWebUI-Task")))
	switch {
	case v == "", v == "null", v == "undefined", v == "none", strings.Contains(v, "{{"):
	default:
		return known(Task(v)), true
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("X-OpenAI-Subagent"))) { // Codex
	case "compact":
		return Compaction, true
	case "memory_consolidation":
		return Memory, true
	}
	return "", false
}

func known(t Task) Task {
	switch t {
	case Title, Tags, FollowUps, Queries, Emoji, ImagePrompt, Autocomplete, Functions, Merge, Compaction, Memory:
		return t
	default:
		return Other
	}
}

// Recognize finds the task of a request by its prompt.
func Recognize(r Request) (Task, bool) {
	if r.Tools {
		return "", false
	}
	text := strings.TrimSpace(r.Text)
	for _, p := range chatPatterns() {
		if p.matches(text, r) {
			return p.task, true
		}
	}
	if asksForTitle(text, r) {
		return PlainTitle, true
	}
	if len(r.History) > 0 || len(r.Images) > 0 {
		return "", false
	}
	if strings.HasPrefix(r.System, "Available Tools:") && !r.Stream && strings.Contains(r.System, `"tool_calls"`) {
		return Functions, true
	}
	for _, p := range patterns() {
		if p.matches(text, r) {
			return p.task, true
		}
	}
	return openWebUI(text, r)
}

// prompt is the form of a prompt: its first words, words that follow, and its
// last ones.
type prompt struct {
	task   Task
	begins string
	has    []string
	ends   string
	system bool // the words are the system text; the message is what they are about

	// The rest is for chatPatterns.
	anySystem bool // the words are the message, whatever the system text is
	first     bool // there is no answer yet
}

func (p prompt) matches(text string, r Request) bool {
	switch {
	case p.first && slices.ContainsFunc(r.History, func(t openai.Turn) bool { return t.Role == "assistant" }):
		return false
	case p.anySystem:
	case p.system:
		text = strings.TrimSpace(r.System)
	case r.System != "":
		return false // a prompt of these UIs stands alone
	}
	rest, ok := strings.CutPrefix(text, p.begins)
	if !ok {
		return false
	}
	for _, words := range p.has {
		if _, rest, ok = strings.Cut(rest, words); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, p.ends)
}

// chatPatterns lists the prompts that come with messages of the chat, which they are
// about.
func chatPatterns() []prompt {
	return []prompt{
		// opencode: a user message "Generate a title for this conversation:" before
		// the message of the person, or at its beginning.
		{task: PlainTitle, begins: "You are a title generator", system: true, first: true},
		// opencode, Claude Code
		{task: Compaction, begins: "You are a helpful AI assistant tasked with summarizing conversations", system: true},
		// Crush, whose system text can have one of the provider before it
		{task: PlainTitle, begins: crushTitle, ends: "</think>", anySystem: true, first: true},
		// goose
		{task: PlainTitle, begins: gooseTitle, has: []string{gooseAsks}, anySystem: true, first: true},
		{task: PlainTitle, begins: gooseAsks, anySystem: true, first: true},
		// Copilot Chat of VS Code
		{task: PlainTitle, begins: "You are an expert in crafting pithy titles for chatbot conversations", system: true},
		{task: PlainTitle, begins: "You are an expert in crafting ultra-compact titles for chatbot conversations", system: true},
		{task: Other, begins: "You are an expert in writing short, catchy, and encouraging progress messages", system: true},
		// Zed, Jan
		{task: PlainTitle, begins: zedTitle + ", omitting punctuation", has: []string{"Go straight to the title, without any preamble"}, anySystem: true},
	}
}

// What clients say in front of what they want a title of.
const (
	crushTitle  = "Generate a concise title for the following content:\n\n"
	gooseTitle  = "Here are the first few user messages:\n"
	gooseAsks   = "Based on the conversation so far, provide a concise description of this session in 4 words or less"
	vsCodeTitle = "Please write a brief title for the following request:\n\n"
)

// zedTitle begins the prompt for a title of Zed, with the chat before it or
// alone.
const zedTitle = "Generate a concise 3-7 word title for this conversation"

// patterns lists the prompts of UIs other than Open WebUI, and those of its own that
// have no marks around what they are about.
func patterns() []prompt {
	return []prompt{
		{task: Emoji, begins: "Your task is to reflect the speaker's likely facial expression", has: []string{"\n\nMessage: ```"}, ends: "```"},
		{task: Merge, begins: "You have been provided with a set of responses from various models", has: []string{"Responses from models:"}},
		{task: Compaction, begins: "### Task:\nSummarize the conversation history that will be compacted", has: []string{"### Messages Being Compacted:", "### Recent Messages Kept In Context:"}},
		// LibreChat
		{task: PlainTitle, begins: "Provide a concise, 5-word-or-less title for the conversation", has: []string{"Only return the title itself.\n\nConversation:\n"}},
		{task: PlainTitle, begins: "Analyze this conversation and provide:\n1. The detected language", has: []string{"2. A concise title", "\n\n", "User: "}},
		{task: PlainTitle, begins: "Please generate a concise title (max 40 characters) for a conversation that starts with:", ends: "Title:"},
		// Continue
		{task: PlainTitle, begins: "Given the following... please reply with a title for the chat that is 3-4 words"},
		// Zed
		{task: PlainTitle, begins: zedTitle},
		// Aider's weak model
		{task: Other, begins: "You are an expert software engineer that generates concise, one-line Git commit messages", system: true},
	}
}

// PlainTitle is a title that is wanted as it is.
const PlainTitle Task = "plain_title_generation"

// openWebUI recognises Open WebUI's prompts: a task, the form of its answer,
// and last of all the chat between marks. Administrators may change the words,
// but hardly the marks.
func openWebUI(text string, r Request) (Task, bool) {
	const open, end = "<chat_history>", "</chat_history>"
	rest, ok := strings.CutPrefix(text, "### Task:\n")
	if !ok || r.Stream || r.System != "" {
		return "", false
	}
	head, _, ok := strings.Cut(rest, "\n"+open)
	if !ok {
		return "", false
	}
	if after := text[strings.LastIndex(text, end)+len(end):]; strings.Contains(head, "autocompletion") {
		return Autocomplete, strings.Contains(after, "<text>") && strings.HasSuffix(after, "#### Output:")
	}
	if !strings.HasSuffix(text, end) {
		return "", false
	}
	for _, t := range []Task{FollowUps, Title, Tags, Queries, ImagePrompt} {
		if key, _ := t.shape(); strings.Contains(head, `"`+key+`":`) || strings.Contains(head, `"`+key+`" key`) {
			return t, true
		}
	}
	return "", false
}
