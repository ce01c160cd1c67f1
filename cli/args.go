package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/suggest"
)

// keyName matches the names of flags that a user may expect to take a key.
var keyName = pattern.Of(`(?i)(^|-)(api-?)?(keys?|tokens?|secrets?|password|bearer|auth|credentials?)(-|$)`)

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	help := "see " + cmd.CommandPath() + " --help"
	if cmd.HasSubCommands() { // The flag may be that of an unknown command before it.
		if unknown := cmd.ValidateArgs(cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
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
	case keyName().MatchString(name):
		hint = kit.KeyHint
	case near != "":
		hint = "did you mean --" + near + "?"
	}
	return fault.NewUsage("unknown flag --"+name, hint)
}
