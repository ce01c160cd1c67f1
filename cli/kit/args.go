package kit

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
)

// NoKeys takes any arguments but keys.
func NoKeys(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if LooksLikeKey(arg) {
			return fault.NewUsage("an argument looks like a key", KeyHint)
		}
	}
	return nil
}

// AtMostOne takes an argument or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Exactly(name)(cmd, args)
	}
}

// KeyHint says what to do instead of writing a key on a command line.
const KeyHint = "every user of this machine can see arguments: " +
	"put the key into a variable (ohgw help environment) or a file"

// LooksLikeKey tells whether an argument is a key, given by mistake: one of a
// provider, or one that report would not print.
func LooksLikeKey(arg string) bool { return secret.LooksLikeKey(arg) || redact.Text(arg) != arg }

// None refuses arguments.
func None() cobra.PositionalArgs { return Exactly() }

// Exactly wants one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if LooksLikeKey(arg) {
				return fault.NewUsage("an argument looks like a key", KeyHint)
			}
		}
		switch {
		case len(args) > len(names):
			return fault.NewUsage(fmt.Sprintf("unexpected argument %q", args[len(names)]), "see "+cmd.CommandPath()+" --help")
		case len(args) < len(names):
			return fault.NewUsage(strings.Join(names[len(args):], " and ")+" is missing", "see "+cmd.CommandPath()+" --help")
		}
		return nil
	}
}

// UnknownCommand refuses the arguments of a command that only holds others.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if LooksLikeKey(args[0]) {
		return fault.NewUsage("an argument looks like a key", KeyHint)
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	hint := "see " + cmd.CommandPath() + " --help"
	if near := suggest.Nearest(args[0], names); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return fault.NewUsage(fmt.Sprintf("unknown command %q", args[0]), hint)
}
