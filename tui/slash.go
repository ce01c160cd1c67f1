package tui

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/wrap"
)

// view is a session's view as the commands see it.
type view interface {
	session.View
	state() *session.Session
	config() Config
	// pickModel shows the models to choose from, narrowed by what is written.
	pickModel(text string) tea.Cmd
	// showSettings shows the settings, to be changed.
	showSettings() tea.Cmd
	// addModel sets up a new model, and chooses it.
	addModel() (tea.Cmd, bool)
	// pickMode shows the confirmation modes to choose from.
	pickMode() tea.Cmd
	// showID hands the conversation's id to the user.
	showID() tea.Cmd
	// showHelp lists what can be done.
	showHelp() tea.Cmd
	// chose reports that the following questions use the model id.
	chose(id string) tea.Cmd
	// quit ends the chat.
	quit() tea.Cmd
	// copyText puts a text into the clipboard.
	copyText(text, what string) tea.Cmd
}

// slashCommand is a command that is written. It has one of run and onScreen,
// which get what follows its name and report whether the command was done; one
// that was not stays in the input.
type slashCommand struct {
	name, args, what string
	run              func(v view, rest string) (tea.Cmd, bool)
	onScreen         func(m *model, rest string) (tea.Cmd, bool)
}

// slashCommands lists all of them, in the order of the help. Keys, completion, help
// and both views take them from here.
func slashCommands() []slashCommand {
	return []slashCommand{
		{name: "/model", args: "[NAME]", what: "pick a model; /model add sets one up", run: runModel},
		{name: "/new", what: "new conversation", run: runNew},
		{name: "/resume", args: "[ID]", what: "continue a conversation", run: runResume},
		{name: "/sessions", args: "[TEXT]", what: "list the conversations, or those with TEXT in their title", run: runSessions},
		{name: "/rename", args: "TITLE", what: "give the conversation another title", run: runRename},
		{name: "/delete", what: "delete the conversation, after a confirmation", run: runDelete},
		{name: "/id", what: "copy the id of the conversation", run: runID},
		{name: "/retry", what: "send the last question again", run: runRetry},
		{name: "/copy", args: "[N]", what: "copy the last answer, or its Nth block of code", run: runCopy},
		{name: "/image", args: "PATH", what: "attach a picture", run: runImage},
		{name: "/system", args: "TEXT", what: "instructions for the agent, from the next question on", run: runSystem},
		{name: "/goal", args: "TEXT", what: "have the agent work until a judge says that TEXT is reached", run: runGoal},
		{name: "/save", args: "FILE", what: "save the conversation as Markdown", run: runSave},
		{name: "/confirm", args: "[MODE]", what: "which of the agent's actions wait for you: never, risky, always", run: runConfirm},
		{name: "/sandbox", args: "[allow]", what: "the sandbox, and what it refused; allow: decide about that", run: runSandbox},
		{name: "/mcp", what: "the agent's MCP servers, their tools, and why one is missing", run: runMCP},
		{name: "/skills", what: "the agent's skills, and which files were skipped", run: runSkills},
		{name: "/condense", what: "have the model summarize the earlier conversation, to free its context", run: runCondense},
		{name: "/picture", what: "show the latest screenshot of the agent's browser", onScreen: runPicture},
		{name: "/find", args: "TEXT", what: "search", onScreen: runFind},
		{name: "/progress", what: "show or hide the agent's actions", onScreen: runProgress},
		{name: "/mouse", what: "let clicks open actions and the wheel scroll, or give the mouse back", onScreen: runMouse},
		{name: "/theme", args: "NAME", what: "colours: auto, light, dark or terminal", onScreen: runTheme},
		{name: "/settings", what: "show and change the settings of the chat", run: runSettings},
		{name: "/vim", what: "turn the keys of vi in the input on or off", onScreen: runVim},
		{name: "/help", what: "all keys and commands", run: runHelp},
		{name: "/quit", what: "quit", run: runQuit},
	}
}

// usage is the command as it is written.
func (c slashCommand) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

// slash finds the command that a text is, and what follows its name.
func slash(text string) (c slashCommand, rest string, ok bool) {
	name, rest := firstWord(text)
	if name == "/exit" {
		name = "/quit"
	}
	for _, c := range slashCommands() {
		if c.name == name {
			return c, rest, true
		}
	}
	return slashCommand{}, "", false
}

// unknown says that a text looks like a command and is not one; "" if it is a
// text to send. A path has a second slash, and "//" begins a text with a slash.
func unknown(text string) string {
	name, _ := firstWord(text)
	if !strings.HasPrefix(name, "/") || strings.Contains(name[1:], "/") {
		return ""
	}
	var names []string
	for _, c := range slashCommands() {
		names = append(names, c.name)
	}
	said := "not sent: there is no command " + safe.Line(wrap.Cut(name, 40)) + "; "
	if near := suggest.Nearest(name, names); near != "" && len(name) > 2 {
		return said + "did you mean " + near + "?"
	}
	return said + "/help lists them, // begins a text with /"
}

// unescaped is a text as it is sent: "//" at its beginning is one slash.
func unescaped(text string) string {
	if rest := strings.TrimLeft(text, " \t\n"); strings.HasPrefix(rest, "//") {
		return rest[1:]
	}
	return text
}

// escaped is what has to be written so that text is sent.
func escaped(text string) string {
	if _, _, ok := slash(text); ok || unknown(text) != "" || strings.HasPrefix(text, "//") {
		return "/" + text
	}
	return text
}

// firstWord splits a text behind its first word.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// completions are the commands that a text may become.
func completions(text string) []slashCommand {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return nil
	}
	var found []slashCommand
	for _, c := range slashCommands() {
		if strings.HasPrefix(c.name, text) {
			found = append(found, c)
		}
	}
	return found
}

// completed writes a command out as far as it is the only one; "" if there is none.
func completed(text string) string {
	found := completions(text)
	if len(found) == 0 {
		return ""
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
	return common
}

func runModel(v view, rest string) (tea.Cmd, bool) {
	if rest == "" {
		return v.pickModel(""), true
	}
	if rest == "add" {
		return v.addModel()
	}
	found := resembling(v.state(), rest)
	switch len(found) {
	case 0:
		return v.Say("no model matches " + rest), false
	case 1:
		return chooseModel(v, found[0]), true
	}
	return v.pickModel(rest), true
}

func runNew(v view, _ string) (tea.Cmd, bool) {
	return v.state().New(), true
}

func runResume(v view, rest string) (tea.Cmd, bool) {
	if rest == "" {
		return v.state().Kept.Recent(""), true
	}
	return v.state().Resume(rest), true
}

func runSessions(v view, rest string) (tea.Cmd, bool) { return v.state().Kept.Recent(rest), true }

func runRename(v view, rest string) (tea.Cmd, bool) {
	return v.state().Rename(v.state().Convo, rest), strings.TrimSpace(rest) != ""
}

func runDelete(v view, rest string) (tea.Cmd, bool) {
	if rest != "yes" {
		return v.Say("/delete yes deletes this conversation and its files"), rest == ""
	}
	return v.state().Kept.Remove(v.state().Convo), true
}

func runID(v view, _ string) (tea.Cmd, bool)    { return v.showID(), true }
func runRetry(v view, _ string) (tea.Cmd, bool) { return v.state().Retry(), true }
func runHelp(v view, _ string) (tea.Cmd, bool)  { return v.showHelp(), true }
func runQuit(v view, _ string) (tea.Cmd, bool)  { return v.quit(), true }

func runCopy(v view, rest string) (tea.Cmd, bool) {
	if rest == "" {
		return copyAnswerOf(v), true
	}
	return copyNumber(v, rest)
}

func runImage(v view, rest string) (tea.Cmd, bool) {
	if rest == "" || v.config().ReadImage == nil {
		return v.Say("/image needs the path of a picture"), false
	}
	return v.state().Attach(rest), true
}

func runSystem(v view, rest string) (tea.Cmd, bool) { return v.state().SetSystem(rest), true }

func runGoal(v view, rest string) (tea.Cmd, bool) {
	if rest == "" {
		return v.Say("/goal needs what is to be reached"), false
	}
	return session.Pursue(v.state(), rest), true
}

func runSave(v view, rest string) (tea.Cmd, bool) {
	if rest == "" || v.config().Save == nil {
		return v.Say("/save needs the name of a file"), false
	}
	return v.state().Save(rest), true
}

func runConfirm(v view, rest string) (tea.Cmd, bool) {
	if rest == "" {
		return v.pickMode(), true
	}
	return v.state().SetMode(rest)
}

func runSandbox(v view, rest string) (tea.Cmd, bool) {
	switch {
	case rest == "":
		return v.state().Sandbox.Show(), true
	case rest != "allow":
		return v.Say("/sandbox shows the sandbox; /sandbox allow decides about what it refused"), false
	case !v.state().Sandbox.Ask(true):
		return v.Say("the sandbox refused nothing here that can be allowed"), true
	}
	return nil, true
}

func runMCP(v view, _ string) (tea.Cmd, bool) {
	return v.state().Kept.Loaded(v.state().Convo.ID, false), true
}

func runSkills(v view, _ string) (tea.Cmd, bool) {
	return v.state().Kept.Loaded(v.state().Convo.ID, true), true
}
func runCondense(v view, _ string) (tea.Cmd, bool) { return v.state().Condense() }

func runSettings(v view, _ string) (tea.Cmd, bool) { return v.showSettings(), true }

func runFind(m *model, rest string) (tea.Cmd, bool) {
	f := m.openFinder()
	f.query.Paste(safe.Line(rest))
	f.search(false, false)
	return nil, true
}

func runProgress(m *model, _ string) (tea.Cmd, bool) { return nil, m.look(toggleProgress) }

func runMouse(m *model, _ string) (tea.Cmd, bool) {
	m.mouse = !m.mouse
	if m.mouse {
		return m.Say("a click opens an action, the wheel scrolls; Shift selects text"), true
	}
	return m.Say("the terminal handles the mouse again"), true
}

func runTheme(m *model, rest string) (tea.Cmd, bool) {
	theme := Theme(strings.TrimSpace(rest))
	if !slices.Contains([]Theme{Auto, Light, Dark, Terminal}, theme) {
		return m.Say("themes are auto, light, dark and terminal: /theme NAME"), false
	}
	m.canvas.theme = theme
	m.restyle()
	return m.Say("theme: " + string(theme)), true
}
