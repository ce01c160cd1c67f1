//go:build e2e

package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestAQuestionOfSeveralLinesIsSentWhole(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.types("one")
	s.press("C-j")
	s.types("two")
	s.press("M-Enter")
	s.asks("three")
	s.sees("You said: one")
	if n := p.asked("one\ntwo\nthree"); n != 1 {
		t.Errorf("asked %d times with three lines", n)
	}
}

func TestAPasteOfAMegabyteDoesNotFreeze(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("line 9999 "), llmtest.Text("Read it."))
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString("line " + strings.Repeat("x", 90) + " line " + string(rune('0'+i%10)) + "\n")
	}
	b.WriteString("line 9999 is the last")
	s := p.chat(usual, "")
	s.sees("ready")
	s.tmux("load-buffer", p.write("big.txt", b.String()))
	s.tmux("paste-buffer", "-p")
	s.sees("1.0 MB")
	s.types(" and more")
	s.sees("and more")
	s.press("Enter")
	s.sees("Read it.")
}

func TestHistoryComesBack(t *testing.T) {
	t.Parallel()
	s := newPerson(t).chat(usual, "")
	s.sees("ready")
	s.asks("first question")
	s.sees("You said: first question", "ready")
	s.asks("second question")
	s.sees("You said: second question", "ready")
	s.press("Up")
	s.sees("› second question")
	s.press("Up")
	s.sees("› first question")
	s.press("Down")
	s.sees("› second question")
	time.Sleep(50 * time.Millisecond) // what is faster than a person is the wheel of a mouse
	s.press("Down")
	s.sees("› ask something else")
}

func TestAnEditorWritesTheQuestion(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	editor := p.write("editor", "#!/bin/sh\ncp \"$1\" "+p.home+"/before\necho 'from the editor' > \"$1\"\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	s := p.chat(usual, "", "VISUAL="+editor)
	s.sees("ready")
	s.types("draft")
	s.press("C-g")
	s.sees("› from the editor")
	if got := p.read("before"); got != "draft" {
		t.Errorf("the editor got %q", got)
	}
	s.press("Enter")
	s.sees("You said: from the editor")
}

// Ctrl+C in a program that has the terminal ends that program and not the chat.
func TestAnInterruptedProgramDoesNotEndTheChat(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	// One process, before and after it is seen: of a child, dash loses a SIGINT
	// between vfork and exec, and then waits for the child.
	editor := p.write("editor", "#!/bin/sh\necho editing now\nexec sleep 100\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	s := p.chat(usual, "", "VISUAL="+editor)
	s.sees("ready")
	s.press("C-g")
	s.sees("editing now")
	s.press("C-c")
	s.sees("The editor failed", "ready")
	s.asks("/model add")
	s.sees("LLM")
	s.misses("ready")
	s.press("C-c")
	s.sees("no model was added")
	s.asks("hello")
	s.sees("You said: hello")
}

func TestAModelIsPicked(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.press("C-p")
	s.sees("openhands_work", "openhands_spare")
	s.types("spare")
	s.sees("› openhands_spare")
	s.press("Enter")
	s.sees(" openhands_spare ·")
	s.asks("hello")
	s.sees("You said: hello")
	if last := p.llm.Requests(); last[len(last)-1].Model != "spare-model" {
		t.Errorf("asked the model %s", last[len(last)-1].Model)
	}
}

func TestConversationsAreBegunAndResumed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("the number is 7"), llmtest.Text("Noted."))
	p.llm.On(func(r *llmtest.Request) bool {
		return strings.Contains(r.UserText(), "which number") && strings.Contains(string(r.Body), "the number is 7")
	}, llmtest.Text("It is seven."))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("the number is 7")
	s.sees("Noted.", "ready")
	s.press("C-n")
	s.misses("Noted.")
	s.asks("which number?")
	s.sees("You said: which number?", "ready")
	s.press("C-d")
	s.ended()

	// Another chat, later.
	s = p.chat(usual, "")
	s.sees("ready")
	s.press("C-r")
	s.sees("the number is 7", "which number?")
	s.types("the number is")
	s.misses("which number?")
	s.press("Enter")
	s.misses("── Conversations")
	s.asks("and which number is it?")
	s.sees("It is seven.")
}

func TestARunIsStopped(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("still there?"), llmtest.Text("Still here."))
	p.llm.On(llmtest.Says("count"), llmtest.Slow(2000, 20*time.Millisecond))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("count")
	s.sees("word3")
	s.press("Escape")
	s.sees("stopped", "word1 word2 word3", "ready")
	// The agent has stopped, too: the conversation answers at once.
	s.asks("still there?")
	s.sees("Still here.")
}

func TestARunIsAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("roll"), llmtest.Text("A three."), llmtest.Text("A five."))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("roll")
	s.sees("A three.", "ready")
	s.press("C-t")
	s.sees("A five.")
}

func TestAnswersAreCopied(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("code"), llmtest.Text("Like **this**:\n\n```go\nfunc main() {}\n```\n"))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("code")
	s.sees("func main() {}", "ready")
	// The terminal is asked over the wire (OSC 52): tmux keeps it in a buffer.
	copied := func(want string) {
		t.Helper()
		s.until("copied "+want, func(string) bool {
			return strings.TrimSpace(s.tmux("run-shell", "-b", "true")+s.buffer()) == want
		})
	}
	s.press("C-y")
	copied("Like **this**:\n\n```go\nfunc main() {}\n```")
	s.press("M-y")
	copied("func main() {}")
	s.press("C-x")
	s.until("the id of the conversation", func(string) bool {
		return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f-]{27}$`).MatchString(strings.TrimSpace(s.buffer()))
	})
}

// buffer is what tmux has as its clipboard.
func (s *screen) buffer() string {
	s.Helper()
	if s.tmux("list-buffers") == "" {
		return ""
	}
	return s.tmux("show-buffer")
}

func TestAnImageIsAttached(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("dot.gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01L\x00;")
	p.write("text.txt", "no picture")
	p.write("oh/profiles/seeing.json", fmt.Sprintf(`{"model": "openai/gpt-4o", "base_url": %q}`, p.llm.URL))
	s := p.chat(usual, "--model openhands_seeing")
	s.sees("ready")
	s.asks("/image ~/text.txt")
	s.sees("the image ")
	s.asks("/image ~/dot.gif")
	s.sees("dot.gif")
	s.asks("what is it?")
	s.sees("You said: what is it?")
}

func TestProgressIsFolded(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	var calls []llmtest.Call
	for i := range 7 {
		calls = append(calls, llmtest.Call{Name: "terminal", Args: fmt.Sprintf(`{"command":"echo step %d"}`, i)})
	}
	p.llm.On(llmtest.Says("work"), llmtest.Reply{Calls: calls}, llmtest.Finish("Done."))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("work")
	s.sees("7 actions", "echo step 6")
	s.misses("echo step 1")
	s.press("C-o") // the latest action
	s.sees("7 actions", "step 6")
	s.misses("echo step 1")
	s.press("C-o") // all of them
	s.sees("echo step 1", "echo step 6")
	s.press("C-o")
	s.misses("echo step 1")
}

func TestTheTranscriptIsSearchedAndScrolled(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("list"), llmtest.Text("needle one\n\n"+strings.Repeat("- hay\n", 60)+"\nneedle two"))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("list")
	s.sees("needle two", "ready")
	s.press("PageUp", "PageUp", "PageUp", "PageUp")
	s.sees("needle one")
	s.press("M->")
	s.sees("needle two")
	s.misses("needle one")
	s.press("C-f")
	s.types("needle one")
	s.press("Enter")
	s.sees("needle one")
	s.press("Escape")
	s.sees("› ask something else")
	// The wheel: three notches up from the end.
	s.press("M->")
	s.sees("needle two")
	s.asks("/mouse")
	s.sees("the wheel scrolls")
	for range 5 {
		s.types("\x1b[<64;10;5M") // the wheel, upwards
	}
	s.misses("needle two")
}

func TestHelpHasAllKeys(t *testing.T) {
	t.Parallel()
	for _, z := range sizes {
		t.Run(z.String(), func(t *testing.T) {
			t.Parallel()
			s := newPerson(t).chat(z, "")
			s.sees("ready")
			s.asks("/help")
			s.sees("Enter", "send")
			s.golden("help", z)
			s.press("Escape")
			s.misses("── Help")
		})
	}
}

func TestTheSystemTextReachesTheAgent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("/system Speak like a pirate.")
	s.sees("Speak like a pirate.")
	s.asks("hello")
	s.sees("You said: hello")
	if body := string(p.llm.Requests()[0].Body); !strings.Contains(body, "Speak like a pirate.") {
		t.Errorf("the agent was not told: %.300s", body)
	}
}

func TestTheConversationIsSaved(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("remember this")
	s.sees("You said: remember this", "ready")
	s.asks("/save ~/talk.md")
	s.sees("talk.md")
	s.until("the file", func(string) bool {
		_, err := os.Stat(filepath.Join(p.home, "talk.md"))
		return err == nil
	})
	if text := p.read("talk.md"); strings.Count(text, "remember this") != 2 {
		t.Errorf("saved %q", text)
	}
	s.asks("/save ~/talk.md")
	s.sees("exists already")
}

func TestWhatWaitsIsAcceptedOrRefused(t *testing.T) {
	t.Parallel()
	for _, z := range sizes {
		t.Run(z.String(), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.llm.On(llmtest.Says("clean"),
				llmtest.Reply{Text: "I would clean up.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"touch ` + p.home + `/project/proof"}`}}},
				llmtest.Finish("Clean."))
			s := p.chat(z, "", "OHGW_CONFIRM=always")
			s.sees("ready")
			s.asks("clean up")
			s.sees("Confirm this action?")
			if z == usual {
				// The path of the proof is another one each time.
				s.sees("touch", "I would clean up.")
			}
			s.press("y")
			s.sees("Clean.", "ready")
			if _, err := os.Stat(filepath.Join(p.home, "project", "proof")); err != nil {
				t.Error("accepted, and nothing was done: ", err)
			}
		})
	}
	p := newPerson(t)
	p.llm.On(llmtest.Says("rm -rf"), llmtest.Tool("terminal", `{"command":"touch `+p.home+`/project/proof"}`), llmtest.Text("As you wish."))
	p.llm.On(func(r *llmtest.Request) bool { return strings.Contains(string(r.Body), "rm -rf") }, llmtest.Text("As you wish."))
	s := p.chat(usual, "", "OHGW_CONFIRM=always")
	s.sees("ready")
	s.asks("rm -rf please")
	s.sees("Confirm this action?")
	s.press("n")
	s.sees("As you wish.")
	if _, err := os.Stat(filepath.Join(p.home, "project", "proof")); err == nil {
		t.Error("refused, and done all the same")
	}
}

func TestAPromptOfTheCommandLineIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "'from the command line'")
	s.sees("You said: from the command line", "ready")
	s.asks("and on")
	s.sees("You said: and on")
}

func TestTheDemoNeedsNothing(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "--demo", "OH_PERSISTENCE_DIR="+p.home+"/nothing")
	s.sees("ready", "demo")
	s.asks("Hello")
	s.sees("No AI is behind this answer")
	s.sees("1 action")
	if n := len(p.llm.Requests()); n != 0 {
		t.Errorf("%d requests went out", n)
	}
}
