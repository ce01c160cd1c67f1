// Package keyboard is between the terminal and the chat: it finds the keys of other
// alphabets by their position, keeps the terminal's own answers out of what is
// typed, and recognizes a paste without brackets. It knows no key's effect.
package keyboard

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// latin are the keys of a usual keyboard, and below each of them its letter in
// other layouts: Russian, Ukrainian, Greek, Hebrew, Arabic. A space is a key without a
// letter of its own. A letter that several layouts have is where the first has it.
const latin = "qwertyuiopasdfghjklzxcvbnm"

var layouts = [...]string{
	"йцукенгшщзфывапролдячсмить",
	"йцукенгшщзфівапролдячсмить",
	" ςερτυθιοπασδφγηξκλζχψωβνμ",
	"  קראטוןםפשדגכעיחלךזסבהנמצ",
	"ضصثقفغعهخحشسيبلاتنمئءؤر ىة",
}

// Position returns the letter of a usual keyboard at the place of a key that writes
// another alphabet, or 0. sure is true if the terminal has sent that letter; else the
// layout is guessed from the key's letter, which not all layouts of an alphabet have
// there.
func Position(k tea.Key) (letter rune, sure bool) {
	if k.Code < unicode.MaxASCII || !unicode.IsLetter(k.Code) {
		return 0, false
	}
	if 'a' <= k.BaseCode && k.BaseCode <= 'z' {
		return k.BaseCode, true
	}
	for _, layout := range layouts {
		at := 0
		for _, r := range layout {
			if r == unicode.ToLower(k.Code) {
				return rune(latin[at]), false
			}
			at++
		}
	}
	return 0, false
}

// Shortcut is a key as it is looked up among shortcuts: by its letter, and by its
// position if that letter is of another alphabet. A key that writes is left alone.
func Shortcut(msg tea.KeyPressMsg) tea.KeyPressMsg {
	if msg.Code > 0 && msg.Code < unicode.MaxASCII {
		msg.BaseCode = 0 // Its position on another keyboard: AZERTY's a is where q is.
		return msg
	}
	if msg.Mod&(tea.ModCtrl|tea.ModAlt|tea.ModMeta|tea.ModSuper) == 0 {
		return msg
	}
	if letter, _ := Position(tea.Key(msg)); letter != 0 {
		msg.Code, msg.BaseCode, msg.ShiftedCode, msg.Text = letter, 0, 0, ""
	}
	return msg
}

// Command is the text of a key where keys are commands, as in the normal mode of
// vi: the letter at its position, in the same case.
func Command(msg tea.KeyPressMsg) string {
	letter, _ := Position(tea.Key(msg))
	switch {
	case msg.Text == "" || letter == 0:
		return msg.Text
	case strings.ToLower(msg.Text) != msg.Text:
		return string(unicode.ToUpper(letter))
	}
	return string(letter)
}

// Says reports whether a key is a letter that decides something: as it is written,
// or at a position that the terminal has told. A guess decides nothing.
func Says(msg tea.KeyPressMsg, letter string) bool {
	at, sure := Position(tea.Key(msg))
	return msg.String() == letter || sure && msg.Mod&^(tea.ModCapsLock|tea.ModNumLock) == 0 && string(at) == letter
}
