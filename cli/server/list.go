package server

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newList(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "list",
		Short: "List the stored servers",
		Long: kit.Long(`
Lists the stored servers: name, kind, the versions of the API that the last test
found, URL, and which one is the default. No server is asked, and no key is
read.

In a pipe, each server is one line with tabs between the columns. With --json,
servers is a list of objects with name, url, kind, v0, v1, header and default.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw server list", "ohgw server list --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return runList(&opts) },
	}
}

// runList runs the command.
func runList(o *options) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	out := []serverJSON{}
	t := kit.Table{Header: []string{"NAME", "KIND", "API", "URL", "DEFAULT"}}
	for _, s := range list.Servers {
		mark := "-"
		if s.Name == list.Default {
			mark = "default"
		}
		out = append(out, serverJSON{s, s.Name == list.Default})
		t.Add(s.Name, string(s.Kind), versions(s), s.URL, mark)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"servers": out})
	}
	if len(out) == 0 {
		o.Hint("No servers are stored. Add one with: ohgw login, or ohgw server add")
	}
	return t.Write(o.Stdout)
}

func newUse(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Make a stored server the default one",
		Long: kit.Long(`
Makes a stored server the one that commands use without --server. With --json,
the output has default, its name.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw server use work", "ohgw server use cloud --json"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: completeNames(a, flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runUse(cmd.Context(), &opts)
		},
	}
}

// runUse runs the command.
func runUse(ctx context.Context, o *options) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	if err := stored.Store.Use(ctx, o.Name); err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"default": o.Name})
	}
	o.Note("%s is the default server now.", o.Name)
	return nil
}
