//go:build e2e

package memory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/memory"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonLoads prints what the SDK makes of the notes of homes 0, 1, … and workspaces beside
// them, in budgets.
const pythonLoads = `
import json, os, sys
from pathlib import Path
from openhands.sdk.context.memory import load_memory
os.environ.pop("OH_PERSISTENCE_DIR", None)
out = []
for i in range(int(sys.argv[1])):
    os.environ["HOME"] = str(Path(f"home{i}").resolve())
    out.append([load_memory(Path(f"work{i}").resolve(), b) or "" for b in json.loads(sys.argv[2])])
os.environ["OH_PERSISTENCE_DIR"] = str(Path("home0/.openhands").resolve())
os.environ["HOME"] = "/"
out.append([load_memory(Path("work0").resolve()) or ""])
print("RESULT" + json.dumps(out))
`

// texts are the notes of files, with what texts of people and of attackers have.
func texts() []string {
	list := []string{
		"", " \n\t", "one line", "\ufeffmark\n", "a\r\nb\rc\n", "\x1c\x1fends\u2003\u0085", "a\vb\fc\x1cd\x1de\x1ef\u0085g\u2028h\u2029i", "\xff", "\xed\xa0\x80", "a\x00b",
		strings.Repeat("é", 5950), strings.Repeat("line\n", 2000), strings.Repeat("line\r\n", 2000), strings.Repeat("\U0001f600 smile\n", 1000),
		strings.Repeat("x", 7000), strings.Repeat("x", 7000) + "\nlast", strings.Repeat("a\u2028b\v", 2000), strings.Repeat("\n\n\n.", 1700),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 15 {
		var b strings.Builder
		for range random.IntN(9000) {
			b.WriteString([]string{"a", "é", " ", "\n", "\r\n", "word", "\u2028", "\v", "\U0001f600"}[random.IntN(9)])
		}
		list = append(list, b.String())
	}
	return list
}

// TestTheSDKLoadsTheSameNotes has both load the same files: what goes into a prompt is the
// same, byte for byte.
func TestTheSDKLoadsTheSameNotes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	budgets := []int{memory.Budget, 1200, 200, 10}
	all := texts()
	places := make([]memory.Places, 0, len(all))
	for i := range all {
		home, work := filepath.Join(dir, fmt.Sprintf("home%d", i)), filepath.Join(dir, fmt.Sprintf("work%d", i))
		for path, text := range map[string]string{
			filepath.Join(home, ".openhands/memory/MEMORY.md"): all[i], filepath.Join(work, ".openhands/memory/MEMORY.md"): all[(i*7+3)%len(all)],
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		places = append(places, memory.Places{User: filepath.Join(home, ".openhands/memory"), Home: home, Workspace: work})
	}
	asked, err := json.Marshal(budgets)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]string
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, pythonLoads, fmt.Sprint(len(all)), string(asked))), &want); err != nil {
		t.Fatal(err)
	}
	got := make([][]string, len(places))
	for i, at := range places {
		for _, budget := range budgets {
			got[i] = append(got[i], memory.Read(at, budget, func(error) {}))
		}
	}
	places[0].Home = "/"
	got = append(got, []string{memory.Read(places[0], memory.Budget, func(error) {})})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-SDK +ohgw):\n%s", diff)
	}
}

// pythonShows prints the dynamic part of the SDK's own prompt where an agent keeps notes.
const pythonShows = `
import json, os
os.environ["HOME"] = os.path.join(os.getcwd(), "home")
os.environ.pop("OH_PERSISTENCE_DIR", None)
from openhands.sdk import LLM, Agent, AgentContext, LocalConversation
agent = Agent(llm=LLM(model="openai/test", api_key="k", usage_id="agent"), tools=[], agent_context=AgentContext(load_memory=True))
c = LocalConversation(agent=agent, workspace=os.path.join(os.getcwd(), "work"), visualizer=None)
c.send_message("hi")
prompt = [e for e in c.state.events if type(e).__name__ == "SystemPromptEvent"][0]
print("RESULT" + json.dumps(prompt.dynamic_context.text))
`

// TestTheSDKShowsTheSameNotes compares with what is in the prompt of a real conversation.
func TestTheSDKShowsTheSameNotes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := memory.Places{Home: filepath.Join(dir, "home"), User: filepath.Join(dir, "home/.openhands/memory"), Workspace: filepath.Join(dir, "work")}
	for path, text := range map[string]string{
		filepath.Join(at.User, "MEMORY.md"):                        "likes tea\r\n" + strings.Repeat("an old line\n", 700) + "likes cake\n",
		filepath.Join(at.Workspace, ".openhands/memory/MEMORY.md"): "tests need a database\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var shown string
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, pythonShows)), &shown); err != nil {
		t.Fatal(err)
	}
	want := "</UNTRUSTED_CONTENT>\n\n" + memory.Read(at, memory.Budget, func(err error) { t.Error(err) }) + "\n</MEMORY_CONTEXT>"
	if !strings.Contains(shown, want) {
		t.Errorf("the SDK shows %s\nwant %s", shown, want)
	}
}
