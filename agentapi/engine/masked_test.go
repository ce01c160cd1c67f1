//go:build unix

package engine_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// A secret that is hard on everybody: quotes, a backslash, a percent sign.
const hardSecret = `s3cr3t-"value"\of'12345%`

// secretForms are what tools make of a value.
func secretForms(t *testing.T, value string) []string {
	t.Helper()
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	inner := string(quoted[1 : len(quoted)-1])
	twice, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		value, inner, string(twice[1 : len(twice)-1]), strings.ReplaceAll(value, "'", `'\''`),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value+"\n")), "="),
	}
}

func TestNoPlaceOnTheDiskHoldsASecret(t *testing.T) {
	t.Parallel()
	for _, value := range []string{hardSecret, "tok-4711-do-not-show"} {
		w := newWorld(t, realTools, func(c *engine.Config) {
			agent := fmt.Sprintf(`{"agent_context":{"secrets":{"API_TOKEN":%q}}}`, value)
			c.Settings = settings(engine.Settings{Agent: json.RawMessage(agent)})
		})
		w.write(".agents/skills/tell/SKILL.md", "---\nname: tell\ndescription: Tells.\n---\nIt is "+value+".")
		path := w.write("env.txt", "token = "+value+"\nname = old\n")
		call := func(args map[string]any) llmtest.Reply {
			args["path"] = path
			data, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			return llmtest.Tool("file_editor", string(data))
		}
		missing, err := json.Marshal(map[string]string{"command": "view", "path": "/" + value})
		if err != nil {
			t.Fatal(err)
		}
		w.llm.Reply(
			terminal(`echo "$API_TOKEN"; echo "$API_TOKEN" | base64 -w 0; for i in $(seq 20000); do echo "$API_TOKEN"; done`),
			call(map[string]any{"command": "view"}),
			call(map[string]any{"command": "str_replace", "old_str": "name = old", "new_str": "name = new"}),
			call(map[string]any{"command": "str_replace", "old_str": "token = <secret-hidden>", "new_str": "token = x"}),
			call(map[string]any{"command": "insert", "insert_line": 0, "new_str": "again " + value}),
			llmtest.Tool("file_editor", string(missing)),
			llmtest.Tool("invoke_skill", `{"name":"tell"}`),
			llmtest.Tool("think", `not JSON `+value),
			llmtest.Finish("The token is "+value+", I think."),
		)
		p := w.say("My token is " + value + ".")
		if strings.Contains(p.Answer, value) || !strings.Contains(p.Answer, "The token is <secret-hidden>, I think.") {
			t.Errorf("the answer is %q", p.Answer)
		}
		data, err := os.ReadFile(path)
		if want := "again " + value + "\ntoken = " + value + "\nname = new\n"; err != nil || string(data) != want {
			t.Errorf("the file holds %q, %v, want %q", data, err, want)
		}
		forms := secretForms(t, value)
		for i, r := range w.llm.Requests() {
			for _, form := range forms {
				if strings.Contains(string(r.Body), form) {
					t.Errorf("request %d holds %q", i+1, form)
				}
			}
		}
		refused := false
		for _, e := range w.log() {
			if o, ok := e.Body.(*event.Observation); ok {
				refused = refused || strings.Contains(string(o.Observation), "is shown in place of a secret")
			}
		}
		if !refused {
			t.Error("an edit of the mark was not refused with the reason")
		}
		w.close()
		holdsNone(t, w.cfg.Dir, forms)
	}
}

func TestConfirmedCallWhoseSecretIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		w := newWorld(t, realTools, func(c *engine.Config) {
			agent := `{"agent_context":{"secrets":{"API_TOKEN":"tok-4711-do-not-show"}}}`
			c.Settings = settings(engine.Settings{Agent: json.RawMessage(agent)})
			c.Confirm = agentapi.ConfirmAlways
		})
		w.llm.Reply(terminal("echo tok-4711-do-not-show > out.txt"), llmtest.Finish("ok"))
		if res := w.say("go"); res.Outcome != turn.Waiting {
			t.Fatalf("outcome %v", res.Outcome)
		}
		want := "SP U A(terminal) O A(finish) O"
		if closed {
			w.close()
			w.start()
			want = "SP U A(terminal) E A(finish) O"
		}
		w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
		w.expect(want)
		data, err := os.ReadFile(filepath.Join(w.workspace, "out.txt"))
		if !closed && string(data) != "tok-4711-do-not-show\n" || closed && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("closed %v: the call wrote %q, %v", closed, data, err)
		}
		if told := w.llm.Await(t, 2).Last().Text; closed && !strings.Contains(told, "Make the call again") {
			t.Errorf("the model is told %q", told)
		}
	}
}

func holdsNone(t *testing.T, dir string, forms []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, form := range forms {
			if strings.Contains(string(data), form) {
				t.Errorf("%s holds %q", path, form)
			}
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}
