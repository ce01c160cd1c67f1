//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

const remembers = `{"agent_context":{"load_memory":true}}`

// noted lets the agents of a world keep notes, in a home directory that it returns.
func noted(t *testing.T) (home string, change func(*engine.Config)) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return home, func(c *engine.Config) {
		c.Home = home
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(remembers)})
	}
}

// A conversation reads what an earlier one has written down, in both places.
func TestNotesOutlastAConversation(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	user := filepath.Join(home, ".openhands/memory/MEMORY.md")
	w := newWorld(t, keeps, realTools)
	w.write("AGENTS.md", "Text of the project.")
	project := filepath.Join(w.workspace, ".openhands/memory/MEMORY.md")
	w.llm.Reply(
		terminal("mkdir -p .openhands/memory && echo 'Tests need a database.' > .openhands/memory/MEMORY.md"),
		llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"create","path":%q,"file_text":"Likes tea.\n"}`, user)), llmtest.Text("done"))
	w.say("Note it")
	first := w.llm.Await(t, 1).Messages[0].Text
	if !strings.Contains(first, "<MEMORY>\nYou keep notes") || !strings.Contains(first, filepath.Dir(user)+": what holds in every project") || strings.Contains(first, "<MEMORY_CONTEXT>") {
		t.Errorf("the first conversation is told %s", first)
	}
	for path, want := range map[string]string{user: "Likes tea.\n", project: "Tests need a database.\n"} {
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Fatalf("%s has %q, %v", path, data, err)
		}
	}
	w.id, w.conv = uuid.New(), nil
	w.llm.Reply(llmtest.Text("ok"))
	w.say("Go on")
	second := w.llm.Await(t, 4).Messages[0].Text
	want := "# User memory (~/.openhands/memory/MEMORY.md)\nLikes tea.\n\n# Project memory (.openhands/memory/MEMORY.md)\nTests need a database.\n</MEMORY_CONTEXT>"
	if !strings.Contains(second, want) || !strings.Contains(second, "Text of the project.") {
		t.Errorf("the second conversation is told %s", second)
	}
	if !strings.Contains(w.stored("base_state.json"), `"load_memory":true`) || strings.Contains(w.stored("base_state.json"), "Likes tea") {
		t.Errorf("stored: %s", w.stored("base_state.json"))
	}
}

// Without the setting, in a one-shot, and with a link in the place of the user's notes,
// nothing of the user's is shown or made.
func TestWhoKeepsNoNotes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings string
		oneShot  bool
	}{
		"no setting":    {`{}`, false},
		"switched off":  {`{"agent_context":{"load_memory":false}}`, false},
		"another value": {`{"agent_context":{"load_memory":"true"}}`, false},
		"one-shot":      {remembers, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, keeps := noted(t)
			written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
			var boxes []*watched
			var asked []engine.BoxEnv
			w := newWorld(t, keeps, boxed(&boxes, &asked), func(c *engine.Config) {
				c.Settings = settings(engine.Settings{Agent: json.RawMessage(tt.settings)})
			})
			w.write(".openhands/memory/MEMORY.md", "Tests need a database.")
			c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace, OneShot: tt.oneShot})
			if err != nil {
				t.Fatal(err)
			}
			w.conv = c
			w.llm.Reply(terminal("true"), llmtest.Text("ok"))
			w.say("Look")
			told := w.llm.Await(t, 1).Messages[0].Text
			if strings.Contains(told, "tea") || strings.Contains(told, "database") || !strings.Contains(told, "<MEMORY>\nAGENTS.md") {
				t.Errorf("the model is told %s", told)
			}
			if len(asked) == 0 || asked[0].Memory != "" {
				t.Errorf("boxes %+v", asked)
			}
		})
	}
}

// A link that an agent has put there shows a model nothing of OpenHands' directory, and one
// in the place of the directory is not used.
func TestNotesDoNotLeadToKeys(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(base string) error{
		"the file": func(base string) error {
			if err := os.Mkdir(filepath.Join(base, "memory"), 0o700); err != nil {
				return err
			}
			return os.Symlink("../profiles/main.json", filepath.Join(base, "memory/MEMORY.md"))
		},
		"the directory": func(base string) error { return os.Symlink("profiles", filepath.Join(base, "memory")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, keeps := noted(t)
			written(t, home, map[string]string{".openhands/profiles/main.json": "sk-secret", ".openhands/profiles/MEMORY.md": "sk-secret"})
			base := filepath.Join(home, ".openhands")
			if err := link(base); err != nil {
				t.Fatal(err)
			}
			var boxes []*watched
			var asked []engine.BoxEnv
			w := newWorld(t, keeps, boxed(&boxes, &asked))
			w.write(".openhands/memory/MEMORY.md", "Tests need a database.")
			w.llm.Reply(terminal("true"), llmtest.Text("ok"))
			w.say("Look")
			told := w.llm.Await(t, 1).Messages[0].Text
			if strings.Contains(told, "sk-secret") || !strings.Contains(told, "Tests need a database.") {
				t.Errorf("the model is told %s", told)
			}
			want := ""
			if name == "the file" {
				want = filepath.Join(base, "memory")
			}
			if len(asked) == 0 || asked[0].Memory != want || strings.Contains(told, base+"/memory:") != (want != "") {
				t.Errorf("boxes %+v, told %s", asked, told)
			}
		})
	}
}

// A program that starts a conversation says that its agent keeps notes, or the user does.
func TestAgentsOfProgramsKeepNotes(t *testing.T) {
	t.Parallel()
	for context, users := range map[string]string{`{"load_memory":true}`: `{}`, `{}`: remembers, `null`: remembers, `{"load_memory":false}`: remembers} {
		for form, start := range sentAgents(context) {
			t.Run(form+" "+context, func(t *testing.T) {
				t.Parallel()
				home, keeps := noted(t)
				written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
				w := newWorld(t, sealed, keeps, func(c *engine.Config) {
					c.Settings = settings(engine.Settings{Agent: json.RawMessage(users)})
				})
				w.startIt(start)
				w.llm.Reply(llmtest.Text("ok"))
				w.say("Look")
				told := w.llm.Await(t, 1).Messages[0].Text
				if !strings.Contains(told, "Likes tea.") || strings.Contains(told, "<CURRENT_DATETIME>") != (context != "null" || form != "agent") {
					t.Errorf("the model is told %s", told)
				}
			})
		}
	}
}

// An agent that is a model keeps the notes of the user's settings, and has its own words.
func TestNamedAgentsKeepNotes(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
	w, _ := agentWorld(t, keeps)
	w.begin(agentapi.AgentProfile("reviewer"))
	w.llm.Reply(llmtest.Text("ok"))
	w.say("Look")
	if told := w.llm.Await(t, 1).Messages[0].Text; !strings.Contains(told, "Likes tea.") || !strings.Contains(told, "You are strict.") || !strings.Contains(told, "<CURRENT_DATETIME>") {
		t.Errorf("the model is told %s", told)
	}
}

// A sub-agent keeps no notes, as with OpenHands.
func TestSubAgentsKeepNoNotes(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
	w := newWorld(t, subAgents, keeps, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"tools":[{"name":"task_tool_set"}],"agent_context":{"load_memory":true}}`)})
	})
	w.llm.Reply(task(`{"prompt":"look","subagent_type":"general-purpose"}`), llmtest.Finish("bad"), llmtest.Finish("ok"))
	w.say("go")
	if told := w.llm.Await(t, 2).Messages[0].Text; strings.Contains(told, "tea") {
		t.Errorf("the sub-agent is told %s", told)
	}
}

// Conversations that add to the same notes at the same time lose nothing of each other's.
// With --workspace their editors reach nothing else of OpenHands' directory.
func TestConversationsWriteTheSameNotes(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	file := filepath.Join(home, ".openhands/memory/MEMORY.md")
	written(t, home, map[string]string{".openhands/memory/MEMORY.md": "begin\n", ".openhands/settings.json": "sk-secret\n"})
	const each = 20
	change := func(c *engine.Config) {
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ(), User: "me", Host: "here", Confined: true})
	}
	run := func(name string) <-chan turn.Result {
		w := newWorld(t, keeps, change)
		for i := range each {
			w.llm.Reply(llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"insert","path":%q,"insert_line":1,"new_str":"%s %d"}`, file, name, i)))
		}
		w.llm.Reply(llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"view","path":%q}`, filepath.Join(home, ".openhands/settings.json"))))
		w.llm.Reply(llmtest.Text("done"))
		over := w.background("Note it")
		t.Cleanup(func() {
			last := w.llm.Requests()
			if text := string(last[len(last)-1].Body); strings.Contains(text, "sk-secret") || !strings.Contains(text, "outside the workspace") {
				t.Errorf("the editor shows %s", text)
			}
		})
		return over
	}
	one, two := run("one"), run("two")
	<-one
	<-two
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		for i := range each {
			if line := fmt.Sprintf("\n%s %d\n", name, i); strings.Count(string(data), line) != 1 {
				t.Errorf("the notes have %q %d times", line, strings.Count(string(data), line))
			}
		}
	}
}

// Whoever has made an archive cannot let its agent read the user's notes, or change them.
func TestAnAgentOfAnArchiveKeepsNoNotes(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
	var boxes []*watched
	var asked []engine.BoxEnv
	w := newWorld(t, keeps, boxed(&boxes, &asked))
	from := strings.Replace(packed, `"kind":"Agent",`, `"kind":"Agent","tools":[{"name":"terminal"}],"agent_context":{"load_memory":true,"system_message_suffix":"Be kind."},`, 1)
	from = strings.Replace(from, `"model":"m"`, `"model":"openai/test","base_url":"`+w.llm.URL+`"`, 1)
	archive := archiveOf(t, map[string]string{packedHex + "/base_state.json": from})
	archive.Workspace = w.workspace
	id, err := w.backend.Library().Import(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	w.id = id
	w.llm.Reply(terminal("true"), llmtest.Text("ok"))
	w.say("Look")
	told := w.llm.Await(t, 1).Messages[0].Text
	if strings.Contains(told, "Likes tea.") || strings.Contains(told, "You keep notes") || !strings.Contains(told, "Be kind.") {
		t.Errorf("the model is told %s", told)
	}
	for _, e := range asked {
		if e.Memory != "" {
			t.Errorf("the box shows %s", e.Memory)
		}
	}
}
