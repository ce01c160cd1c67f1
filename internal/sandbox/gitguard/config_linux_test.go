package gitguard

import "testing"

func TestHarmlessSettings(t *testing.T) {
	t.Parallel()
	const before = "[core]\n\tbare = false\n[user]\n\tname = Ada\n"
	for after, want := range map[string]bool{
		before: true,
		before + "[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n": true,
		before + "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n":                                       true,
		"[core]\n\tbare = false\n[user]\n\tname = Eve\n\temail = eve@example.org\n":                                        true,
		"[core]\n\tbare = false\n":                                       true,
		"":                                                               false,
		before + "[core]\n\tfsmonitor = evil\n":                          false,
		before + "[core]\n\thooksPath = evil\n":                          false,
		before + "[alias]\n\tst = !evil\n":                               false,
		before + "[include]\n\tpath = evil\n":                            false,
		before + "[remote \"o\"]\n\turl = ext::sh -c evil\n":             false,
		before + "[remote \"o\"]\n\tuploadpack = evil\n":                 false,
		before + "[remote \"o url=x\"]\n\tuploadpack = evil\n":           false,
		before + "[branch \"o=x\"]\n\tremote = origin\n":                 true,
		before + "[user]\n\tsigningkey = evil\n":                         false,
		before + "[user] name = Eve\n":                                   false,
		before + "[user]\n\tname = Eve\\\n[core]\n\tfsmonitor = evil\n":  false,
		before + "[user]\n\tname = \"Eve\n[core]\n\tfsmonitor = evil\n":  false,
		before + "[user]\n\tname = Eve\r[core]\r\tfsmonitor = evil\n":    false,
		before + "[branch \"x\"]\n\tmerge = a # b\n":                     false,
		before + "[branch \"x\\\"] [core]\"]\n\tmerge = a\n":             false,
		before + "[branch.x]\n\tmerge = a\n":                             false,
		"\ufeff" + before:                                                false,
		"[core]\n\tbare = false\n\tbare = false\n[user]\n\tname = Ada\n": false,
	} {
		if got := onlyHarmless(before, after); got != want {
			t.Errorf("%q: onlyHarmless = %v", after, got)
		}
	}
	// What is dropped, and what stays beside it.
	for after, want := range map[string]string{
		before + "[user]\n\temail = eve@example.org\n[core]\n\tfsmonitor = evil\n":    before + "[user]\n\temail = eve@example.org\n[core]\n",
		"[core]\n\tbare = false\n\tbare = false\n[user]\n\tname = Eve\n":              "[core]\n\tbare = false\n[user]\n\tname = Eve\n",
		"[user]\n\tname = Ada\n[core]\n\tfsmonitor = evil\n":                          "", // a setting is missing
		before + "[user] name = Eve\n":                                                "",
		before + "[user]\n\tname = Eve\\\n[core]\n\tfsmonitor = evil\n":               "",
		before + "[remote \"o\"]\n\turl = ext::sh -c evil\n\turl = https://e.org/a\n": before + "[remote \"o\"]\n\turl = https://e.org/a\n",
	} {
		if got, ok := withoutHarm(before, after); ok != (want != "") || ok && got != want {
			t.Errorf("%q: withoutHarm = %q, ok %v", after, got, ok)
		}
	}
	// What cannot be read is never changed.
	if odd := before + "[alias]\n\ta = \"b\"\n"; onlyHarmless(odd, odd+"[user]\n\tname = Eve\n") {
		t.Error("a change of an unknown file")
	}
}
