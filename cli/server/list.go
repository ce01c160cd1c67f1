package server

import (
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
