package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
)

// keyHint says what to do instead of writing a key on a command line.
const keyHint = "a key is no argument, since every user of this machine can see those: " +
	"put it into a variable (ohgw help environment) or a file"

// keyName is a flag that somebody would give a key to.
var keyName = regexp.MustCompile(`(?i)(^|-)(api-?)?(keys?|tokens?|secrets?|password|bearer|auth|credentials?)(-|$)`)

// looksLikeKey tells whether an argument is a key, given by mistake: one of a
// provider, or one that report would not print.
func looksLikeKey(arg string) bool { return secret.LooksLikeKey(arg) || redact.Text(arg) != arg }

// none refuses arguments.
func none() cobra.PositionalArgs { return exactly() }

// exactly wants one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if looksLikeKey(arg) {
				return fault.NewUsage("an argument looks like a key", keyHint)
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

// unknownCommand refuses the arguments of a command that only holds others.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if looksLikeKey(args[0]) {
		return fault.NewUsage("an argument looks like a key", keyHint)
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

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	help := "see " + cmd.CommandPath() + " --help"
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, e, help)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fault.NewUsage("--"+e.GetFlag().Name+" needs a value", help)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fault.NewUsage(fmt.Sprintf("--%s cannot be %q", e.GetFlag().Name, e.GetValue()), help)
	}
	return fault.NewUsage(err.Error(), help)
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError, hint string) error {
	name := e.GetSpecifiedName()
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		return fault.NewUsage("unknown flag -"+name, hint)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	switch near := suggest.Nearest(name, known); {
	case keyName.MatchString(name):
		hint = keyHint
	case near != "":
		hint = "did you mean --" + near + "?"
	}
	return fault.NewUsage("unknown flag --"+name, hint)
}
