package housekeeping_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/housekeeping"
	"github.com/ohgw/ohgw/daemon/openai"
)

// prompt is one of Open WebUI's, around a chat.
func prompt(asks, form, chat string) string {
	return "### Task:\n" + asks + "\n### Guidelines:\n- be brief\n### Output:\nJSON format: " + form + "\n### Chat History:\n<chat_history>\n" + chat + "\n</chat_history>"
}

const chat = "USER: How do I boil an egg, quickly and well?\nASSISTANT: In water."

func prompts() map[housekeeping.Task]string {
	return map[housekeeping.Task]string{
		housekeeping.Title:        prompt("Generate a concise title summarizing the chat history.", `{ "title": "your concise title here" }`, chat),
		housekeeping.Tags:         prompt("Generate 1-3 broad tags.", `{ "tags": ["tag1", "tag2"] }`, chat),
		housekeeping.FollowUps:    prompt("Predict 3-5 useful messages.", `{ "follow_ups": ["1", "2"] }`, chat),
		housekeeping.Queries:      prompt("Analyze the chat history.", `{ "queries": ["query1"] }`, chat) + "\n",
		housekeeping.ImagePrompt:  prompt("Generate a detailed prompt.", "{\n    \"prompt\": \"Your description.\"\n}", chat),
		housekeeping.Autocomplete: "### Task:\nYou are an autocompletion system. Continue.\n### Context:\n<chat_history>\n" + chat + "\n</chat_history>\n<type>General</type>\n<text>The sun</text>\n#### Output:\n",
		housekeeping.Emoji:        "Your task is to reflect the speaker's likely facial expression through a fitting emoji.\n\nMessage: ```hello```",
		housekeeping.Compaction:   "### Task:\nSummarize the conversation history that will be compacted out of it.\n\n### Messages Being Compacted:\na\n\n### Recent Messages Kept In Context:\nb",
		housekeeping.PlainTitle:   "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: How do I boil an egg, quickly and well?\nAI: In water.",
	}
}

func recognize(text string, change ...func(*housekeeping.Request)) (housekeeping.Task, bool) {
	r := housekeeping.Request{ChatRequest: &openai.ChatRequest{Text: text}}
	for _, f := range change {
		f(&r)
	}
	return housekeeping.Recognize(r)
}

func TestPromptsOfUIsAreRecognized(t *testing.T) {
	t.Parallel()
	for want, text := range prompts() {
		if got, ok := recognize(text); !ok || got != want {
			t.Errorf("%s is taken for %q, %v", want, got, ok)
		}
	}
	libre := "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language\n\nUser: hi\nAI: hello"
	if got, ok := recognize(libre); !ok || got != housekeeping.PlainTitle {
		t.Errorf("LibreChat's other prompt is taken for %q", got)
	}
	functions := func(r *housekeeping.Request) { r.System = "Available Tools: []\n\nReturn {\n \"tool_calls\": []\n}" }
	if got, ok := recognize("Query: History:\nUSER: hi", functions); !ok || got != housekeeping.Functions {
		t.Errorf("a choice of tools is taken for %q", got)
	}
}

// A person who shows such a prompt to the agent is no UI.
func TestMessagesThatQuoteAPromptReachTheAgent(t *testing.T) {
	t.Parallel()
	for task, text := range prompts() {
		for _, message := range []string{
			"Why does my chat send this?\n\n" + text,
			"```\n" + text + "\n```",
			"> " + strings.ReplaceAll(text, "\n", "\n> "),
			"Please answer this: " + text,
		} {
			if got, ok := recognize(message); ok {
				t.Errorf("%s: a message that quotes it is taken for %q: %.80q", task, got, message)
			}
		}
	}
	title := prompts()[housekeeping.Title]
	if got, ok := recognize(title + "\n\nWhat do you think of this prompt?"); ok {
		t.Errorf("a message that goes on after a prompt is taken for %q", got)
	}
	for name, change := range map[string]func(*housekeeping.Request){
		"with a history":     func(r *housekeeping.Request) { r.History = []openai.Turn{{Role: "user", Text: "hi"}} },
		"with tools":         func(r *housekeeping.Request) { r.Tools = true },
		"with a system text": func(r *housekeeping.Request) { r.System = "Be kind." },
		"with an image":      func(r *housekeeping.Request) { r.Images = []string{"data:"} },
		"as a stream":        func(r *housekeeping.Request) { r.Stream = true },
	} {
		if got, ok := recognize(title, change); ok {
			t.Errorf("a request %s is taken for %q", name, got)
		}
	}
	retrieval := "### Task:\nRespond to the user query using the provided context.\n\n<context>\n<chat_history>\n\"title\": \n</context>\n\nWhat is it?"
	for _, text := range []string{"", "hello", "### Task:\nFix the tests.", "Generate a title for my blog post about \"title\": tags", retrieval} {
		if got, ok := recognize(text); ok {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

func TestAHeaderNamesATask(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]housekeeping.Task{
		"title_generation": housekeeping.Title, " Tags_Generation ": housekeeping.Tags, "follow_up_generation": housekeeping.FollowUps,
		"query_generation": housekeeping.Queries, "emoji_generation": housekeeping.Emoji, "image_prompt_generation": housekeeping.ImagePrompt,
		"autocomplete_generation": housekeeping.Autocomplete, "function_calling": housekeeping.Functions,
		"moa_response_generation": housekeeping.Merge, "context_compaction": housekeeping.Compaction, "memory_review": housekeeping.Memory,
		"something_new": housekeeping.Other, "": "", "{{TASK}}": "", "null": "", "None": "",
	} {
		if got, ok := housekeeping.ByHeader(http.Header{"X-Openwebui-Task": {value}}); got != want || ok != (want != "") {
			t.Errorf("%q names %q, %v", value, got, ok)
		}
	}
	if got, _ := housekeeping.ByHeader(http.Header{"X-Openai-Subagent": {"compact"}}); got != housekeeping.Compaction {
		t.Errorf("Codex's subagent is %q", got)
	}
}

func TestRulesAnswerInTheShapeThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for task, want := range map[housekeeping.Task]string{
		housekeeping.Title: `{"title":"How do I boil an"}`, housekeeping.PlainTitle: "How do I boil an",
		housekeeping.Tags: `{"tags":["General"]}`, housekeeping.FollowUps: `{"follow_ups":[]}`, housekeeping.Queries: `{"queries":[]}`,
		housekeeping.Autocomplete: `{"text":""}`, housekeeping.Emoji: "💬", housekeeping.ImagePrompt: `{"prompt":"How do I boil an"}`,
	} {
		if got, ok := task.ByRule(prompts()[task]); !ok || got != want {
			t.Errorf("%s: %s, want %s", task, got, want)
		}
		if got, ok := task.Shaped(want); !ok || got != want {
			t.Errorf("%s: what a rule says has not its own shape: %s", task, got)
		}
	}
	for _, task := range []housekeeping.Task{housekeeping.Merge, housekeeping.Compaction, housekeeping.Memory, housekeeping.Other} {
		if got, ok := task.ByRule("x"); ok {
			t.Errorf("a rule cannot do %s, and says %q", task, got)
		}
	}
	for chat, want := range map[string]string{
		"": "New chat", "USER: \n": "New chat", "USER: `#*": "New chat", "USER: " + strings.Repeat("long", 40): "New chat",
		"USER: \"quoted\" words": "quoted\\\" words", "USER: a\tb\x00c": "a b c", "USER: Über 🚇, ja!": "Über 🚇, ja",
	} {
		if got, _ := housekeeping.Title.ByRule(prompt("Generate", `{ "title": "" }`, chat)); got != fmt.Sprintf(`{"title":"%s"}`, want) {
			t.Errorf("%q is called %s", chat, got)
		}
	}
}

func TestAnswersOfModelsArePutIntoShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		task         housekeeping.Task
		answer, want string // "": none
	}{
		{housekeeping.Title, "```json\n{\"title\": \"Eggs\"}\n```", `{"title":"Eggs"}`},
		{housekeeping.Title, `Sure! {"title":"Eggs","language":"en"} Anything else?`, `{"title":"Eggs"}`},
		{housekeeping.Title, "Eggs", ""},
		{housekeeping.Title, `{"title":""}`, ""},
		{housekeeping.Title, `{"title":["Eggs"]}`, ""},
		{housekeeping.Title, `{"name":"Eggs"}`, ""},
		{housekeeping.Title, `}{`, ""},
		{housekeeping.Tags, `{"tags":["Food","Eggs"]}`, `{"tags":["Food","Eggs"]}`},
		{housekeeping.Tags, `{"tags":"Food"}`, ""},
		{housekeeping.FollowUps, `{"follow_ups":[1]}`, ""},
		{housekeeping.FollowUps, `{}`, ""},
		{housekeeping.Autocomplete, `{"text":""}`, `{"text":""}`},
		{housekeeping.Functions, `{"tool_calls":[{"name":"x","parameters":{}}]}`, `{"tool_calls":[{"name":"x","parameters":{}}]}`},
		{housekeeping.PlainTitle, " Boiling Eggs\n", "Boiling Eggs"},
		{housekeeping.Compaction, "", ""},
	} {
		if got, ok := tt.task.Shaped(tt.answer); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q becomes %q, %v", tt.task, tt.answer, got, ok)
		}
	}
}

func FuzzRecognize(f *testing.F) {
	for _, text := range prompts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		task, ok := recognize(text)
		if !ok {
			return
		}
		if answer, ruled := task.ByRule(text); ruled && answer == "" {
			t.Errorf("%s is answered with nothing", task)
		}
		if task, ok := recognize("Look at this: " + text); ok {
			t.Errorf("a quotation is taken for %s", task)
		}
	})
}

func BenchmarkByRule(b *testing.B) {
	text := prompt("Generate a concise title.", `{ "title": "" }`, strings.Repeat(chat+"\n", 500))
	for b.Loop() {
		task, ok := recognize(text)
		if _, ruled := task.ByRule(text); !ok || !ruled {
			b.Fatal(task)
		}
	}
}
