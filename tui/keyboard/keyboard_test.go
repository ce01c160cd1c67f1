package keyboard_test

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
)

func TestAShortcutIsFoundByLetterAndByPosition(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		what string
		key  tea.KeyPressMsg
		want string
	}{
		{"Russian, told", tea.KeyPressMsg{Code: 'с', BaseCode: 'c', Mod: tea.ModCtrl}, "ctrl+c"},
		{"Russian, not told", tea.KeyPressMsg{Code: 'с', Mod: tea.ModCtrl}, "ctrl+c"},
		{"Russian with Caps Lock", tea.KeyPressMsg{Code: 'С', Mod: tea.ModCtrl}, "ctrl+c"},
		{"Ukrainian", tea.KeyPressMsg{Code: 'і', Mod: tea.ModAlt}, "alt+s"},
		{"Greek", tea.KeyPressMsg{Code: 'ψ', Mod: tea.ModCtrl}, "ctrl+c"},
		{"Greek, the second sigma", tea.KeyPressMsg{Code: 'ς', Mod: tea.ModCtrl}, "ctrl+w"},
		{"Hebrew", tea.KeyPressMsg{Code: 'ב', Mod: tea.ModCtrl}, "ctrl+c"},
		{"Hebrew with Alt", tea.KeyPressMsg{Code: 'ט', Mod: tea.ModAlt}, "alt+y"},
		{"Arabic", tea.KeyPressMsg{Code: 'ؤ', Mod: tea.ModCtrl}, "ctrl+c"},
		{"a layout that is not known, told", tea.KeyPressMsg{Code: 'გ', BaseCode: 'g', Mod: tea.ModCtrl}, "ctrl+g"},
		{"what is told beats the table", tea.KeyPressMsg{Code: 'н', BaseCode: 'n', Mod: tea.ModCtrl}, "ctrl+n"},
		{"AZERTY: the letter wins", tea.KeyPressMsg{Code: 'a', BaseCode: 'q', Mod: tea.ModCtrl}, "ctrl+a"},
		{"a German umlaut is no shortcut", tea.KeyPressMsg{Code: 'ö', BaseCode: ';', Mod: tea.ModCtrl}, "ctrl+;"},
		{"text stays text", tea.KeyPressMsg{Code: 'с', BaseCode: 'c', Text: "с"}, "с"},
		{"an arrow", tea.KeyPressMsg{Code: tea.KeyUp, Mod: tea.ModCtrl}, "ctrl+up"},
	} {
		if got := keyboard.Shortcut(tc.key).String(); got != tc.want {
			t.Errorf("%s: shortcut = %q, want %q", tc.what, got, tc.want)
		}
	}
}

func TestAGuessedPositionDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key  tea.KeyPressMsg
		says bool
	}{
		{tea.KeyPressMsg{Code: 'y', Text: "y"}, true},
		{tea.KeyPressMsg{Code: 'н', BaseCode: 'y', Text: "н"}, true},
		{tea.KeyPressMsg{Code: 'н', Text: "н"}, false},                                 // Serbian has it where n is.
		{tea.KeyPressMsg{Code: 'н', BaseCode: 'n', Text: "н"}, false},                  //
		{tea.KeyPressMsg{Code: 'н', BaseCode: 'y', Mod: tea.ModCtrl, Text: ""}, false}, //
	} {
		if got := keyboard.Says(tc.key, "y"); got != tc.says {
			t.Errorf("%+v: Says = %v, want %v", tc.key, got, tc.says)
		}
	}
}

func TestCommandsKeepTheirCase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"ц": "w", "Ц": "W", "w": "w", "ק": "e", "1": "1", "ж": "ж"} {
		msg := tea.KeyPressMsg{Code: []rune(text)[0], Text: text}
		if got := keyboard.Command(msg); got != want {
			t.Errorf("%q: command = %q, want %q", text, got, want)
		}
	}
}
