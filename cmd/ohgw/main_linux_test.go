package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// This test is the program, too: it imports the same packages.
func TestHelperIsNotInitialisedAsTheProgram(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"ohgw-sandbox"}, {"/proc/self/fd/3", "ohgw-files"}, {"/proc/self/fd/3", "ohgw-escape"}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args, cmd.Env = args, append(os.Environ(), "GODEBUG=inittrace=1")
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), "init os ") {
			t.Errorf("%q: output = %s", args, out)
		}
		for _, heavy := range []string{"init github.com/santhosh-tekuri/", "init github.com/yuin/goldmark", "init net/http", "init net @", "init regexp @", "init github.com/ohgw/ohgw/cli", "PASS"} {
			if strings.Contains(string(out), heavy) {
				t.Errorf("%q has %q", args, heavy)
			}
		}
	}
}
