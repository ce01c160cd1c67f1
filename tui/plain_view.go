package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// Say implements [session.View].
func (p *plain) Say(text string) tea.Cmd {
	text = human.Sentence(text)
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	p.print(text)
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

// decides answers the actions that wait, if text is one of the answers.
func (p *plain) decides(text string) bool {
	c, ok := map[string]session.Consent{
		"y": session.Once, "yes": session.Once, "a": session.Always, "always": session.Always, "s": session.All, "session": session.All,
		"n": session.Refuse, "no": session.Refuse,
	}[strings.ToLower(strings.TrimSpace(text))]
	if !ok || p.chat.Pending == nil {
		return false
	}
	p.run(p.chat.Decide(c))
	return true
}

// grants decides about what the sandbox refused, if text is one of the answers.
// Another text leaves it open.
func (p *plain) grants(text string) bool {
	scope, ok := map[string]gateway.Scope{
		"once": gateway.GrantOnce, "conversation": gateway.GrantConversation, "workspace": gateway.GrantWorkspace, "no": gateway.GrantNothing, "n": gateway.GrantNothing,
	}[strings.ToLower(strings.TrimSpace(text))]
	asked := p.chat.Sandbox.Asked
	switch {
	case asked == nil:
		return false
	case ok:
		p.run(p.chat.Sandbox.Grant(p.chat.Convo.ID, scope))
		return true
	case !asked.Held:
		p.chat.Sandbox.LeaveOpen()
	}
	return false
}

// putQuestion asks about what the sandbox refused, once.
func (p *plain) putQuestion() {
	b := p.chat.Sandbox.Asked
	if b == p.question {
		return
	}
	p.question = b
	switch {
	case b == nil:
		return
	case b.Held:
		p.print("The program waits for your answer, at most " + human.Duration(b.Until.Sub(p.cfg.Now())) + ".")
	}
	p.print("Allow " + b.What() + " in the sandbox? Type once, conversation, workspace or no.")
	p.asked = false
}

// Offer implements [session.View].
func (p *plain) Offer(text string) { p.print("The agent has to try again. You may type: " + text) }

// showSettings implements [view].
func (p *plain) showSettings() tea.Cmd {
	p.print("Model: " + p.chat.ModelName() + " (change it with /model NAME)")
	p.print("Confirmation: " + modeName(p.chat.Confirmation) + " (change it with /confirm MODE)")
	return nil
}

// addModel implements [view].
func (p *plain) addModel() (tea.Cmd, bool) {
	return p.Say("no model can be added here; run ohgw profiles add"), false
}

// pickMode implements [view].
func (p *plain) pickMode() tea.Cmd {
	p.print("Confirmation modes (choose with /confirm MODE):")
	for _, m := range session.Modes {
		p.print(m[0] + ": " + m[1])
	}
	return nil
}

// Printed implements [session.View].
func (p *plain) Printed(text string) {
	_, _ = fmt.Fprint(p.cfg.Out, text)
	p.partial = !strings.HasSuffix(text, "\n")
}

// Ran implements [session.View].
func (p *plain) Ran(o session.Output) {
	if p.partial {
		p.print("")
	}
	p.partial = false
	p.print("Command ended: " + o.How + ". The agent reads this with your next message.")
}

// GiveBack implements [session.View]: no line is read while another is asked.
func (p *plain) GiveBack([]session.Outgoing) {}

// Recalled implements [session.View].
func (p *plain) Recalled() {
	for _, m := range p.chat.Log.Messages() {
		switch m := m.(type) {
		case *transcript.Question:
			p.print("You: " + m.Text())
		case *transcript.Answer:
			if n := m.Actions(); n > 0 {
				p.print("Worked: " + human.Count(n, "action") + ".")
			}
			for _, r := range m.Refusals() {
				p.print("Sandbox: refused " + r.What + ", " + r.State + ".")
			}
			if text := m.Source(); text != "" {
				p.print("Answer: " + text)
			}
		}
	}
}

// Resumable implements [session.View].
func (p *plain) Resumable(list []session.Conversation, query string) {
	list = slices.DeleteFunc(slices.Clone(list), func(c session.Conversation) bool { return fuzzy(query, c.Title+" "+c.ID) < 0 })
	p.print("Conversations (continue one with /resume ID): " + strconv.Itoa(len(list)))
	for _, c := range list {
		p.print(c.ID + ": " + c.Title + ", " + human.Ago(p.cfg.Now().Sub(c.Used)))
	}
}

// Sheet implements [session.View].
func (p *plain) Sheet(title string, rows [][2]string) {
	p.print(title + ":")
	for _, r := range rows {
		p.print(r[0] + ": " + r[1])
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
	for _, r := range signsOfInput {
		p.print(r[0] + ": " + r[1])
	}
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
		p.print("Type yes, always (this command from now on), session (all actions of this conversation) or no, or a new instruction.")
	}
}
