package kit

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

// ExitCode is a line of the table of exit codes.
type ExitCode struct {
	Code    fault.Code
	Meaning string
}

// ExitCodes is what the program can end with, for help and man page.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{0, "success; an empty list is a success"},
		{fault.Failed, "failed"},
		{fault.Usage, "wrong command line, variable or config file"},
		{fault.Partly, "some items failed; stderr lists them"},
		{fault.Credential, "no usable key or token"},
		{fault.Unreachable, "the daemon, the agent-server or a provider does not answer"},
		{fault.Conflict, "it exists already, or another process uses it"},
		{fault.Refused, "refused: no sandbox, one weaker than required, or one that was escaped"},
		{fault.Configuration, "no usable profile, model or config file for a question (chat --print)"},
		{fault.Provider, "the model's provider refused or failed (chat --print)"},
		{fault.Agent, "the agent came to no answer, or waits for a person (chat --print)"},
		{fault.Budget, "a limit of steps, tokens, money or time was reached (chat --print)"},
		{fault.Interrupted, "interrupted by Ctrl-C; any other signal: 128 + its number"},
	}
}

// Long is the Long text of a command: what it does, and with what it ends.
func Long(text string, codes ...fault.Code) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	b.WriteString("\n\nExit codes:\n")
	for _, line := range ExitCodes() {
		for _, code := range codes {
			if line.Code == code {
				fmt.Fprintf(&b, "  %-3d %s\n", line.Code, line.Meaning)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// ShowHelp is what a command does that only holds others.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Examples are the lines of an Example text.
func Examples(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }

// Complete offers fixed values for a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake in this package.
	}
}
