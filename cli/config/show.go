package config

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func newShow(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Print every setting with its origin",
		Long: kit.Long(`
Prints every setting, its value, and the origin of the value: a variable, the
config file, or the default. The command reads the config file and changes
nothing. It reports a mistake in the file or in a variable as serve does.

The settings of the sandbox for single workspaces follow, if there are any.

With --json, settings is a list of objects with key, value, origin, env, flag
and default. The default of a setting of a workspace is what holds elsewhere.`, 0, fault.Usage),
		Example:           kit.Examples("ohgw config show", "ohgw config show --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runShow(cmd.Context(), &showOptions{App: a})
		},
	}
}

// settingJSON is one setting in the output of config show.
type settingJSON struct {
	Key     string        `json:"key"`
	Value   any           `json:"value"`
	Origin  config.Origin `json:"origin"`
	Env     string        `json:"env,omitempty"`
	Flag    string        `json:"flag,omitempty"`
	Default any           `json:"default"`
}

// showOptions is what the command takes.
type showOptions struct {
	*kit.App
}

// runShow runs the command.
func runShow(_ context.Context, o *showOptions) error {
	s, err := o.Settings(nil)
	if err != nil {
		return err
	}
	if o.JSON {
		return printDocument(o.App, s)
	}
	t := kit.Table{Header: []string{"KEY", "VALUE", "FROM"}}
	for _, f := range config.Fields() {
		value := f.Text(s.Config)
		if value == "" && o.Stdout.TTY() {
			value = "-"
		}
		t.Add(f.Key, value, s.Origin(f.Key).String())
	}
	for _, f := range s.WorkspaceFields() {
		t.Add(f.Name(), f.Text(f.In(s)), s.File)
	}
	if !s.Found {
		o.Hint("There is no config file yet; its path would be %s", s.File)
	}
	return t.Write(o.Stdout)
}

func printDocument(a *kit.App, s *config.Settings) error {
	doc := struct {
		File     string        `json:"file"`
		Found    bool          `json:"found"`
		Settings []settingJSON `json:"settings"`
	}{File: s.File, Found: s.Found}
	for _, f := range config.Fields() {
		doc.Settings = append(doc.Settings, settingJSON{
			Key: f.Key, Value: f.Value(s.Config), Origin: s.Origin(f.Key), Env: f.Env, Flag: f.Flag, Default: f.Value(config.Default()),
		})
	}
	for _, f := range s.WorkspaceFields() {
		doc.Settings = append(doc.Settings, settingJSON{
			Key: f.Name(), Value: f.Value(f.In(s)), Origin: config.Origin{Kind: config.FromFile, Name: s.File}, Default: f.Value(s.Config),
		})
	}
	return a.PrintJSON(doc)
}
