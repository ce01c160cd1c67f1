package keyboard

import (
	"bytes"
	"strings"
)

const (
	esc = 0x1b
	bel = 0x07

	// maxSequence is more than any answer has that a chat asks for.
	maxSequence = 1024
)

// verdict is what a byte makes of the bytes that are held back.
type verdict int

const (
	goesOn   verdict = iota // the sequence is not complete
	complete                // it is, with this byte
	typed                   // it is not a sequence: the bytes were typed
	torn                    // it is an answer whose rest will not come
)

// next says what b makes of held, which begins with Esc.
func next(held []byte, b byte) verdict {
	if len(held) >= maxSequence {
		return torn
	}
	if len(held) == 1 {
		return introduced(b)
	}
	switch body := held[2:]; held[1] {
	case '[':
		return control(b)
	case ']':
		return command(body, b)
	case 'P', '_':
		return device(held[1], body, b)
	}
	return complete // a key such as Esc O A
}

func introduced(b byte) verdict {
	switch {
	case strings.IndexByte("[]P_O", b) >= 0:
		return goesOn
	case b == esc:
		return typed
	}
	return complete // Alt and a key
}

// control is a key or an answer such as Esc [ ? 62 ; 22 c.
func control(b byte) verdict {
	switch {
	case b >= 0x40 && b <= 0x7e:
		return complete
	case b >= 0x20 && b <= 0x3f:
		return goesOn
	}
	return typed
}

// command judges one more byte of an answer such as Esc ] 11 ; rgb:0000/0000/0000 BEL.
func command(body []byte, b byte) verdict {
	_, value, named := bytes.Cut(body, []byte(";"))
	switch {
	case !named && (b >= '0' && b <= '9' || b == ';' && len(body) > 0):
		return goesOn
	case !named:
		return typed
	}
	if v, ok := ends(body, b); ok {
		return v
	}
	if !bytes.HasPrefix(body, []byte("52;")) && !isColour(value, b) {
		return torn
	}
	return goesOn
}

// isColour reports whether b can follow in the name of a colour, or in the number
// before it.
func isColour(value []byte, b byte) bool {
	if strings.IndexByte("0123456789abcdefABCDEF/#;?", b) >= 0 {
		return len(value) < 40
	}
	return strings.IndexByte("rgba:", b) >= 0 && !bytes.ContainsAny(value, "/#")
}

// device judges one more byte of an answer such as Esc P > | xterm(390) Esc \.
func device(kind byte, body []byte, b byte) verdict {
	starts := []string{">|", "!|", "0$r", "1$r", "0+r", "1+r"}
	if kind == '_' {
		starts = []string{"G"}
	}
	for _, start := range starts {
		switch so := string(body) + string(rune(b)); {
		case strings.HasPrefix(string(body), start):
			if v, ok := ends(body, b); ok {
				return v
			}
			return goesOn
		case strings.HasPrefix(start, so):
			return goesOn
		}
	}
	return typed
}

// ends says whether b ends a string, or breaks it off.
func ends(body []byte, b byte) (verdict, bool) {
	escaped := len(body) > 0 && body[len(body)-1] == esc
	switch {
	case escaped && b == '\\', b == bel:
		return complete, true
	case escaped:
		return torn, true
	case b == esc:
		return goesOn, true
	case b < 0x20 || b > 0x7e:
		return torn, true
	}
	return goesOn, false
}

// answers are how an answer goes on behind its Esc. No key of a keyboard does.
var answers = []string{"[?", "[>", "[=", "]10;", "]11;", "]12;", "]4;", "]52;", "P>|", "P!|", "P0$r", "P1$r", "P0+r", "P1+r", "_G"}

// isRest reports whether a text is the rest of an answer whose Esc came before.
func isRest(text []byte) bool {
	for _, a := range answers {
		if bytes.HasPrefix(text, []byte(a)) {
			return true
		}
	}
	return false
}

// mayAnswer reports whether a text is the rest of an answer, or the beginning of that.
func mayAnswer(text []byte) bool {
	for _, a := range answers {
		if n := min(len(a), len(text)); string(text[:n]) == a[:n] {
			return true
		}
	}
	return false
}

// isReport reports whether a whole sequence comes from the terminal itself or from a
// mouse: an answer, the focus, a click. No key of a keyboard sends it.
func isReport(sequence []byte) bool {
	switch body := sequence[2:]; {
	case len(body) == 0: // Alt and a key
		return false
	case sequence[1] == '[':
		return bytes.IndexByte([]byte("?>=<"), body[0]) >= 0 || string(body) == "I" || string(body) == "O"
	}
	return bytes.IndexByte([]byte("]P_"), sequence[1]) >= 0
}
