package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
	"github.com/ohgw/ohgw/tui/session"
)

// action is what a key does.
type action int

const (
	none action = iota
	send
	newline
	earlier
	later
	complete
	editText
	pasteImage
	moveLeft
	moveRight
	moveWordLeft
	moveWordRight
	moveHome
	moveEnd
	eraseBack
	eraseNext
	eraseWord
	eraseBegin
	eraseEnd
	stop
	leave
	leaveEmpty
	pickModel
	newConversation
	resume
	retry
	copyAnswer
	copyCode
	copyID
	toggleProgress
	selectEarlier
	selectLater
	search
	scrollUp
	scrollDown
	pageUp
	pageDown
	goTop
	goBottom
	redraw
	suspend
	help
	accept
	acceptAlways
	acceptAll
	reject
	allow
	grantOnce
	grantConversation
	grantWorkspace
	grantNothing
)

// binding is an action with its keys, as Bubble Tea names them.
type binding struct {
	do   action
	keys []string
	what string
}

// bindings are all keys while a question is written, in the order of the help.
// Every action can be reached on a terminal that knows no modern keys, and
// without a mouse.
var bindings = []binding{
	{send, []string{"enter"}, "send"},
	{newline, []string{"shift+enter", "alt+enter", "ctrl+j"}, "new line"},
	{earlier, []string{"up"}, "line up; on the first line: previous question"},
	{later, []string{"down"}, "line down; on the last line: next question"},
	{complete, []string{"tab"}, "complete a command or a file"},
	{editText, []string{"ctrl+g"}, "write in $EDITOR"},
	{pasteImage, []string{"ctrl+v"}, "attach the picture in the clipboard"},
	{stop, []string{"esc"}, "stop the run; close what is open"},
	{retry, []string{"ctrl+t"}, "send the last question again"},
	{pickModel, []string{"ctrl+p"}, "pick a model"},
	{newConversation, []string{"ctrl+n"}, "new conversation"},
	{resume, []string{"ctrl+r"}, "resume a conversation"},
	{copyAnswer, []string{"ctrl+y"}, "copy the last answer"},
	{copyCode, []string{"alt+y"}, "copy a block of code"},
	{copyID, []string{"ctrl+x"}, "copy the id of the conversation"},
	{toggleProgress, []string{"ctrl+o"}, "open the agent's latest action; again: all; again: none"},
	{selectEarlier, []string{"alt+up"}, "select an earlier action; Enter opens it, Esc ends"},
	{selectLater, []string{"alt+down"}, "select a later action"},
	{search, []string{"ctrl+f"}, "search"},
	{pageUp, []string{"pgup"}, "scroll up"},
	{pageDown, []string{"pgdown"}, "scroll down"},
	{scrollUp, []string{"shift+up", "ctrl+up"}, "scroll up a line"},
	{scrollDown, []string{"shift+down", "ctrl+down"}, "scroll down a line"},
	{goTop, []string{"ctrl+home", "alt+<"}, "go to the beginning"},
	{goBottom, []string{"ctrl+end", "alt+>"}, "go to the end"},
	{moveLeft, []string{"left", "ctrl+b"}, "a character to the left"},
	{moveRight, []string{"right"}, "a character to the right"},
	{moveWordLeft, []string{"ctrl+left", "alt+left", "alt+b"}, "a word to the left"},
	{moveWordRight, []string{"ctrl+right", "alt+right", "alt+f"}, "a word to the right"},
	{moveHome, []string{"home", "ctrl+a"}, "beginning of the line"},
	{moveEnd, []string{"end", "ctrl+e"}, "end of the line"},
	{eraseBack, []string{"backspace", "shift+backspace", "ctrl+h"}, "erase; if the input is empty: remove the last picture"},
	{eraseNext, []string{"delete"}, "erase the next character"},
	{eraseWord, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, "erase a word"},
	{eraseBegin, []string{"ctrl+u"}, "erase to the beginning of the line"},
	{eraseEnd, []string{"ctrl+k"}, "erase to the end of the line"},
	{redraw, []string{"ctrl+l"}, "redraw the screen"},
	{suspend, []string{"ctrl+z"}, "suspend"},
	{leaveEmpty, []string{"ctrl+d"}, "quit, if the input is empty"},
	{leave, []string{"ctrl+c"}, "end your command; stop the run; twice: quit"},
}

// letters are keys that are letters: they act while nothing is written, and
// only if no other letter follows at once; then they were the beginning of a
// word.
var letters = []binding{
	{help, []string{"?"}, "this help, if the input is empty"},
	{retry, []string{"r"}, "send the question again, after a failure"},
	{accept, []string{"y"}, "confirm the agent's action"},
	{acceptAlways, []string{"a"}, "confirm it, and the same action from now on"},
	{acceptAll, []string{"s"}, "confirm it, and all actions of this conversation"},
	{reject, []string{"n"}, "refuse the agent's action"},
	{allow, []string{"a"}, "allow what the sandbox has refused: opens its card"},
	{grantOnce, []string{"o"}, "on that card: allow it once"},
	{grantConversation, []string{"c"}, "on that card: allow it in this conversation"},
	{grantWorkspace, []string{"w"}, "on that card: allow it in this workspace"},
	{grantNothing, []string{"n"}, "on that card: it stays refused"},
}

// actionOf finds what a key does.
func actionOf(table []binding, key string) action {
	for _, b := range table {
		if slices.Contains(b.keys, key) {
			return b.do
		}
	}
	return none
}

// hotkeys are the letters that do something while nothing is written.
type hotkeys struct {
	chat    *session.Session
	refused *session.Block // that the card about the sandbox asks about, or nil
}

func (m *model) hotkeys() hotkeys { return hotkeys{m.chat, m.granting.asked()} }

// of is what a key does that is a letter, by what it writes or else by its position.
func (h hotkeys) of(msg tea.KeyPressMsg) letter {
	if do := h.action(msg.Text); do != none {
		return letter{text: msg.Text, do: do}
	}
	at, sure := keyboard.Position(tea.Key(msg))
	if at == 0 {
		return letter{}
	}
	do := h.action(string(at))
	return letter{text: msg.Text, as: string(at), do: do, guess: !sure && do.decides()}
}

// action is what a letter does in the present state, or none.
func (h hotkeys) action(text string) action {
	for _, b := range letters {
		if slices.Contains(b.keys, text) && h.listen(b.do) {
			return b.do
		}
	}
	return none
}

// listen reports whether a letter does something in the present state.
func (h hotkeys) listen(do action) bool {
	switch do {
	case help:
		return true
	case accept, acceptAlways, acceptAll, reject:
		return h.chat.Pending != nil && h.chat.Turn == nil
	case allow:
		return h.chat.Sandbox.Asked == nil && h.chat.Sandbox.Allowable(false) != nil
	case grantOnce, grantConversation, grantWorkspace, grantNothing:
		return h.refused != nil
	case retry:
		return h.chat.Turn == nil && (h.chat.Failure != nil || h.chat.Link.Stuck())
	}
	return false
}
