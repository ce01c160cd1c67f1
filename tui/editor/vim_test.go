package editor_test

import (
	"testing"

	"github.com/ohgw/ohgw/tui/editor"
)

func TestKeysOfVi(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, keys, want string }{
		{"one two three", "0x", "ne two three"},
		{"one two three", "0wx", "one wo three"},
		{"one two three", "0ex", "on two three"},
		{"one two three", "bx", "one two hree"},
		{"one two three", "$x", "one two thre"},
		{"one two three", "hhx", "one two thee"},
		{"one two three", "0lx", "oe two three"},
		{"one two three", "0dw", "two three"},
		{"one two three", "02dw", "three"},
		{"one two three", "0d2w", "three"},
		{"one two three", "0wd$", "one "},
		{"one two three", "0wD", "one "},
		{"one two three", "0cwnew", "new two three"},
		{"one two three", "wcbX", "one two Xe"},
		{"one two three", "0wCX", "one X"},
		{"one\ntwo\nthree", "dd", "one\ntwo"},
		{"one\ntwo\nthree", "kdd", "one\nthree"},
		{"one\ntwo\nthree", "kk2dd", "three"},
		{"one\ntwo\nthree", "kccnew", "one\nnew\nthree"},
		{"one", "dd", ""},
		{"one", "ddi2", "2"},
		{"one\ntwo", "kddp", "two\none"},
		{"one\ntwo", "yyP", "one\ntwo\ntwo"},
		{"ab", "0xp", "ba"},
		{"one two", "0dwdwuu", "one two"},
		{"one", "u", "one"},
		{"two", "Ione ", "one two"},
		{"one", "A two", "one two"},
		{"ac", "0ab", "abc"},
		{"bc", "0ia", "abc"},
		{"one", "otwo", "one\ntwo"},
		{"two", "Oone", "one\ntwo"},
		{"one", "zq!", "one"},
		{"one", "dzx", "on"},
		{"", "xdwp$0bweu", ""},
		{"日本 語", "0x", "本 語"},
	} {
		var e editor.Editor
		var v editor.Vim
		e.SetWidth(40)
		e.Set(tc.text)
		v.Escape(&e)
		for _, r := range tc.keys {
			if v.Normal() {
				v.Key(&e, string(r))
			} else {
				e.Type(string(r))
			}
		}
		if got := e.Value(); got != tc.want {
			t.Errorf("%q, keys %q: %q, want %q", tc.text, tc.keys, got, tc.want)
		}
	}
}

func TestEscapeEndsACommandThatIsNotComplete(t *testing.T) {
	t.Parallel()
	var e editor.Editor
	var v editor.Vim
	e.Set("one two")
	if !v.Escape(&e) || v.Escape(&e) {
		t.Error("Escape does not say whether it did something")
	}
	v.Key(&e, "d")
	if !v.Escape(&e) {
		t.Error("the command goes on")
	}
	v.Key(&e, "b")
	v.Key(&e, "x")
	if got := e.Value(); got != "one wo" {
		t.Errorf("text = %q", got)
	}
}
