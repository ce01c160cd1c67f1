package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/cli/kit"
)

// printUsage writes what --help shows after the text of a command. (A template would
// do the same, and make the program larger and slower to start.)
func printUsage(a *kit.App, cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range cmd.Groups() {
		writeCommands(&b, g.Title, cmd, g.ID)
	}
	writeCommands(&b, "Commands:", cmd, "")
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", flagUsages(a, cmd.LocalFlags()))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nFlags of every command:\n%s", flagUsages(a, cmd.InheritedFlags()))
	}
	if cmd.HasHelpSubCommands() {
		b.WriteString("\nTopics:\n")
		for _, c := range cmd.Commands() {
			if c.IsAdditionalHelpTopicCommand() {
				fmt.Fprintf(&b, "  help %-12s %s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help shows the details of a command.\n", cmd.CommandPath())
	}
	return kit.WriteText(cmd.OutOrStdout(), b.String())
}

// flagUsages lists flags. On a terminal its lines are broken between words; in
// a pipe each flag is one line.
func flagUsages(a *kit.App, flags *pflag.FlagSet) string {
	if a.Stdout.TTY() {
		return flags.FlagUsagesWrapped(a.Stdout.Width())
	}
	return flags.FlagUsages()
}

// writeCommands lists the commands of one group under its title.
func writeCommands(b *strings.Builder, title string, cmd *cobra.Command, group string) {
	var lines strings.Builder
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group {
			fmt.Fprintf(&lines, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	if lines.Len() > 0 {
		fmt.Fprintf(b, "\n%s\n%s", title, lines.String())
	}
}
