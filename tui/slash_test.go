package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

// uses are one use of each command, with what it shows in both views after a
// question that was answered with a block of code.
var uses = []struct {
	name, text    string
	screen, plain string
}{
	{"/model", "/model work", "openhands_work", "Model: openhands_work\n"},
	{"/new", "/new", "New conversation.", "New conversation.\n"},
	{"/resume", "/resume c-7", "conversation c-7", "conversation c-7"},
	{"/sessions", "/sessions flaky", "Conversations  flaky", "> Conversations are not stored on this machine"},
	{"/rename", "/rename Later", "renamed to Later", "> Conversations are not stored on this machine"},
	{"/delete", "/delete", "/delete yes deletes this conversation", "/delete yes deletes this conversation"},
	{"/id", "/id", "copied the id", "> i\n"},
	{"/retry", "/retry", "▌ go", "Done: "},
	{"/copy", "/copy 1", "copied the code, 1 line", "Copied the code, 1 line.\n"},
	{"/image", "/image a.png", "attached a.png · 120 kB", "Attached a.png · 120 kB.\n"},
	{"/system", "/system be brief", "be brief", "be brief\n"},
	{"/goal", "/goal pass", "▌ /goal pass", "Done: "},
	{"/save", "/save f.md", "saved to /home/me/f.md", "Saved to f.md.\n"},
	{"/confirm", "/confirm always", "Confirmation, from your next message on: always (every action waits).", "always (every action waits).\n"},
	{"/sandbox", "/sandbox", "this gateway does not tell about its sandbox", "This gateway does not tell about its sandbox.\n"},
	{"/mcp", "/mcp", "this gateway lists no MCP servers and skills", "This gateway lists no MCP servers and skills.\n"},
	{"/skills", "/skills", "this gateway lists no MCP servers and skills", "This gateway lists no MCP servers and skills.\n"},
	{"/condense", "/condense", "this gateway cannot shorten a conversation", "This gateway cannot shorten a conversation.\n"},
	{"/picture", "/picture", "there is no screenshot in this conversation", "/picture needs a screen.\n"},
	{"/find", "/find code", "/code", "/find needs a screen.\n"},
	{"/progress", "/progress", "● ready", "/progress needs a screen.\n"},
	{"/mouse", "/mouse", "the wheel scrolls", "/mouse needs a screen.\n"},
	{"/theme", "/theme dark", "theme: dark", "/theme needs a screen.\n"},
	{"/settings", "/settings", "as ohgw serve has it", "Confirmation: as ohgw serve has it"},
	{"/vim", "/vim", "the keys of vi are on", "/vim needs a screen.\n"},
	{"/help", "/help", "Help", "\n/retry: "},
	{"/quit", "/quit", "", "ohgw chat --conversation i\n"},
}

func TestEveryCommandHasAUse(t *testing.T) {
	t.Parallel()
	var commands, used []string
	for _, c := range slashCommands() {
		commands = append(commands, c.name)
	}
	for _, u := range uses {
		used = append(used, u.name)
	}
	if diff := cmp.Diff(commands, used); diff != "" {
		t.Errorf("the commands and their uses differ (-command +use):\n%s", diff)
	}
}

func TestEveryCommandHasOneFunction(t *testing.T) {
	t.Parallel()
	for _, c := range slashCommands() {
		if (c.run == nil) == (c.onScreen == nil) {
			t.Errorf("%s has not exactly one of run and onScreen", c.name)
		}
	}
}

const codeAnswer = "see:\n\n```\ncode\n```\n"

func TestCommandsOnTheScreen(t *testing.T) {
	t.Parallel()
	for _, u := range uses {
		t.Run(u.name, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text(codeAnswer), finished())}
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				c.press(u.text, "enter")
				if c.quit != (u.name == "/quit") {
					t.Errorf("quit = %v", c.quit)
				}
				if !strings.Contains(c.screen(), u.screen) {
					t.Errorf("%q is not on the screen:\n%s", u.screen, c.screen())
				}
				if got := c.input.Value(); got != "" {
					t.Errorf("the input still has %q", got)
				}
				if !slices.Contains(c.input.history, u.text) {
					t.Errorf("the arrow keys do not find %q in %q", u.text, c.input.history)
				}
			})
		})
	}
}

func TestCommandsLineByLine(t *testing.T) {
	t.Parallel()
	for _, u := range uses {
		t.Run(u.name, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text(codeAnswer), finished())}
			got := onPaper(t, s, plainWorld, "go", u.text)
			if _, after, _ := strings.Cut(got, "Done: "); !strings.Contains(after, u.plain) {
				t.Errorf("%q is not written after the answer:\n%s", u.plain, got)
			}
		})
	}
}

// TestAGoalGoesWithItsQuestion has it in both views, and again with /retry.
func TestAGoalGoesWithItsQuestion(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, s *script) {
		t.Helper()
		var goals []string
		for _, q := range s.asked {
			goals = append(goals, q.Text+"|"+q.Goal)
		}
		if diff := cmp.Diff([]string{"go|", "all pass|all pass", "all pass|all pass", "next|"}, goals); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("line by line", func(t *testing.T) {
		s := &script{answer: says(gateway.Started{}, gateway.Text("ok"), finished())}
		onPaper(t, s, nil, "go", "/goal all pass", "/retry", "next")
		check(t, s)
	})
	t.Run("on the screen", func(t *testing.T) {
		s := &script{answer: says(gateway.Started{}, gateway.Text("ok"), finished())}
		talk(t, s, nil, func(c *chat) {
			for _, text := range []string{"go", "/goal all pass", "/retry", "next"} {
				c.ask(text)
			}
			check(t, s)
		})
	})
}

// plainWorld gives a plain chat a clipboard, files and pictures.
func plainWorld(cfg *Config) {
	cfg.Copy = func(context.Context, string) error { return nil }
	cfg.Save = func(_ context.Context, path, _ string) (string, error) { return path, nil }
	cfg.ReadImage = func(_ context.Context, path string) (Image, error) { return Image{Name: path, Size: 120_000}, nil }
}

// refused are uses that cannot be done, with what both views say.
var refused = []struct {
	text, why string
	change    func(*Config)
}{
	{text: "/model zzz", why: "zzz"},
	{text: "/copy 9", why: "the last answer has 1 blocks of code"},
	{text: "/copy x", why: "the last answer has 1 blocks of code"},
	{text: "/image", why: "/image needs the path of a picture"},
	{text: "/image a.png", why: "/image needs the path of a picture", change: func(cfg *Config) { cfg.ReadImage = nil }},
	{text: "/confirm sometimes", why: "/confirm needs never, risky or always"},
	{text: "/model add", why: "run ohgw profiles add"},
	{text: "/goal", why: "/goal needs what is to be reached"},
	{text: "/save", why: "/save needs the name of a file"},
	{text: "/modell x", why: "there is no command /modell; did you mean /model?"},
	{text: "/foo", why: "there is no command /foo; /help lists them, // begins a text with /"},
	{text: "/", why: "there is no command /; /help lists them, // begins a text with /"},
	{text: "/save f.md", why: "/save needs the name of a file", change: func(cfg *Config) { cfg.Save = nil }},
}

func TestACommandThatCannotBeDoneStaysInTheInput(t *testing.T) {
	t.Parallel()
	for _, r := range refused {
		t.Run(r.text, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text(codeAnswer), finished())}
			talk(t, s, r.change, func(c *chat) {
				c.ask("go")
				c.press(r.text, "enter")
				c.sees(r.why)
				if got := c.input.Value(); got != r.text {
					t.Errorf("the input has %q, want %q", got, r.text)
				}
			})
		})
	}
}

func TestACommandThatCannotBeDoneIsSaidLineByLine(t *testing.T) {
	t.Parallel()
	for _, r := range refused {
		t.Run(r.text, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text(codeAnswer), finished())}
			got := onPaper(t, s, func(cfg *Config) {
				plainWorld(cfg)
				if r.change != nil {
					r.change(cfg)
				}
			}, "go", r.text)
			if want := strings.ReplaceAll(r.why[1:]+".\n", "?.", "?"); !strings.Contains(got, want) {
				t.Errorf("%q is not written:\n%s", want, got)
			}
		})
	}
}

func TestPlainClipboardErrorsAreWritten(t *testing.T) {
	t.Parallel()
	s := &script{answer: says(gateway.Started{}, gateway.Text("answer"), finished())}
	for _, tc := range []struct {
		name, want string
		copy       func(context.Context, string) error
	}{
		{"none", "copied here.\n", nil},
		{"broken", "Error: No xclip\n", func(context.Context, string) error { return errors.New("no xclip") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := onPaper(t, s, func(cfg *Config) { cfg.Copy = tc.copy }, "go", "/copy")
			if !strings.Contains(got, tc.want) {
				t.Errorf("%q is not written:\n%s", tc.want, got)
			}
		})
	}
}

func TestSlashFindsCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, name, rest string }{
		{"/new", "/new", ""},
		{"  /model  a b ", "/model", "a b"},
		{"/exit", "/quit", ""},
		{"/etc/hosts is what?", "", ""},
		{"/", "", ""},
		{"new", "", ""},
		{"/NEW", "", ""},
	} {
		c, rest, ok := slash(tc.text)
		if ok != (tc.name != "") {
			t.Errorf("slash(%q) is a command: %v", tc.text, ok)
		}
		if c.name != tc.name {
			t.Errorf("slash(%q) is %q, want %q", tc.text, c.name, tc.name)
		}
		if rest != tc.rest {
			t.Errorf("what follows in %q is %q, want %q", tc.text, rest, tc.rest)
		}
	}
}

func TestCompletionWritesWhatIsSure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"/mod", "/model "},
		{"/n", "/new"},
		{"/re", "/re"},
		{"/s", "/s"},
		{"/sy", "/system "},
		{"/", "/"},
		{"/zzz", ""},
		{"/new x", ""},
		{"hello", ""},
		{"", ""},
	} {
		if got := completed(tc.text); got != tc.want {
			t.Errorf("completed(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestATextThatBeginsWithASlashIsSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/usr/bin/x is missing":  "/usr/bin/x is missing",
		"//modell":               "/modell",
		"  //model is a command": "/model is a command",
		"///x":                   "//x",
	} {
		t.Run(text, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text("yes"), finished())}
			talk(t, s, nil, func(c *chat) {
				c.ask(text)
				s.asks(t, 1, gateway.Question{Text: want})
			})
			s = &script{answer: says(gateway.Started{}, gateway.Text("yes"), finished())}
			onPaper(t, s, nil, text)
			s.asks(t, 1, gateway.Question{Text: want})
		})
	}
}

func TestATextThatIsGivenBackIsSentTheSecondTime(t *testing.T) {
	s := &script{answer: hangs(gateway.Started{})}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.ask("//modell")
		c.press("esc")
		if got := c.input.Value(); got != "//modell" {
			t.Errorf("the input has %q", got)
		}
	})
}

// Enter takes the first command that begins as the text does, which the menu shows first.
// One that would be done at once, and is not the only one, is only chosen.
func TestEnterTakesTheCommandThatIsBegun(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		input, screen string
	}{
		"/mo":    {"/model ", "/model"},
		"/the":   {"/theme ", "/theme"},
		"/he":    {"", "Help"},
		"/pro":   {"", "● ready"},
		"/vi":    {"", "the keys of vi are on"},
		"/re":    {"/resume ", "/resume"},
		"/n":     {"", "New conversation."},
		"/mc":    {"", "this gateway lists no MCP servers and skills"},
		"/s":     {"/sessions ", "/sessions"},
		"/c":     {"/copy ", "/copy"},
		"/q now": {"/q now", "there is no command /q"},
		"/zz":    {"/zz", "there is no command /zz"},
		"/":      {"/", "there is no command /;"},
		"/i":     {"/i", "/image PATH"},
		"/i \n":  {"", "copied the id"}, // Enter again
	} {
		t.Run(text, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{}, gateway.Text(codeAnswer), finished())}
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				word, again := strings.CutSuffix(text, " \n")
				c.press(word, "enter")
				if again {
					c.press("enter")
				}
				if got := c.input.Value(); got != want.input {
					t.Errorf("the input has %q, want %q", got, want.input)
				}
				if !strings.Contains(c.screen(), want.screen) {
					t.Errorf("%q is not on the screen:\n%s", want.screen, c.screen())
				}
			})
		})
	}
}
