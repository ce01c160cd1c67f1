package cli_test

import "github.com/rogpeppe/go-internal/testscript"

func cmdNotifySocket(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("not on Windows") }
func cmdNotified(ts *testscript.TestScript, _ bool, _ []string)     { ts.Fatalf("not on Windows") }
func cmdFreePort(ts *testscript.TestScript, _ bool, _ []string)     { ts.Fatalf("not on Windows") }
func cmdListening(ts *testscript.TestScript, _ bool, _ []string)    { ts.Fatalf("not on Windows") }
func cmdRefusing(ts *testscript.TestScript, _ bool, _ []string)     { ts.Fatalf("not on Windows") }
