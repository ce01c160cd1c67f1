package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
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
	lines <-chan string // what the user writes; closed at its end
	msgs  chan tea.Msg
	group sync.WaitGroup // commands
	quiet *time.Timer    // fires when a wait has to be explained
	paper sheet

	linked  bool   // there was a model to talk to
	trouble string // what was said last about the gateway
	written string // lines that go on
	typed   bool   // the user has written something
	asked   bool   // the prompt waits for a line
	end     error  // why the chat is over, or nil
}

// errLeave ends the chat without a word.
var errLeave = errors.New("leave")

// runPlain chats line by line. What is typed is read by a goroutine that ends
// with cfg.In; nothing can take it back from a read that waits.
func runPlain(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	lines := make(chan string)
	p := &plain{ctx: ctx, cfg: cfg, lines: lines, msgs: make(chan tea.Msg), quiet: time.NewTimer(hungAfter)}
	p.chat = session.New(ctx, cfg.session("type /retry", "/model", false), p)
	defer p.group.Wait()
	defer cancel()
	go readLines(ctx, cfg, lines) // Not waited for: see above.
	p.print("ohgw chat " + cfg.Place.At() + ". Type a question and press Enter; end a line with a backslash to continue on the next. /help lists the commands.")
	if cfg.Place.Notice != "" {
		p.print(cfg.Place.Notice)
	}
	p.run(p.chat.Connect())
	for p.end == nil {
		p.step()
	}
	if cfg.Hints.Resume != nil && p.chat.Convo.Turns > 0 {
		p.print("Continue later with: " + cfg.Hints.Resume(p.chat.Convo.ID))
	}
	if errors.Is(p.end, errLeave) {
		return nil
	}
	return p.end
}

func readLines(ctx context.Context, cfg Config, lines chan<- string) {
	defer close(lines)
	in := bufio.NewReader(cfg.In)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			select {
			case lines <- strings.TrimRight(line, "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// step waits for what happens next. What the user writes waits until there is
// nothing else to wait for.
func (p *plain) step() {
	var lines <-chan string
	if p.linked && p.chat.Turn == nil && p.chat.Working == 0 {
		lines = p.lines
		if !p.asked {
			_, _ = fmt.Fprint(p.cfg.Out, "> ")
		}
		p.asked = true
	}
	select {
	case msg := <-p.msgs:
		p.quiet.Reset(hungAfter)
		p.take(msg)
	case line, ok := <-lines:
		if !ok {
			p.end = errLeave
			return
		}
		p.quiet.Reset(hungAfter)
		p.line(line)
	case <-p.quiet.C:
		p.explain()
	case <-p.cfg.Interrupt:
		if p.chat.Turn == nil {
			p.end = errLeave
			return
		}
		p.chat.Stop()
	case <-p.ctx.Done():
		p.end = p.ctx.Err()
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
	switch {
	case ok && c.run == nil:
		p.print(c.name + " needs a screen.")
	case ok:
		cmd, _ := c.run(p, rest)
		p.run(cmd)
	case strings.TrimSpace(text) != "":
		p.run(p.chat.Submit(text, text))
	}
}

// explain says what a silence waits for.
func (p *plain) explain() {
	switch t := p.chat.Turn; {
	case t != nil:
		p.print("Still waiting for " + p.cfg.Place.Name() + ", " + human.Duration(p.cfg.Now().Sub(t.Begun)) + ".")
		p.quiet.Reset(3 * hungAfter)
	case p.chat.Link.Asking:
		p.print("Waiting for " + p.cfg.Place.Name() + " to list its models.")
	}
}

// print writes a line. An output that is gone is noticed by who reads it.
func (p *plain) print(s string) { _, _ = fmt.Fprintln(p.cfg.Out, safe.Text(s)) }

// Say implements [session.View].
func (p *plain) Say(text string) tea.Cmd {
	p.print(human.Sentence(text) + ".")
	return nil
}

// Noted implements [session.View].
func (p *plain) Noted(text string, bad bool) {
	if bad {
		text = "Error: " + text
	}
	p.print(text)
}

// Linked implements [session.View]: until there is a model, each trouble is said
// once, and a key that is refused ends the chat.
func (p *plain) Linked() {
	if p.linked {
		return
	}
	link := p.chat.Link
	var what string
	switch link.State {
	case session.Ready:
		p.linked = true
		what = "Model: " + p.chat.Model
	case session.Locked:
		p.end = link.Err
		return
	case session.NoModels:
		what = "No model yet. Do one of these" + session.OrElse(p.cfg.Hints.NoModels) + ". Checking again automatically."
	case session.Unreachable:
		what = "Nothing answers " + p.cfg.Place.At() + ". Start it" + session.OrElse(p.cfg.Hints.Unreachable) + ". Trying again automatically."
	case session.Broken, session.Connecting:
		what = "Error: " + human.Sentence(link.Err.Error()) + " Trying again automatically."
	}
	if what != p.trouble {
		p.print(what)
	}
	p.trouble = what
}

// Asking implements [session.View]: the first question may not be the user's
// own line.
func (p *plain) Asking(o session.Outgoing) {
	if !p.typed {
		p.print("You: " + o.Text)
	}
}

// GiveBack implements [session.View]: no line is read while another is asked.
func (p *plain) GiveBack([]session.Outgoing) {}

// Resumable implements [session.View].
func (p *plain) Resumable(list []session.Conversation) {
	p.print("Conversations (continue one with /resume ID): " + strconv.Itoa(len(list)))
	for _, c := range list {
		p.print(c.ID + ": " + c.Title + ", " + human.Ago(p.cfg.Now().Sub(c.Used)))
	}
}

func (p *plain) state() *session.Session { return p.chat }
func (p *plain) config() Config          { return p.cfg }

// pickModel implements [view].
func (p *plain) pickModel(text string) tea.Cmd {
	p.print("Models (choose with /model NAME):")
	for _, x := range offered(p.chat) {
		if fuzzy(text, x.ID+" "+x.Description) >= 0 {
			p.print(strings.TrimSuffix(x.ID+": "+x.Description, ": "))
		}
	}
	return nil
}

// chose implements [view].
func (p *plain) chose(id string) tea.Cmd {
	p.print("Model: " + id)
	return nil
}

// quit implements [view].
func (p *plain) quit() tea.Cmd {
	p.end = errLeave
	return nil
}

// showID implements [view].
func (p *plain) showID() tea.Cmd {
	p.print(p.chat.Convo.ID)
	return nil
}

// showHelp implements [view].
func (p *plain) showHelp() tea.Cmd {
	for _, c := range slashCommands() {
		if c.run != nil {
			p.print(c.usage() + ": " + c.what)
		}
	}
	return nil
}

// copyText implements [view].
func (p *plain) copyText(text, what string) tea.Cmd {
	if p.cfg.Copy == nil {
		return p.Say("nothing can be copied here")
	}
	return p.chat.Work(func() tea.Msg { return session.DoneMsg{What: "copied " + what, Err: p.cfg.Copy(p.ctx, text)} })
}

// Came implements [session.View].
func (p *plain) Came(piece gateway.Piece) { p.paper.came(p.print, piece) }

// Ended implements [session.View].
func (p *plain) Ended(e session.End) {
	p.paper.ended(p.print, e)
	p.paper = sheet{}
	if p.chat.Pending != nil {
		p.print("Type yes or no, or a new instruction.")
	}
}
