package kit

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

// Long is the Long text of a command: what it does, and with what it ends.
func Long(text string, codes ...fault.Code) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	b.WriteString("\n\nExit codes:\n")
	for _, line := range fault.ExitCodes() {
		for _, code := range codes {
			if line.Code == code {
				fmt.Fprintf(&b, "  %-3d %s\n", line.Code, line.Meaning)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// ShowHelp prints the help of a command that only holds others, which is all it does.
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
