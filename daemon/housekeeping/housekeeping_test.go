package housekeeping_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
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

// chatPrompts are the requests of clients that send the chat along.
func chatPrompts() map[string]openai.ChatRequest {
	const openCode = "You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>\nGenerate a brief title that would help the user find this conversation later."
	const zed = "Generate a concise 3-7 word title for this conversation, omitting punctuation. Go straight to the title, without any preamble and prefix like `Here's a concise suggestion:...` or `Title:`. If the conversation is about a specific subject, include it in the title. Be descriptive. DO NOT speak in the first person."
	ask, both := openai.Turn{Role: "user", Text: "How do I boil an egg, quickly and well?"}, []openai.Turn{{Role: "user", Text: "How do I boil an egg?"}, {Role: "assistant", Text: "In water."}}
	return map[string]openai.ChatRequest{
		"opencode":           {System: openCode, History: []openai.Turn{{Role: "user", Text: "Generate a title for this conversation:\n"}}, Text: ask.Text, Stream: true},
		"opencode, earlier":  {System: openCode, Text: "Generate a title for this conversation:\n" + ask.Text, Stream: true},
		"opencode, a file":   {System: openCode, History: []openai.Turn{{Role: "user", Text: "Generate a title for this conversation:\n"}, ask}, Text: "<file>x</file>", Images: []string{"data:"}},
		"opencode, a system": {System: openCode + "\n\nInstructions from: AGENTS.md", History: []openai.Turn{{Role: "user", Text: "Generate a title for this conversation:\n"}}, Text: ask.Text},
		"Zed":                {History: both, Text: zed, Stream: true},
		"Zed with a system":  {System: "You are a coding agent.", History: both, Text: zed, Stream: true},
		"Continue":           {Text: "Given the following... please reply with a title for the chat that is 3-4 words in length, all words used should be directly related to the content of the chat, avoid using verbs unless they are directly related to the content of the chat, no additional text or explanation, you don't need ending punctuation.\n\nIn water."},
		"LibreChat":          {Text: prompts()[housekeeping.PlainTitle]},
	}
}

func TestTitlesOfClientsThatSendTheChatAlong(t *testing.T) {
	t.Parallel()
	for name, r := range chatPrompts() {
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &r}); !ok || got != housekeeping.PlainTitle {
			t.Errorf("%s: taken for %q, %v", name, got, ok)
		}
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &r, Tools: true}); ok {
			t.Errorf("%s: the agent with its tools is taken for %q", name, got)
		}
		r.Text = "Why is this sent?\n\n" + r.System + r.Text
		r.System = ""
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &r}); ok {
			t.Errorf("%s: a person who quotes it is taken for %q", name, got)
		}
	}
	for _, name := range []string{"opencode", "opencode, earlier"} {
		r := chatPrompts()[name]
		if got, _ := housekeeping.PlainTitle.ByRule(r.Text); got != "How do I boil an" {
			t.Errorf("%s: the rule says %q", name, got)
		}
	}
	for _, name := range []string{"Zed", "Continue"} { // the rule sees the prompt only
		r := chatPrompts()[name]
		if got, _ := housekeeping.PlainTitle.ByRule(r.Text); got != "New chat" {
			t.Errorf("%s: the rule says %q", name, got)
		}
	}
	summary := openai.ChatRequest{
		System:  "You are a helpful AI assistant tasked with summarizing conversations.\n\nWhen asked to summarize, provide a detailed but concise summary.",
		History: []openai.Turn{{Role: "user", Text: "hi"}, {Role: "assistant", Text: "hello"}}, Text: "Provide a detailed prompt for continuing our conversation above.",
	}
	if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &summary}); !ok || got != housekeeping.Compaction {
		t.Errorf("a summary is taken for %q", got)
	}
	answered := openai.ChatRequest{System: "You are a title generator for my songs.", History: []openai.Turn{{Role: "user", Text: "hi"}, {Role: "assistant", Text: "hello"}}, Text: "another"}
	if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &answered}); ok {
		t.Errorf("a chat about titles is taken for %q", got)
	}
}

// A person who shows such a prompt to the agent is not a UI.
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
			t.Errorf("%s: answer = %s, want %s", task, got, want)
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

// Instructions that mention titles are those of an agent, unless they ask for the title
// of a conversation first of all.
func TestInstructionsThatMentionTitlesReachTheAgent(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]openai.ChatRequest{
		"titles of issues":       {System: "You are a maintainer. Write short titles for issues.", Text: "Look at #12."},
		"names of files":         {System: "You rename files. Create short names.", Text: "Rename them."},
		"an agent's system text": {System: "You are an interactive agent that helps with software.\n" + strings.Repeat("Be careful with files.\n", 20) + "Generate a short title for the conversation at its end.", Text: "hi"},
		"long instructions":      {System: "Generate a short title for the conversation." + strings.Repeat(" And then do all this work.", 200), Text: "hi"},
		"a person's message":     {Text: "Generate a short title for this conversation: it is about eggs."},
		"a person's long answer": {Text: "Generate a short title for this conversation: it is about eggs.", MaxTokens: 4096},
		"later":                  {System: "Generate a short title for the conversation.", History: []openai.Turn{{Role: "user", Text: "hi"}, {Role: "assistant", Text: "Hello"}}, Text: "go on"},
		"no instructions":        {Text: "hi", MaxTokens: 16},
	} {
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: &r}); ok {
			t.Errorf("%s: taken for %q", name, got)
		}
	}
}

// titles.json has what clients send.
func TestTitlesOfManyClients(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/titles.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Client, Version string
		Title           json.RawMessage
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		r, err := openai.ParseChat(c.Title, openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: r}); !ok || got != housekeeping.PlainTitle {
			t.Errorf("%s %s: taken for %q, %v", c.Client, c.Version, got, ok)
		}
		if got, ok := housekeeping.Recognize(housekeeping.Request{ChatRequest: r, Tools: true}); ok {
			t.Errorf("%s %s: the agent with its tools is taken for %q", c.Client, c.Version, got)
		}
		if got, _ := housekeeping.PlainTitle.ByRule(r.Text); got != "Run date twice, then say" {
			t.Errorf("%s %s: the rule says %q", c.Client, c.Version, got)
		}
	}
}
