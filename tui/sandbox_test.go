package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// guard is a sandbox that notes what was decided.
type guard struct {
	level string
	err   error
	told  []string
}

func (g *guard) Sandbox(context.Context) (gateway.Sandbox, error) {
	return gateway.Sandbox{Level: g.level, Reason: "no user \x1b[2Jnamespaces", Fix: "ohgw doctor", Open: []string{"net @packages"}}, g.err
}

func (g *guard) Grant(_ context.Context, conversation string, b gateway.Block, scope gateway.Scope) error {
	g.told = append(g.told, strings.Join([]string{conversation, b.Access, b.Target, string(scope)}, " "))
	return g.err
}

func guarded(g *guard) func(*Config) { return func(cfg *Config) { cfg.Guard = g } }

func refusal(target string, held bool) gateway.Block {
	host, _, _ := strings.Cut(target, ":")
	return gateway.Block{Access: "net", Target: target, Why: "host " + host + " is not on the allow list", Allow: "net " + host, Held: held}
}

// stopped is an answer with a command that the sandbox stops.
func stopped(held bool) []gateway.Piece {
	pip := gateway.Call{ID: "1", State: "running", Kind: "command", Tool: "terminal", Line: "$ pip install flask", Input: "pip install flask"}
	ended := pip
	code := 1
	ended.State, ended.ExitCode, ended.Output = "failed", &code, "ERROR: No matching distribution found for flask\n"
	return []gateway.Piece{gateway.Started{}, gateway.Text("I install it.\n"), pip, refusal("pypi.example:443", held), ended, gateway.Text("It cannot be reached."), finished()}
}

func (g *guard) was(c *chat, want ...string) {
	c.Helper()
	if got := strings.Join(g.told, "|"); got != strings.Join(want, "|") {
		c.Errorf("decided %q, want %q", got, want)
	}
}

func TestARefusalIsAllowedByItsCard(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]struct{ scope, said string }{
		"o": {"once", "allowed once"}, "c": {"conversation", "allowed in this conversation"},
		"w": {"workspace", "allowed in this workspace"}, "n": {"no", "stays refused"},
	} {
		t.Run(key, func(t *testing.T) {
			g, s := &guard{level: "full"}, &script{answer: says(stopped(false)...)}
			talk(t, s, guarded(g), func(c *chat) {
				c.ask("Install it")
				c.sees("⊘ sandbox refused pypi.example:443 · a: allow")
				c.misses("sandbox full", "Allow this")
				c.press("a")
				c.wait(time.Second)
				c.sees("Allow this in the sandbox?", "Host pypi.example is not on the allow list.", "o once   c conversation   w workspace   › n no")
				c.press(key)
				c.wait(time.Second)
				g.was(c, "00000001-id net pypi.example:443 "+want.scope)
				c.sees("⊘ sandbox refused pypi.example:443 · " + want.said)
				c.misses("Allow this")
				if again := "Try again: pypi.example:443 is allowed now."; key == "n" {
					c.misses(again)
				} else {
					c.sees(again, "Sandbox: pypi.example:443 is "+want.said)
					c.press("enter")
					s.asks(t, 2, gateway.Question{Text: again})
				}
			})
		})
	}
}

func TestAProgramThatWaitsIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys []string
		told string
		says string
	}{
		"an accidental Enter":    {[]string{"enter"}, "no", "stays refused"},
		"the letter with Enter":  {[]string{"o", "enter"}, "once", "allowed once; the program goes on."},
		"chosen by arrows":       {[]string{"left", "left", "left", "right", "enter"}, "conversation", "allowed in this conversation"},
		"a word that begins so":  {[]string{"no way"}, "", "at most"},
		"a text that is written": {[]string{"hello", "enter"}, "", "then: hello"},
		"closed":                 {[]string{"esc"}, "", "a: allow"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := &guard{level: "full"}, &script{answer: hangs(stopped(true)[:4]...)}
			talk(t, s, guarded(g), func(c *chat) {
				c.ask("Install it")
				c.sees("◆ allow?", "The program waits for your answer: 1 min 00 s.", "› n no")
				c.press(tc.keys...)
				c.wait(2 * time.Second)
				if tc.told == "" {
					g.was(c)
				} else {
					g.was(c, "00000001-id net pypi.example:443 "+tc.told)
				}
				if name != "a word that begins so" {
					c.sees(tc.says)
				}
				if c.chat.Turn == nil {
					t.Error("the run was stopped")
				}
			})
		})
	}
}

func TestNobodyAnswersAProgramThatWaits(t *testing.T) {
	g, s := &guard{}, &script{answer: hangs(stopped(true)[:4]...)}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("Install it")
		c.press("draft")
		c.wait(61 * time.Second)
		c.sees("no answer in time: pypi.example:443 is refused", "· a: allow")
		c.misses("Allow this")
		g.was(c)
	})
}

func TestSeveralProgramsWaitOneAfterTheOther(t *testing.T) {
	g := &guard{}
	pieces := append(stopped(true)[:4], refusal("other.example:22", true), refusal("pypi.example:443", true))
	s := &script{answer: hangs(pieces...)}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("Install it")
		c.press("o", "enter")
		c.sees("  other.example:22")
		c.click("w workspace")
		g.was(c, "00000001-id net pypi.example:443 once", "00000001-id net other.example:22 workspace")
		c.misses("Allow this")
	})
}

func TestADecisionThatFailsIsOpenAgain(t *testing.T) {
	g := &guard{err: &gateway.Error{Kind: gateway.Refused, Message: "this \x1b[2Jkey may not."}}
	s := &script{answer: says(stopped(false)...)}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("Install it")
		c.press("a")
		c.wait(time.Second)
		c.press("w")
		c.wait(time.Second)
		c.sees("Not decided about pypi.example:443: This key may not.", "ohgw sandbox allow net pypi.example", "· a: allow")
	})
}

func TestAKeyThatMayNotDecideIsNotAskedAgain(t *testing.T) {
	g := &guard{err: &gateway.Error{Kind: gateway.Refused, Status: 403, Message: "this key may not."}}
	s := &script{answer: hangs(append(stopped(true)[:4], refusal("other.example:22", true))...)}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("Install it")
		c.press("w", "enter")
		c.wait(time.Second)
		c.sees("Not decided about pypi.example:443: This key may not.")
		c.sees("pypi.example:443 · ohgw sandbox allow net pypi.example", "other.example:22 · ohgw sandbox allow net other.example")
		c.misses("Allow this", "◆ allow?")
	})
}

func TestARefusalIsShownHarmless(t *testing.T) {
	g := &guard{}
	hostile := gateway.Block{Access: "write", Target: "/etc/\x1b[2Jho\u202ests", Why: "it is \x1b]0;x\aread-only", Allow: "write /etc/hosts", Held: true}
	fixed := gateway.Block{Access: "read", Target: "/etc/shadow", Why: "nothing opens it"}
	s := &script{answer: says(gateway.Started{}, hostile, fixed, gateway.Done{RunStatus: "finished", Finish: "stop", Blocked: []gateway.Block{hostile, fixed, refusal("late.example:80", false)}})}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("go")
		c.sees("⊘ sandbox refused write /etc/hosts · it is read-only", "⊘ sandbox refused read /etc/shadow · nothing opens it", "⊘ sandbox refused late.example:80 · a: allow")
		c.press("a")
		c.wait(time.Second)
		c.press("o")
		c.wait(time.Second)
		g.was(c, "00000001-id net late.example:80 once")
		c.press("ctrl+u", "a")
		c.wait(time.Second)
		c.misses("Allow this")
	})
}

func TestTheNextQuestionTakesTheKeyBack(t *testing.T) {
	g := &guard{level: "off"}
	s := &script{answer: says(stopped(false)...)}
	talk(t, s, guarded(g), func(c *chat) {
		c.ask("Install it")
		c.sees("sandbox off  ● ready")
		s.answer = says(gateway.Started{}, gateway.Text("Well."), finished())
		c.ask("Never mind")
		c.send(tea.WindowSizeMsg{Width: 100, Height: 40})
		c.sees("⊘ sandbox refused pypi.example:443 · ohgw sandbox allow net pypi.example")
		c.press("a")
		c.wait(time.Second)
		c.misses("Allow this")
		c.press("ctrl+u", "/sandbox", "enter")
		c.sees("level    off", "why      no user namespaces", "to do    ohgw doctor", "open     net @packages", "refused  pypi.example:443 · host pypi.example is not", "/sandbox allow asks")
		c.press("esc", "/sandbox allow", "enter")
		c.sees("Allow this in the sandbox?")
	})
}

func TestWithoutAGuardTheCommandIsShown(t *testing.T) {
	s := &script{answer: says(stopped(true)...)}
	talk(t, s, nil, func(c *chat) {
		c.ask("Install it")
		c.sees("⊘ sandbox refused pypi.example:443 · ohgw sandbox allow net pypi.example")
		c.press("/sandbox", "enter")
		c.sees("this gateway does not tell about its sandbox")
	})
}

func TestAPlainChatAsksAboutTheSandbox(t *testing.T) {
	t.Parallel()
	g, s := &guard{level: "full"}, &script{}
	s.answer = func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		for _, p := range stopped(true)[:4] {
			say(p)
		}
		time.Sleep(40 * time.Second)
		return says(stopped(true)[4:]...)(ctx, gateway.Question{}, say)
	}
	got := onPaper(t, s, guarded(g), "go", "once", "/sandbox")
	counts(t, got, map[string]int{
		"Sandbox: refused net pypi.example:443, host pypi.example is not on the allow list. To allow it: ohgw sandbox allow net pypi.example\n":      1,
		"The program waits for your answer, at most 1 min 00 s.\nAllow pypi.example:443 in the sandbox? Type once, conversation, workspace or no.\n": 1,
		"Sandbox: pypi.example:443 is allowed once; the program goes on.\n":                                                                          1,
		"level: full\n": 1,
	})
	if len(g.told) != 1 || len(s.asked) != 1 {
		t.Errorf("decided %q, asked %d", g.told, len(s.asked))
	}
}
