package unpack

import "testing"

func TestNamesThatWindowsCannotHave(t *testing.T) {
	t.Parallel()
	for name, fit := range map[string]bool{
		"a/b.txt": true, "console": true, ".con": true, "com10": true, "a.b.c": true, "näme": true,
		"CON": false, "con.txt": false, "a/NUL": false, "aux .c": false, "COM1": false, "lpt9.log": false, "CONIN$": false,
		"dot.": false, "a./b": false, "space ": false, "a:b": false, "what?": false, "a\tb": false,
	} {
		if got := fits(name, "windows"); got != fit {
			t.Errorf("%q on Windows: %v", name, got)
		}
		if !fits(name, "linux") {
			t.Errorf("%q does not fit on Linux", name)
		}
	}
}
