package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
)

// NoKeys takes any arguments but keys of known issuers.
func NoKeys(_ *cobra.Command, args []string) error {
	if slices.ContainsFunc(args, secret.HasKey) {
		return keyGiven()
	}
	return nil
}

// Names takes names of what has a key, so that whatever may be a key is refused.
func Names(_ *cobra.Command, args []string) error {
	if slices.ContainsFunc(args, LooksLikeKey) {
		return keyGiven()
	}
	return nil
}

func keyGiven() error { return fault.NewUsage("an argument looks like a key", KeyHint) }

// AtMostOne takes an argument or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Exactly(name)(cmd, args)
	}
}

// AtMostOneName is [AtMostOne] for the name of what has a key.
func AtMostOneName(name string) cobra.PositionalArgs {
	return cobra.MatchAll(Names, AtMostOne(name))
}

// KeyHint says what to do instead of writing a key on a command line.
const KeyHint = "every user of this machine can see arguments: " +
	"put the key into a variable (ohgw help environment) or a file"

// LooksLikeKey tells whether an argument may be a key, given by mistake where the
// name of a profile, a key, a server or a token belongs: one of a provider, one
// that report would not print, or one that has the shape of a key. Prompts, paths,
// hosts and ids have that shape, too: for them, [NoKeys] is the check.
func LooksLikeKey(arg string) bool {
	return secret.HasKey(arg) || secret.LooksLikeKey(arg) || redact.Text(arg) != arg
}

// None refuses arguments.
func None() cobra.PositionalArgs { return Exactly() }

// Exactly wants one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := NoKeys(cmd, args); err != nil {
			return err
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

// ExactlyNames is [Exactly] for names of what has a key.
func ExactlyNames(names ...string) cobra.PositionalArgs {
	return cobra.MatchAll(Names, Exactly(names...))
}

// UnknownCommandOrKey refuses arguments like [UnknownCommand], for commands about what
// has a key.
func UnknownCommandOrKey(cmd *cobra.Command, args []string) error {
	return cobra.MatchAll(Names, UnknownCommand)(cmd, args)
}

// UnknownCommand refuses the arguments of a command that only holds others.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if err := NoKeys(cmd, args); err != nil {
		return err
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

// UnknownCommandBut is [UnknownCommand] with another hint for some subcommands: they are
// elsewhere. Their name takes the place of %s in it.
func UnknownCommandBut(hint string, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && slices.Contains(names, args[0]) {
			return fault.NewUsage(fmt.Sprintf("unknown command %q", args[0]), fmt.Sprintf(hint, args[0]))
		}
		return UnknownCommand(cmd, args)
	}
}
