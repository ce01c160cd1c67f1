package terminal

import "strings"

// key returns what a special key sends; ok is false for any other text. Keys are
// C-c, CTRL-c or CTRL+c with a letter, and those of namedKey.
func key(name string) (sent string, ok bool) {
	upper := strings.ToUpper(strings.TrimSpace(name))
	if sent := namedKey(upper); sent != "" {
		return sent, true
	}
	for _, prefix := range [...]string{"C-", "CTRL-", "CTRL+"} {
		letter, found := strings.CutPrefix(upper, prefix)
		if found && len(letter) == 1 && letter[0] >= '@' && letter[0] <= '_' {
			return string(letter[0] & 0x1f), true
		}
	}
	return "", false
}

// namedKey returns what a key with a name of its own sends; empty for other names.
func namedKey(upper string) string {
	switch upper {
	case "ENTER":
		return "\r"
	case "TAB":
		return "\t"
	case "BS":
		return "\x7f"
	case "ESC":
		return "\x1b"
	case "UP":
		return "\x1b[A"
	case "DOWN":
		return "\x1b[B"
	case "RIGHT":
		return "\x1b[C"
	case "LEFT":
		return "\x1b[D"
	case "HOME":
		return "\x1b[H"
	case "END":
		return "\x1b[F"
	case "PGUP":
		return "\x1b[5~"
	case "PGDN":
		return "\x1b[6~"
	}
	return ""
}

// isControl reports whether a command is nothing but a Ctrl key, which no
// program is called.
func isControl(command string) bool {
	sent, ok := key(command)
	return ok && sent[0] < 0x20 && strings.ContainsAny(command, "-+")
}
