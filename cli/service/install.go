package service

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/service"
)

func newInstall(a *kit.App) *cobra.Command {
	opts := installOptions{App: a}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start ohgw now and at every login",
		Long: kit.Long(`
Writes a systemd user unit (Linux) or a launch agent (macOS), and starts it now
and at every login. A file of that name that ohgw did not write is not changed.
On Windows, and with --print, the command prints the files and changes nothing.

The service gets your current PATH and no other variable. Put settings into the
config file, and keys into "ohgw keys set". With --on-demand, systemd listens on
the address and starts ohgw with the first client.

With --json the output has files, changed and started.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw service install", "ohgw service install --print"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runInstall(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVar(&opts.Print, "print", false, "print the files and change nothing")
	cmd.Flags().BoolVar(&opts.NoStart, "no-start", false, "write the files without starting the service")
	cmd.Flags().BoolVar(&opts.OnDemand, "on-demand", false, "start ohgw with the first client; systemd listens until then")
	return cmd
}

// installOptions is what the command takes.
type installOptions struct {
	*kit.App

	Print, NoStart, OnDemand bool
}

// runInstall runs the command.
func runInstall(ctx context.Context, o *installOptions) error {
	s, err := o.Settings(nil)
	if err != nil {
		return err
	}
	m, err := newManager(o.App)
	if err != nil {
		return err
	}
	c, err := serviceConfig(o.App, s, o.OnDemand)
	if err != nil {
		return err
	}
	if o.OnDemand && m.goos != "linux" {
		return fault.NewUsage("--on-demand needs systemd, which this system does not have", "leave it out")
	}
	if m.goos == "windows" {
		o.Note("In PowerShell, as yourself:")
		return kit.WriteText(o.Stdout, service.Windows(c))
	}
	wanted := m.wanted(c)
	if o.Print {
		for _, path := range m.files {
			if text, ok := wanted[path]; ok {
				o.Note("%s:", path)
				if err := kit.WriteText(o.Stdout, text); err != nil {
					return err
				}
			}
		}
		return nil
	}
	warnVariables(o.App, s)
	changed, err := m.writeService(wanted)
	if err != nil {
		return err
	}
	if !o.NoStart {
		if err := m.start(ctx, len(changed) > 0); err != nil {
			return err
		}
	}
	return m.tellInstalled(changed, !o.NoStart)
}

// warnVariables says which settings the service will not have.
func warnVariables(a *kit.App, s *config.Settings) {
	var names []string
	for _, f := range config.Fields() {
		if o := s.Origin(f.Key); o.Kind == config.FromEnv && f.Section != config.ClientSection && f.Section != config.ChatSection {
			names = append(names, o.Name)
		}
	}
	for _, name := range []string{"OHGW_API_KEYS", "OHGW_AGENT_SERVER_KEY", "OH_SECRET_KEY", "OH_PREVIOUS_SECRET_KEYS", "OH_PREVIOUS_SECRET_KEYS_0", "OH_PERSISTENCE_DIR"} {
		if a.Getenv(name) != "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		a.Note("warning: the service does not get these variables of your shell: %s", strings.Join(names, ", "))
		a.Note("  put settings into the config file (ohgw config path), and variables into the unit: systemctl --user edit ohgw")
	}
}

// start lets the system start the service, or restart it.
func (m *manager) start(ctx context.Context, changed bool) error {
	if m.goos == "darwin" {
		if changed {
			_, _ = m.run(ctx, "bootout", m.domain()+"/"+service.Label) // It may not run.
		}
		if _, err := m.run(ctx, "print", m.domain()+"/"+service.Label); err == nil {
			return nil
		}
		_, err := m.run(ctx, "bootstrap", m.domain(), m.files[0])
		return notStarted(err, "launchctl bootstrap "+m.domain()+" "+m.files[0])
	}
	verb := "start"
	if changed && m.unit() == service.Unit {
		verb = "restart"
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", m.unit()}, {verb, m.unit()}} {
		if _, err := m.run(ctx, args...); err != nil {
			return notStarted(err, "systemctl --user enable --now "+m.unit()+"; journalctl --user -u ohgw shows its log")
		}
	}
	return nil
}

func notStarted(err error, by string) error {
	if err == nil {
		return nil
	}
	return fault.New("the files were written, but the service was not started", "run in your own login session: "+by, err)
}

func (m *manager) tellInstalled(changed []string, started bool) error {
	if m.JSON {
		return m.PrintJSON(map[string]any{"files": m.files[:1], "changed": append([]string{}, changed...), "started": started})
	}
	switch {
	case len(changed) == 0:
		m.Note("The service is already installed: %s", m.files[0])
	default:
		m.Note("Written: %s", strings.Join(changed, ", "))
	}
	if started {
		m.Note("The service is running and starts when you log in. Its state: ohgw service status")
		if m.goos == "linux" {
			m.Hint("To keep it running while you are not logged in: loginctl enable-linger")
		}
	}
	return nil
}
