package account

import "testing"

// What git quotes, and the server then gives slashes for backslashes.
func TestNamesThatGitHasQuoted(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]struct {
		name string
		ok   bool
	}{
		`plain/name.txt`:          {`plain/name.txt`, true},
		`"n/303/244me.txt"`:       {`näme.txt`, true},
		`"/"quoted/".md"`:         {`"quoted".md`, true},
		`"docs/say /"hi/" to me"`: {`docs/say "hi" to me`, true},
		`"docs//"x/".md"`:         {`docs/"x".md`, true},
		`"/303/244//"/".md"`:      {`ä/"".md`, true},
		`"a/tb"`:                  {`"a/tb"`, false}, // a tab, or a directory
		`"a/377b"`:                {`"a/377b"`, false},
		`say "hi"`:                {`say "hi"`, true},
	} {
		if got, ok := unquote(wire); got != want.name || ok != want.ok {
			t.Errorf("unquote(%s) = %s, %t; want %s, %t", wire, got, ok, want.name, want.ok)
		}
	}
}
