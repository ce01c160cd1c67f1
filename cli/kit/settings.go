package kit

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

// SettingFlags are the flags of a command that are settings, by name.
type SettingFlags map[string]*settingFlag

// settingFlag keeps what a flag was given as text; config reads it, together
// with the other sources.
type settingFlag struct {
	field config.Field
	texts []string
}

// AddSettings gives cmd the flags of sections of the settings.
func AddSettings(cmd *cobra.Command, sections ...config.Section) SettingFlags {
	return AddSettingsTo(cmd, cmd.Flags(), sections...)
}

// AddSettingsTo puts them into one of the flag sets of cmd.
func AddSettingsTo(cmd *cobra.Command, flags *pflag.FlagSet, sections ...config.Section) SettingFlags {
	return addSettingsThat(cmd, flags, func(f config.Field) bool { return slices.Contains(sections, f.Section) })
}

// AddSettingsNamed gives cmd the flags of single settings.
func AddSettingsNamed(cmd *cobra.Command, names ...string) SettingFlags {
	return AddSettingsNamedTo(cmd, cmd.Flags(), names...)
}

// AddSettingsNamedTo puts them into one of the flag sets of cmd.
func AddSettingsNamedTo(cmd *cobra.Command, flags *pflag.FlagSet, names ...string) SettingFlags {
	return addSettingsThat(cmd, flags, func(f config.Field) bool { return slices.Contains(names, f.Flag) })
}

func addSettingsThat(cmd *cobra.Command, flags *pflag.FlagSet, wanted func(config.Field) bool) SettingFlags {
	all := SettingFlags{}
	for _, field := range config.Fields() {
		if field.Flag == "" || !wanted(field) {
			continue
		}
		f := &settingFlag{field: field}
		all[field.Flag] = f
		flag := flags.VarPF(f, field.Flag, "", field.Help)
		if field.Switch() {
			flag.NoOptDefVal = "true"
		}
		switch {
		case field.Choices != nil:
			Complete(cmd, field.Flag, field.Choices...)
		case field.Arg == "DIR":
			_ = cobra.MarkFlagDirname(flags, field.Flag) // The flag is there.
		case !field.Switch() && !field.IsPath():
			Complete(cmd, field.Flag, field.Words...)
		}
	}
	return all
}

// Set keeps one value. It is called once for each time the flag is given.
func (f *settingFlag) Set(text string) error {
	f.texts = append(f.texts, text)
	return nil
}

// String is the value, or what holds without one: help shows it as default.
func (f *settingFlag) String() string {
	if len(f.texts) > 0 {
		return strings.Join(f.texts, ",")
	}
	if f.field.Key == "" || f.field.Switch() { // cobra asks a zero value, too
		return ""
	}
	return f.field.Default()
}

// Type is what stands for the value in help.
func (f *settingFlag) Type() string {
	if f.field.Switch() {
		return "bool"
	}
	return f.field.Placeholder()
}

// given are the flags that the command line has.
func (s SettingFlags) given() map[string][]string {
	texts := map[string][]string{}
	for name, f := range s {
		if len(f.texts) > 0 {
			texts[name] = f.texts
		}
	}
	return texts
}

// Args are these flags as a command line has them.
func (s SettingFlags) Args() []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for _, text := range s[name].texts {
			args = append(args, "--"+name+"="+text)
		}
	}
	return args
}

// RunsHere returns the flag that makes a chat or an editor's agent run in the process
// of the command, and not in a running daemon, which has settings of its own: --demo,
// --backend, --cloud, --browser, --headed, or one of the sandbox. It is empty if there is none.
func RunsHere(s *config.Settings) (flag string, err error) {
	named := s.Origin("client.url").Kind == config.FromFlag
	sandbox := s.GivenIn(config.SandboxSection)
	switch {
	case s.Origin("demo").Kind == config.FromFlag:
		if named {
			return "", fault.NewUsage("--demo cannot be used with --url: the demo runs in this process", "use one of them")
		}
		return "--demo", nil
	case s.Origin("backend").Kind == config.FromFlag, s.Origin("cloud.server").Kind == config.FromFlag:
		flag := "--backend"
		if s.Origin("backend").Kind != config.FromFlag {
			flag = "--cloud"
		}
		if named {
			return "", fault.NewUsage(flag+" cannot be used with --url: the daemon there has its own backend", "use one of them")
		}
		return flag, nil
	case browserFlag(s) != "":
		flag := browserFlag(s)
		if named {
			return "", fault.NewUsage(flag+" cannot be used with --url: the daemon there has its own browser", "use one of them, or restart that daemon with ohgw serve "+flag)
		}
		return flag, nil
	case len(sandbox) == 0:
		return "", nil
	case named:
		return "", fault.NewUsage(sandbox[0]+" cannot be used with --url: the settings of the sandbox are those of the daemon there",
			"use one of them, or restart that daemon with ohgw serve "+sandbox[0])
	}
	return sandbox[0], nil
}

// browserFlag returns the flag of the browser that was given, "" for neither of them.
func browserFlag(s *config.Settings) string {
	switch {
	case s.Origin("browser_tools").Kind == config.FromFlag:
		return "--browser"
	case s.Origin("browser_headed").Kind == config.FromFlag:
		return "--headed"
	}
	return ""
}

// Settings collects the settings from all sources.
func (a *App) Settings(flags SettingFlags) (*config.Settings, error) {
	return a.Setup().Settings(flags.given())
}
