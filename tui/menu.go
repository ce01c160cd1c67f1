package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// menu is what the word at the cursor may become: a command, or a file after @.
// It stands above the input, which still takes what is typed.
type menu struct {
	word    string // that it is for; "" while it is closed
	title   string
	entries []entry
	at      int // of entries; -1 while none is chosen
	first   int // of entries, in view
	more    string
	closed  bool // by Esc, until another word begins
	files   files

	cfg   *Config
	chat  *session.Session
	input *composer
}

// entry is a line of the menu.
type entry struct {
	name, detail string
	command      slashCommand // or none: a file
}

// files are the names of the files to choose from.
type files struct {
	session.NamesMsg

	lower   []string // Names in lower case
	loaded  time.Time
	loading bool
}

const (
	// menuRows is how many files are in view.
	menuRows = 8
	// menuFiles is how many of them can be reached: a longer word finds others.
	menuFiles = 100
	// filesFresh is how long a list of files is good for.
	filesFresh = 10 * time.Second
)

// refresh fits the menu to what is written; closed, it is not written in.
func (n *menu) refresh(closed bool) tea.Cmd {
	word := ""
	if !closed {
		word = n.wanted()
	}
	switch {
	case word == "":
		n.word, n.entries, n.closed = "", nil, false
		return nil
	case n.closed, word == n.word:
		return nil
	}
	n.word, n.at, n.first, n.more = word, -1, 0, ""
	if query, ok := strings.CutPrefix(word, "@"); ok {
		return n.showFiles(query)
	}
	n.title, n.entries = "Commands", nil
	for _, c := range completions(word) {
		n.entries = append(n.entries, entry{c.usage(), c.what, c})
	}
	return nil
}

// wanted is the word that the menu is for: "" if there is none.
func (n *menu) wanted() string {
	if n.input.holds() || n.input.recalls() {
		return ""
	}
	if text := n.input.Shown(); completions(text) != nil {
		return text
	}
	if word := n.input.Word(); strings.HasPrefix(word, "@") && !strings.HasPrefix(word, `@"`) {
		return word
	}
	return ""
}

// showFiles shows the files that fit query, and asks for a fresh list.
func (n *menu) showFiles(query string) tea.Cmd {
	n.title, n.entries = "Files", nil
	switch dir := n.chat.Dir(); {
	case n.cfg.Local == nil:
		n.more = "the agent's files cannot be reached from here"
		return nil
	case dir == "":
		n.more = "the directory is not known before the first answer"
		return nil
	case dir != n.files.Dir:
		n.files = files{}
	}
	hidden := asksHidden(query)
	fresh := n.cfg.Now().Sub(n.files.loaded) < filesFresh
	switch {
	case n.files.loaded.IsZero() || n.files.Hidden != hidden:
	case n.files.Err != nil:
		n.more = unlisted(n.files.Err)
	default:
		n.fit(query)
	}
	if n.files.loading || fresh && n.files.Hidden == hidden {
		return nil
	}
	n.files.loading = true
	return n.chat.Files.Names(n.chat.Dir(), hidden)
}

// asksHidden reports whether a part of a path begins with a dot.
func asksHidden(query string) bool {
	return strings.HasPrefix(query, ".") || strings.Contains(query, "/.")
}

// named takes in the list of the files.
func (n *menu) named(msg session.NamesMsg) tea.Cmd {
	n.files = files{NamesMsg: msg, loaded: n.cfg.Now()}
	for _, name := range msg.Names {
		n.files.lower = append(n.files.lower, strings.ToLower(name))
	}
	query, ok := strings.CutPrefix(n.word, "@")
	switch {
	case !ok || msg.Dir != n.chat.Dir():
	case msg.Err != nil:
		n.more = unlisted(msg.Err)
	case asksHidden(query) != msg.Hidden:
		return n.showFiles(query)
	default:
		n.fit(query)
	}
	return nil
}

func unlisted(err error) string { return "the files cannot be listed: " + safe.Line(err.Error()) }

// fit chooses the files that fit a word: first those whose last part begins with
// it, then those that have it, then those that have its letters.
func (n *menu) fit(query string) {
	query = strings.ToLower(query)
	var found [4][]int
	for i, name := range n.files.lower {
		if k := fitness(query, name); k >= 0 && len(found[k]) < menuFiles {
			found[k] = append(found[k], i)
		}
	}
	n.entries, n.at, n.first = nil, 0, 0
	for _, some := range found {
		for _, i := range some[:min(len(some), menuFiles-len(n.entries))] {
			n.entries = append(n.entries, entry{name: n.files.Names[i]})
		}
	}
	n.more = ""
	if len(n.entries) == 0 {
		n.at, n.more = -1, "no file of this name"
	}
	if n.files.Cut {
		n.more = "not all files are listed: there are too many"
	}
}

// fitness rates how well a path fits a query, both in lower case: 0 is best, -1 is
// not at all.
func fitness(query, name string) int {
	base := strings.TrimSuffix(name, "/")
	base = base[strings.LastIndexByte(base, '/')+1:]
	switch {
	case strings.HasPrefix(base, query) || strings.HasPrefix(name, query):
		return 0
	case strings.Contains(base, query):
		return 1
	case strings.Contains(name, query):
		return 2
	}
	at := 0
	for i := range len(query) {
		n := strings.IndexByte(name[at:], query[i])
		if n < 0 {
			return -1
		}
		at += n + 1
	}
	return 3
}

// shows reports whether there is something to choose.
func (n *menu) shows() bool { return n.word != "" && !n.closed && len(n.entries) > 0 }

// key takes a key that the menu is for, and reports whether it was one. With enters,
// the command that was chosen is to be done.
func (n *menu) key(do action) (enters, ok bool) {
	if !n.shows() {
		return false, false
	}
	switch do {
	case earlier:
		n.move(-1)
	case later:
		n.move(1)
	case complete:
		n.complete()
	case send:
		if n.at < 0 && !n.begun() || n.at >= 0 && n.word == session.Mention(n.entries[n.at].name) {
			return false, false
		}
		if first := n.entries[0].command; n.at < 0 && len(n.entries) > 1 && first.args == "" {
			n.at = 0 // it would be done at once, and may not be the one that was meant
			return false, true
		}
		return n.pick(max(n.at, 0)), true
	case stop:
		n.closed = true
	default:
		return false, false
	}
	return false, true
}

// begun reports whether the word is the beginning of commands, and no command itself.
func (n *menu) begun() bool {
	_, _, whole := slash(n.word)
	return !whole && len(n.word) > len("/") && n.entries[0].command.name != ""
}

// move chooses the entry above or below, round and round.
func (n *menu) move(by int) {
	if n.at < 0 && by < 0 {
		n.at = 0
	}
	n.at = (n.at + by + len(n.entries)) % len(n.entries)
}

// complete writes out what is chosen, or what of a command is sure.
func (n *menu) complete() {
	if n.at >= 0 {
		n.write(n.entries[n.at])
		return
	}
	if text := completed(n.input.Shown()); text != n.input.Shown() {
		n.input.Set(text)
		return
	}
	n.move(1)
}

// pick writes an entry, and reports whether it is to be done: it is a command without
// arguments.
func (n *menu) pick(i int) (enters bool) {
	e := n.entries[i]
	n.write(e)
	return e.command.name != "" && e.command.args == ""
}

// write writes an entry in the place of the word. A directory can be gone
// on with.
func (n *menu) write(e entry) {
	switch {
	case e.command.name != "":
		text := e.command.name
		if e.command.args != "" {
			text += " "
		}
		n.input.Set(text)
	case strings.HasSuffix(e.name, "/"):
		n.input.ReplaceWord(session.Mention(e.name))
	default:
		n.input.ReplaceWord(session.Mention(e.name) + " ")
	}
}

// view draws the menu in at most height lines.
func (n *menu) view(l looks, width, height int) []string {
	if n.word == "" || n.closed || len(n.entries) == 0 && n.more == "" || height < 1 {
		return nil
	}
	keys := "  Tab completes"
	rows := height - 1
	if n.title == "Files" {
		keys, rows = "  ↑ ↓ Tab choose", min(rows, menuRows)
	}
	lines := []string{rule(l.accent, paint(l.strong, n.title)+paint(l.faint, keys), width)}
	rows = min(rows, len(n.entries))
	n.first = max(min(n.first, n.at, len(n.entries)-rows), n.at-rows+1, 0)
	names := 0
	for _, e := range n.entries[n.first : n.first+rows] {
		names = max(names, wrap.Width(e.name))
	}
	names = min(names, width-2)
	for i, e := range n.entries[n.first : n.first+rows] {
		name := wrap.Pad(wrap.Cut(safe.Line(e.name), names), names)
		mark, look := "  ", l.accent
		if n.first+i == n.at {
			mark, look = "› ", l.picked
		}
		lines = append(lines, mark+paint(look, name)+paint(l.faint, wrap.Cut("  "+e.detail, max(width-names-2, 0))))
	}
	if n.more != "" && len(lines) < height {
		lines = append(lines, paint(l.faint, wrap.Cut("  "+n.more, width)))
	}
	return lines
}
