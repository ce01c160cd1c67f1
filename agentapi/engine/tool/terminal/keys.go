package terminal

import "strings"

// key gives what a special key sends; ok is false for any other text. Keys are
// C-c, CTRL-c or CTRL+c with a letter, and the names below.
func key(name string) (sent string, ok bool) {
	switch upper := strings.ToUpper(strings.TrimSpace(name)); upper {
	case "ENTER":
		return "\r", true
	case "TAB":
		return "\t", true
	case "BS":
		return "\x7f", true
	case "ESC":
		return "\x1b", true
	case "UP":
		return "\x1b[A", true
	case "DOWN":
		return "\x1b[B", true
	case "RIGHT":
		return "\x1b[C", true
	case "LEFT":
		return "\x1b[D", true
	case "HOME":
		return "\x1b[H", true
	case "END":
		return "\x1b[F", true
	case "PGUP":
		return "\x1b[5~", true
	case "PGDN":
		return "\x1b[6~", true
	default:
		for _, prefix := range [...]string{"C-", "CTRL-", "CTRL+"} {
			letter, found := strings.CutPrefix(upper, prefix)
			if found && len(letter) == 1 && letter[0] >= '@' && letter[0] <= '_' {
				return string(letter[0] & 0x1f), true
			}
		}
		return "", false
	}
}

// isControl tells whether a command is nothing but a Ctrl key, which no
// program is called.
func isControl(command string) bool {
	sent, ok := key(command)
	return ok && sent[0] < 0x20 && strings.ContainsAny(command, "-+")
}
