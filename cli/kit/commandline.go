package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/tui/wrap"
)

// narrowest is the least width that text is wrapped to.
const narrowest = 20

// Wrap breaks a text at blanks into lines of at most width characters. A word that is
// longer has a line of its own, and so has a command: whoever copies half of one runs
// that half.
func Wrap(text string, width int) []string {
	width = max(width, narrowest)
	var lines []string
	line := ""
	for _, part := range parts(text) {
		switch {
		case line == "":
			line = part
		case wrap.Width(line)+1+wrap.Width(part) <= width:
			line += " " + part
		default:
			lines = append(lines, line)
			line = part
		}
	}
	return append(lines, line)
}

// programs begin a command in a text.
var programs = []string{
	"chmod", "chown", "curl", "docker", "export", "git", "kill", "loginctl", "ls", "mkdir", "mv", "ohgw", "podman", "rm", "sudo", "systemctl", "unset", "uvx",
}

// subcommands are the words of ohgw's commands that are words of texts, too.
var subcommands = []string{
	"acp", "add", "agents", "allow", "backends", "browse", "changes", "chat", "check", "cloud", "completion", "config", "connect", "conversations", "create",
	"diff", "doctor", "download", "drain", "edit", "events", "explain", "export", "files", "get", "grants", "help", "import", "install", "keys", "list", "login",
	"logout", "logs", "migrate", "models", "new", "paths", "pool", "profiles", "ps", "remove", "rename", "reset", "restore", "revoke", "rotate", "run",
	"sandbox", "send", "serve", "server", "service", "set", "show", "start", "state", "status", "stop", "tail", "test", "tokens", "trajectory",
	"uninstall", "unset", "up", "use", "version", "wake", "workspace",
}

// parts are the words of a text, and its commands as a whole.
func parts(text string) []string {
	words := strings.Split(text, " ")
	var all []string
	for i := 0; i < len(words); {
		n := max(1, commandWords(words[i:]))
		all = append(all, strings.Join(words[i:i+n], " "))
		i += n
	}
	return all
}

// commandWords is how many words at the beginning are a command; 0 for none.
func commandWords(words []string) int {
	first := strings.TrimLeft(words[0], `("'`)
	if !slices.Contains(programs, first) && !strings.HasPrefix(first, "${") {
		return 0
	}
	n := 1
	for n < len(words) && !ends(words[n-1]) && goesOn(words[n-1], words[n:]) {
		n += quoted(words[n:])
	}
	if n == 1 {
		return 0
	}
	return n
}

// ends reports whether a word ends a sentence, or a part of one.
func ends(word string) bool {
	return len(word) > 1 && strings.ContainsAny(word[len(word)-1:], ",;:.?!)")
}

// goesOn reports whether the first word belongs to the command that the word before it
// is of. A word of a text that is taken for one does no harm.
func goesOn(before string, words []string) bool {
	plain := strings.TrimRight(words[0], ",;:.?!)")
	switch {
	case words[0] == ".", words[0] == "&&", words[0] == "|", before == "&&", before == "|", strings.HasPrefix(before, "-"):
		return true
	case plain == "":
		return false
	case before == "sudo", slices.Contains(programs, before) && before != "ohgw" && before != "git", slices.Contains(subcommands, plain):
		return true
	case strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz") != "": // an option, a name, a path
		return true
	case len(words) > 1 && strings.HasPrefix(words[1], "-"): // what an option follows
		return true
	}
	return slices.Contains(subcommands, before) && (len(words) == 1 || ends(words[0]))
}

// quoted is how many words a word in quotation marks takes.
func quoted(words []string) int {
	for _, mark := range []string{"'", `"`} {
		if strings.Count(words[0], mark)%2 == 0 {
			continue
		}
		for i := 1; i < len(words); i++ {
			if strings.Count(words[i], mark)%2 == 1 {
				return i + 1
			}
		}
	}
	return 1
}

// Fitted wraps a text for a stream: on a terminal, in lines of its width that are
// indented by so many cells from the second one on. Something is in front of the text
// that takes that many cells.
func Fitted(w *iostream.Writer, text string, indent int) string {
	if !w.TTY() || strings.ContainsRune(text, '\x1b') {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		blank := line[:len(line)-len(body)]
		for i, part := range Wrap(body, w.Width()-indent-len(blank)) {
			if i > 0 || len(lines) > 0 {
				blank = strings.Repeat(" ", indent) + blank
			}
			lines = append(lines, blank+part)
			blank = line[:len(line)-len(body)]
		}
	}
	return strings.Join(lines, "\n")
}

// Tell writes a line to stderr, fitted to the terminal.
func (a *App) Tell(text string) { fmt.Fprintln(a.Stderr, Fitted(a.Stderr, text, 0)) }
