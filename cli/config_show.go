package cli

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func newConfigShow(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Print every setting with its origin",
		Long: long(`
Prints every setting, its value, and where the value comes from: a variable, the
config file, or the default. It reads the config file and changes nothing; a
mistake in the file or in a variable is shown as it would be by serve.

With --json, settings is a list of objects with key, value, origin, env, flag
and default.`, 0, fault.Usage),
		Example:           examples("ohgw config show", "ohgw config show --json"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.configShow() },
	}
}

// settingJSON is one setting in the output of config show.
type settingJSON struct {
	Key     string        `json:"key"`
	Value   any           `json:"value"`
	Origin  config.Origin `json:"origin"`
	Env     string        `json:"env"`
	Flag    string        `json:"flag,omitempty"`
	Default any           `json:"default"`
}

func (a *App) configShow() error {
	s, err := a.settings(nil)
	if err != nil {
		return err
	}
	if a.json {
		return a.configShowJSON(s)
	}
	t := table{header: []string{"KEY", "VALUE", "FROM"}}
	for _, f := range config.Fields() {
		value := f.Text(s.Config)
		if value == "" && a.Stdout.TTY() {
			value = "-"
		}
		t.add(f.Key, value, s.Origin(f.Key).String())
	}
	if !s.Found {
		a.hint("There is no config file yet; it would be %s", s.File)
	}
	return t.write(a.Stdout)
}

func (a *App) configShowJSON(s *config.Settings) error {
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
	return a.printJSON(doc)
}
