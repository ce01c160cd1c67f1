package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/safe"
)

// slashCommand is a command that is written.
type slashCommand struct {
	name, args, what string
	do               action // of the key that does the same, or none
}

// slashCommands are all of them, in the order of the help.
var slashCommands = []slashCommand{
	{"/model", "[NAME]", "pick a model", pickModel},
	{"/new", "", "new conversation", newConversation},
	{"/resume", "[ID]", "go on with a conversation", resume},
	{"/id", "", "copy the id of the conversation", copyID},
	{"/retry", "", "ask the last question again", retry},
	{"/copy", "[N]", "copy the last answer, or its Nth block of code", copyAnswer},
	{"/image", "PATH", "attach a picture", none},
	{"/system", "TEXT", "instructions for the agent, from the next question on", none},
	{"/save", "FILE", "save the conversation as Markdown", none},
	{"/find", "TEXT", "search", search},
	{"/progress", "", "show or fold what the agent did", toggleProgress},
	{"/mouse", "", "let the wheel scroll, or give the mouse back to the terminal", none},
	{"/help", "", "all keys and commands", help},
	{"/quit", "", "leave", none},
}

// slash splits a command from what follows it. A text with a slash that is no
// command is a text, such as a path.
func slash(text string) (name, rest string, ok bool) {
	text = strings.TrimSpace(text)
	name, rest, _ = strings.Cut(text, " ")
	if name == "/exit" {
		name = "/quit"
	}
	for _, c := range slashCommands {
		if c.name == name {
			return name, strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}

// matching are the commands that the input may become.
func (m *model) matching() []slashCommand {
	text := m.input.Shown()
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return nil
	}
	var found []slashCommand
	for _, c := range slashCommands {
		if strings.HasPrefix(c.name, text) {
			found = append(found, c)
		}
	}
	return found
}

// completeCommand writes the command out as far as it is the only one.
func (m *model) completeCommand() {
	found := m.matching()
	if len(found) == 0 {
		return
	}
	common := found[0].name
	for _, c := range found[1:] {
		for !strings.HasPrefix(c.name, common) {
			common = common[:len(common)-1]
		}
	}
	if len(found) == 1 && found[0].args != "" {
		common += " "
	}
	m.input.Set(common)
}

// slash does a command. One that cannot be done leaves the input as it is.
func (m *model) slash(name, rest string) tea.Cmd {
	cmd, ok := m.slashText(name, rest)
	if ok {
		m.sent(m.input.Value())
		m.input.Clear()
	}
	return cmd
}

func (m *model) slashText(name, rest string) (tea.Cmd, bool) {
	switch name {
	case "/model":
		if rest != "" {
			return m.choose(rest)
		}
	case "/resume":
		if rest != "" {
			return m.begin(Conversation{ID: rest, Place: m.cfg.Place.Title}, "Going on with conversation "+safe.Line(rest)+"."), true
		}
	case "/copy":
		if rest != "" {
			return m.copyNumber(rest)
		}
	case "/image":
		if rest == "" || m.cfg.ReadImage == nil {
			return m.say("/image needs the path of a picture"), false
		}
		return readImage(m.ctx, m.cfg.ReadImage, rest, ""), true
	case "/system":
		m.system = rest
		if rest == "" {
			return m.say("no instructions from the next question on"), true
		}
		m.note("Instructions from the next question on: " + rest)
		return nil, true
	case "/save":
		if rest == "" || m.cfg.Save == nil {
			return m.say("/save needs the name of a file"), false
		}
		return saveText(m.ctx, m.cfg.Save, rest, m.wholeText()), true
	case "/find":
		m.openFind()
		m.find.query.Paste(safe.Line(rest))
		m.search(false, false)
		return nil, true
	case "/mouse":
		m.mouse = !m.mouse
		if m.mouse {
			return m.say("the wheel scrolls; Shift selects text"), true
		}
		return m.say("the mouse belongs to the terminal again"), true
	case "/quit":
		return tea.Quit, true
	}
	for _, c := range slashCommands {
		if c.name == name {
			m.look(c.do)
			return m.command(c.do), true
		}
	}
	return nil, false
}

// choose takes a model by its name, or by the only one that resembles it.
func (m *model) choose(name string) (tea.Cmd, bool) {
	for _, x := range m.models {
		if x.ID == name {
			return m.picked(pickModels, item{name: safe.Line(x.ID), value: x.ID}), true
		}
	}
	items := m.modelItems()
	p := newPicker(pickModels, "Models", items)
	p.write(name)
	if len(p.shown) == 1 {
		return m.picked(pickModels, items[p.shown[0]]), true
	}
	if len(p.shown) == 0 {
		return m.say("there is no model like " + name), false
	}
	m.dialog = p
	return nil, true
}

func (m *model) copyNumber(s string) (tea.Cmd, bool) {
	a := m.log.LastAnswer()
	if a == nil {
		return m.say("there is no answer to copy"), false
	}
	blocks := markdown.Code(a.Source())
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > len(blocks) {
		return m.say("the last answer has " + strconv.Itoa(len(blocks)) + " blocks of code"), false
	}
	return m.copyBlock(blocks[n-1]), true
}
