package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

// desk is a directory with some files, in which commands print what they are.
type desk struct {
	names   []string
	err     error
	listed  []bool // whether hidden files were asked for
	hangs   bool   // commands run until they are ended
	started []string
}

func (d *desk) Names(_ context.Context, _ string, hidden bool) ([]string, bool, error) {
	d.listed = append(d.listed, hidden)
	names := d.names
	if hidden {
		names = append([]string{".env", ".github/"}, names...)
	}
	return names, false, d.err
}

func (d *desk) Find(dir, path string) (File, bool) {
	for _, n := range append([]string{".env"}, d.names...) {
		if strings.TrimSuffix(n, "/") == strings.TrimSuffix(path, "/") {
			return File{Path: dir + "/" + path, Picture: strings.HasSuffix(path, ".png")}, true
		}
	}
	return File{}, false
}

func (d *desk) Run(ctx context.Context, dir, line string, out io.Writer) (int, error) {
	d.started = append(d.started, dir+": "+line)
	if line == "none" {
		return -1, errors.New("there is no shell")
	}
	_, _ = fmt.Fprintf(out, "\x1b[31mran\x1b[0m %s\n", line)
	if d.hangs {
		<-ctx.Done()
		return -1, ctx.Err()
	}
	if line == "false" {
		return 1, nil
	}
	return 0, nil
}

// at gives a chat a directory.
func at(d *desk) func(*Config) {
	return func(cfg *Config) { cfg.Local, cfg.Start.Workspace = d, "/src" }
}

func project() *desk {
	return &desk{names: []string{"README.md", "cli/", "logo.png", "my notes.txt", "cli/chat.go", "cli/keys.go"}}
}

func answers() *script {
	return &script{answer: says(gateway.Started{}, gateway.Text("done"), finished())}
}

func TestAFileIsCompletedAndSentByItsPath(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.press("read @cha")
		c.sees("Files", "› cli/chat.go")
		c.misses("README.md")
		c.press("tab")
		if got := c.input.Value(); got != "read @cli/chat.go " {
			t.Fatalf("the input has %q", got)
		}
		c.misses("Files")
		c.ask("and @README.md, please; not @nothing or me@README.md")
		c.sees("read @cli/chat.go and @README.md, please")
		s.asks(t, 1, gateway.Question{Text: "read /src/cli/chat.go and /src/README.md, please; not @nothing or me@README.md"})
	})
}

func TestFilesAreChosenWithTheArrowsAndEnter(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.press("@", "down", "enter")
		if got := c.input.Value(); got != "@cli/" {
			t.Fatalf("the input has %q", got)
		}
		c.sees("cli/chat.go", "cli/keys.go")
		c.press("key", "enter")
		c.press("@my", "enter")
		if got := c.input.Value(); got != `@cli/keys.go @"my notes.txt" ` {
			t.Fatalf("the input has %q", got)
		}
		c.press("enter")
		c.wait(time.Second)
		s.asks(t, 1, gateway.Question{Text: `/src/cli/keys.go "/src/my notes.txt" `})
	})
}

func TestAWholeNameIsSentWithEnter(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.ask("@README.md")
		s.asks(t, 1, gateway.Question{Text: "/src/README.md"})
		c.ask("@property is what?")
		c.ask("who is @nobody")
		s.asks(t, 3, gateway.Question{Text: "who is @nobody"})
	})
}

func TestEscClosesTheMenuUntilTheNextWord(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.press("@R", "esc")
		c.misses("Files")
		c.press("E")
		c.misses("Files")
		c.press(" @R")
		c.sees("Files", "README.md")
	})
}

func TestHiddenFilesAreListedWhenTheyAreAskedFor(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.press("@e")
		c.misses(".env")
		c.press("backspace", ".e")
		c.sees("› .env")
		if len(d.listed) != 2 || d.listed[0] || !d.listed[1] {
			t.Errorf("listed %v", d.listed)
		}
	})
}

func TestAPictureGoesWithTheQuestion(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.ask("what is on @logo.png?")
		s.asks(t, 1, gateway.Question{Text: "what is on /src/logo.png?", Images: []string{"data:image/png;base64,AA=="}})
		c.sees("+ /src/logo.png")
	})
}

func TestFilesThatCannotBeListedAreExplained(t *testing.T) {
	t.Parallel()
	broken := project()
	broken.err = errors.New("permission denied")
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"remote":  {nil, "the agent's files cannot be reached from here"},
		"unknown": {func(cfg *Config) { cfg.Local = project() }, "the directory is not known before the first answer"},
		"broken":  {at(broken), "the files cannot be listed: permission denied"},
		"nothing": {at(&desk{}), "no file of this name"},
	} {
		t.Run(name, func(t *testing.T) {
			talk(t, answers(), tc.change, func(c *chat) {
				c.press("@x")
				c.sees(tc.want)
			})
		})
	}
}

func TestCommandsAreChosenWithTheArrows(t *testing.T) {
	talk(t, answers(), nil, func(c *chat) {
		c.press("/", "down", "down")
		c.sees("› /new")
		c.press("up", "enter")
		if got := c.input.Value(); got != "/model " {
			t.Errorf("the input has %q", got)
		}
		c.press("ctrl+u", "/", "up", "up")
		c.sees("› /help")
		c.press("enter")
		c.sees("Keys")
	})
}

func TestTheHistoryIsNotCaughtInTheMenu(t *testing.T) {
	talk(t, answers(), nil, func(c *chat) {
		c.ask("first")
		c.press("/new", "enter", "up", "up")
		if got := c.input.Value(); got != "first" {
			t.Errorf("the input has %q", got)
		}
	})
}

func TestACommandOfTheUserIsShownAndGoesToTheAgent(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.ask("!false")
		c.sees("! false", "ran false", "exit code 1", "+ output of $ false")
		if len(s.asked) != 0 {
			t.Fatalf("asked %+v", s.asked)
		}
		c.ask("why?")
		s.asks(t, 1, gateway.Question{Text: "I ran a command in /src (exit code 1):\n```\n$ false\nran false\n```\n\nwhy?"})
		c.sees("▌ why?", "▌ + output of $ false")
		c.ask("again")
		s.asks(t, 2, gateway.Question{Text: "again"})
	})
}

func TestAnOutputCanBeTakenAway(t *testing.T) {
	s, d := answers(), project()
	talk(t, s, at(d), func(c *chat) {
		c.ask("!ls")
		c.press("backspace")
		c.misses("+ output")
		c.ask("go")
		s.asks(t, 1, gateway.Question{Text: "go"})
	})
}

func TestCtrlCEndsTheCommandOfTheUser(t *testing.T) {
	s, d := answers(), project()
	d.hangs = true
	talk(t, s, at(d), func(c *chat) {
		c.ask("!sleep 9")
		c.sees("ran sleep 9", "Ctrl+C ends it")
		c.ask("!ls")
		c.sees("a command is running")
		if got := c.input.Value(); got != "!ls" {
			t.Errorf("the input has %q", got)
		}
		c.press("ctrl+c")
		c.wait(time.Second)
		c.sees("interrupted · ")
		if c.quit {
			t.Error("the chat has quit")
		}
	})
}

func TestACommandRunsWhileTheAgentWorks(t *testing.T) {
	d := project()
	s := &script{answer: hangs(gateway.Started{})}
	talk(t, s, at(d), func(c *chat) {
		c.ask("go")
		c.ask("!ls")
		c.sees("ran ls", "exit code 0")
		c.press("ctrl+c")
		c.sees("stopped")
	})
}

func TestANewConversationEndsTheCommand(t *testing.T) {
	s, d := answers(), project()
	d.hangs = true
	talk(t, s, at(d), func(c *chat) {
		c.ask("!sleep 9")
		c.press("/new", "enter")
		c.wait(time.Second)
		c.misses("interrupted", "Ctrl+C ends it", "+ output")
	})
}

func TestACommandThatCannotRunIsExplained(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change     func(*Config)
		line, want string
	}{
		"remote":   {nil, "!ls", "the agent's files cannot be reached from here"},
		"unknown":  {func(cfg *Config) { cfg.Local = project() }, "!ls", "the directory is not known"},
		"nothing":  {at(project()), "! ", "! needs a command"},
		"no shell": {at(project()), "!none", "There is no shell"},
	} {
		t.Run(name, func(t *testing.T) {
			talk(t, answers(), tc.change, func(c *chat) {
				c.ask(tc.line)
				c.sees(tc.want)
			})
		})
	}
}

func TestPlainChatRunsCommandsAndSendsFiles(t *testing.T) {
	t.Parallel()
	s, d := answers(), project()
	got := onPaper(t, s, at(d), "!ls", "read @README.md", "/quit")
	counts(t, got, map[string]int{"> ran ls\n": 1, "Command ended: exit code 0. The agent reads this with your next message.\n": 1})
	s.asks(t, 1, gateway.Question{Text: "I ran a command in /src (exit code 0):\n```\n$ ls\nran ls\n```\n\nread /src/README.md"})
}

func TestCtrlCEndsTheCommandOfAPlainChat(t *testing.T) {
	t.Parallel()
	s, d := answers(), project()
	d.hangs = true
	got := onPaper(t, s, func(cfg *Config) {
		at(d)(cfg)
		keys := make(chan struct{})
		cfg.Interrupt = keys
		go func() {
			time.Sleep(40 * time.Second)
			keys <- struct{}{}
		}()
	}, "!sleep 9", "go")
	counts(t, got, map[string]int{"Still running, ": 1, "Command ended: interrupted.": 1, "Done: ": 1})
}
