package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
)

// plain shows a session line by line: nothing is drawn twice, nothing moves, and
// every line says by a word what it is. A screen reader reads it as it comes.
type plain struct {
	ctx   context.Context
	cfg   Config
	chat  *session.Session
	lines <-chan typedLines // what the user writes; closed at its end
	msgs  chan tea.Msg
	group sync.WaitGroup // commands
	quiet *time.Timer    // fires when a wait has to be explained
	paper sheet

	said    int    // how often something was printed
	sent    int    // said, when the question went
	linked  bool   // there was a model to talk to
	trouble string // what was said last about the gateway
	written string // lines that go on
	pasted  bool   // written was pasted, and waits for Enter
	typed   bool   // the user has written something
	partial bool   // the output of a command does not end its line
	asked   bool   // the prompt waits for a line
	// question is what of the refusals of the sandbox was asked about last.
	question *session.Block
	end      error // why the chat is over, or nil
}

// errLeave ends the chat without a word.
var errLeave = errors.New("leave")

// runPlain chats line by line. What is typed is read by a goroutine that ends
// with cfg.In; nothing can take it back from a read that waits.
func runPlain(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	lines := make(chan typedLines)
	p := &plain{ctx: ctx, cfg: cfg, lines: lines, msgs: make(chan tea.Msg), quiet: time.NewTimer(hungAfter)}
	p.chat = session.New(ctx, cfg.session("type /retry", "/model", false), p)
	defer p.group.Wait()
	defer cancel()
	go readLines(ctx, cfg, lines) // Not waited for: see above.
	p.print("ohgw chat " + cfg.Place.At() + ". Type a question and press Enter; end a line with a backslash to continue on the next. /help lists the commands.")
	if cfg.Place.Notice != "" {
		p.print(cfg.Place.Notice)
	}
	p.run(p.chat.Open())
	for p.end == nil {
		p.step()
	}
	for _, line := range cfg.Hints.Leave(p.chat.Convo) {
		p.print(line)
	}
	if errors.Is(p.end, errLeave) {
		return nil
	}
	return p.end
}

// step waits for what happens next. What the user writes waits until there is
// nothing else to wait for.
func (p *plain) step() {
	p.putQuestion()
	var lines <-chan typedLines
	if p.linked && (p.chat.Turn == nil || p.chat.Sandbox.Asked != nil) && p.chat.Commands.Running == nil && p.chat.Working == 0 {
		lines = p.lines
		if !p.asked {
			_, _ = fmt.Fprint(p.cfg.Out, "> ")
		}
		p.asked = true
	}
	select {
	case msg := <-p.msgs:
		before := p.said + len(p.paper.text)
		p.take(msg)
		if p.said+len(p.paper.text) != before { // a sign of life of the gateway says nothing to a person
			p.quiet.Reset(hungAfter)
		}
	case line, ok := <-lines:
		if !ok {
			p.end = errLeave
			return
		}
		p.entered(line)
		p.quiet.Reset(hungAfter)
		if p.sent = p.said; p.chat.Turn != nil {
			p.quiet.Reset(atFirst)
		}
	case <-p.quiet.C:
		p.explain()
	case <-p.cfg.Interrupt:
		p.interrupt()
	case <-p.ctx.Done():
		p.end = p.ctx.Err()
	}
}

// interrupt ends the user's command, the run, or the chat.
func (p *plain) interrupt() {
	switch {
	case p.pasted:
		p.written, p.pasted, p.asked = "", false, false
		p.print("The pasted lines are dropped.")
	case p.chat.Commands.Running != nil:
		p.chat.Commands.End()
	case p.chat.Turn != nil:
		_ = p.chat.Stop() // what is printed stays
	default:
		p.end = errLeave
	}
}

// run runs a command; what it brings is taken in by step.
func (p *plain) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	p.group.Go(func() {
		select {
		case p.msgs <- cmd():
		case <-p.ctx.Done():
		}
	})
}

func (p *plain) take(msg tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			p.run(cmd)
		}
		return
	}
	cmd, _ := p.chat.Update(msg)
	p.run(cmd)
}

// line takes what the user wrote: a command, a question, or a part of one.
func (p *plain) line(line string) {
	more, goesOn := strings.CutSuffix(line, `\`)
	p.written += more
	if goesOn {
		p.written += "\n"
		return
	}
	text := p.written
	p.written, p.asked, p.typed = "", false, true
	c, rest, ok := slash(text)
	shell, runs := strings.CutPrefix(text, "!")
	switch {
	case p.decides(text) || p.grants(text):
	case runs:
		cmd, _ := p.chat.Commands.Run(p.chat.Dir(), shell)
		p.run(cmd)
	case ok && c.run == nil:
		p.print(c.name + " needs a screen.")
	case ok:
		cmd, _ := c.run(p, rest)
		p.run(cmd)
	case unknown(text) != "":
		p.run(p.Say(unknown(text)))
	case strings.TrimSpace(text) != "":
		text = unescaped(text)
		p.run(p.chat.Submit(text, text))
	}
}

// explain says what a silence waits for.
func (p *plain) explain() {
	switch t := p.chat.Turn; {
	case t != nil:
		p.print(p.waiting(t))
		p.quiet.Reset(3 * hungAfter)
	case p.chat.Commands.Running != nil:
		p.print("Still running, " + human.Duration(p.cfg.Now().Sub(p.chat.Commands.Running.Begun)) + "; Ctrl+C ends it.")
		p.quiet.Reset(3 * hungAfter)
	case p.chat.Link.Asking:
		p.print("Waiting for " + p.cfg.Place.Name() + " to list its models.")
	}
}

// waiting is what a question waits for, in a sentence.
func (p *plain) waiting(t *session.Turn) string {
	what := "waiting for the model"
	switch {
	case !t.Taken:
		what = "waiting for " + p.cfg.Place.Name()
	case t.Waits != "":
		what = t.Waits
	}
	if p.said == p.sent {
		return strings.ToUpper(what[:1]) + what[1:] + "."
	}
	return "Still " + what + ", " + human.Duration(p.cfg.Now().Sub(t.Begun)) + "."
}

// print writes a line. An output that is gone is noticed by who reads it.
func (p *plain) print(s string) {
	p.said++
	_, _ = fmt.Fprintln(p.cfg.Out, safe.Text(s))
}
