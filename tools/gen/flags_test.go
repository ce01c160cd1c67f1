package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/cli"
)

// TestEveryFlagStandsInAScript wants a line in cli's scripts for each flag of
// each command: what no script shows is not specified. A flag of several
// commands (keys --key-store) needs one of them.
func TestEveryFlagStandsInAScript(t *testing.T) {
	t.Parallel()
	lines := scriptLines(t)
	count := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		own := func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			count++
			if !lines.use(cmd.CommandPath(), f) {
				t.Errorf("no script in cli/testdata/script shows %s --%s", cmd.CommandPath(), f.Name)
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(own)
		cmd.PersistentFlags().VisitAll(own)
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(cli.Root(world(io.Discard, io.Discard)))
	if count < 60 {
		t.Errorf("found only %d flags", count)
	}
}

// script has the lines of all scripts that run ohgw.
type script []string

func scriptLines(t *testing.T) script {
	t.Helper()
	names, err := filepath.Glob("../../cli/testdata/script/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var lines script
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "ohgw ") && !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimSpace(line)+" ")
			}
		}
	}
	return lines
}

// use reports whether a line runs the command, or one below it, with the flag.
func (s script) use(command string, f *pflag.Flag) bool {
	given := " --" + regexp.QuoteMeta(f.Name) + "[ =]"
	if f.Shorthand != "" {
		given += "| -" + regexp.QuoteMeta(f.Shorthand) + " "
	}
	pattern := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[ ;])` + command + ` (.* )?(` + strings.ReplaceAll(given, " -", "-") + `)`)
	})
	for _, line := range s {
		// Most lines are for other commands. Looking for a text is a hundred times faster.
		if strings.Contains(line, command+" ") && pattern().MatchString(line) {
			return true
		}
	}
	return false
}
