package cli_test

import "github.com/rogpeppe/go-internal/testscript"

// tty is not there: scripts that use it skip themselves on Windows.
func cmdTTY(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("tty: no pseudo-terminals here")
}

func cmdUntil(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("until: there are no signals here")
}

func cmdCarryOut(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("carryout: there is no shell here")
}
