//go:build unix

package engine_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestModelIsToldOnceThatItsShellIsNew(t *testing.T) {
	t.Parallel()
	const note = "The shell of the earlier commands was closed meanwhile"
	w := newWorld(t, realTools)
	w.llm.Reply(terminal("export A=1"), llmtest.Finish("one"))
	w.say("one")
	w.llm.Reply(terminal("echo A is $A"), llmtest.Finish("two"))
	w.say("two")
	w.close()
	w.start()
	w.llm.Reply(terminal("echo B is $A"), terminal("echo C is $A"), llmtest.Finish("three"))
	w.say("three")
	told := map[string]bool{}
	for _, m := range w.llm.Await(t, 7).Messages {
		for _, line := range []string{"A is", "B is", "C is"} {
			if m.Role == "tool" && strings.Contains(m.Text, line) {
				told[line] = strings.Contains(m.Text, note)
			}
		}
	}
	if len(told) != 3 || told["A is"] || !told["B is"] || told["C is"] {
		t.Errorf("the model is told with %v", told)
	}
	w.fork("")
	w.llm.Reply(terminal("echo D is $A"), llmtest.Finish("four"))
	w.say("four")
	messages := w.llm.Await(t, 9).Messages
	if last := messages[len(messages)-1].Text; !strings.Contains(last, note) || !strings.Contains(last, "D is") {
		t.Errorf("in a copy of the conversation it is told %q", last)
	}
}

func TestFirstShellIsNotCalledNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(llmtest.Text("one"))
	w.say("one")
	w.close()
	w.start()
	w.llm.Reply(terminal("echo hi"), llmtest.Finish("two"))
	w.say("two")
	messages := w.llm.Await(t, 3).Messages
	if last := messages[len(messages)-1].Text; !strings.Contains(last, "hi") || strings.Contains(last, "shell") {
		t.Errorf("the result is %q", last)
	}
}

func TestSwitchedModelSeesPicturesWithItsTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, func(c *engine.Config) {
		withModel(c, func(m llm.Model) llm.Model {
			blind := m.(enginetest.Model)
			blind.Blind = blind.Name == "test"
			return blind
		})
	})
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.workspace, "dot.png")
	if err := os.WriteFile(path, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	look := llmtest.Tool("file_editor", `{"command":"view","path":"`+path+`"}`)
	sees := func(profile, model string) bool {
		t.Helper()
		if err := w.open().Switch(w.ctx(), profile); err != nil {
			t.Fatal(err)
		}
		before := len(w.llm.Requests())
		w.llm.Reply(look, llmtest.Finish("ok"))
		w.say("look with " + profile)
		req := w.llm.Await(t, before+2)
		if req.Model != model {
			t.Errorf("the model is %s", req.Model)
		}
		offered := strings.Contains(string(req.Body), "shows pictures, too")
		last := w.log()
		shown := false
		for _, e := range last[len(last)-8:] {
			data, err := e.MarshalJSON()
			shown = shown || err == nil && e.Kind() == "ObservationEvent" && bytes.Contains(data, []byte("image_urls"))
		}
		if offered != shown {
			t.Errorf("with %s pictures are offered: %v, and shown: %v", profile, offered, shown)
		}
		return shown
	}
	if sees("main", "test") {
		t.Error("a model without eyes is shown a picture")
	}
	if !sees("other", "other") {
		t.Error("the other model is shown no picture")
	}
	if sees("main", "test") {
		t.Error("back again, the model without eyes is shown a picture")
	}
}
