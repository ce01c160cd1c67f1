package service

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/service"
	"github.com/ohgw/ohgw/setup"
)

func newUninstall(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove its files",
		Long: kit.Long(`
Stops the service after its running answers, and removes the files that "ohgw
service install" wrote. Settings, keys and conversations are kept. Without a
service, the command does nothing and succeeds. With --json the output has
removed.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw service uninstall", "ohgw service uninstall --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runUninstall(cmd.Context(), &uninstallOptions{App: a})
		},
	}
}

// uninstallOptions is what the command takes.
type uninstallOptions struct {
	*kit.App
}

// runUninstall runs the command.
func runUninstall(ctx context.Context, o *uninstallOptions) error {
	m, err := newManager(o.App)
	if err != nil {
		return err
	}
	if m.goos == "windows" {
		o.Note("In PowerShell, as yourself:")
		return kit.WriteText(o.Stdout, "Unregister-ScheduledTask -TaskName ohgw -Confirm:$false\n")
	}
	found := false
	for _, path := range m.files {
		_, there, err := ours(path)
		if err != nil {
			return err
		}
		found = found || there
	}
	removed := []string{}
	if found {
		m.stop(ctx)
	}
	for _, path := range m.files {
		gone, err := removeIfThere(path)
		if err != nil {
			return fault.New(path+" cannot be removed", "check its owner and permissions: ls -l", err)
		}
		if gone {
			removed = append(removed, path)
		}
	}
	if found && m.goos != "darwin" {
		_, err = m.run(ctx, "daemon-reload")
		m.Detail("%v", err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"removed": removed})
	}
	if len(removed) == 0 {
		o.Note("There is no service.")
	}
	for _, path := range removed {
		o.Note("Removed: %s", path)
	}
	return nil
}

// stop ends the service. Where nothing manages services there is none to end.
func (m *manager) stop(ctx context.Context) {
	var err error
	if m.goos == "darwin" {
		_, err = m.run(ctx, "bootout", m.domain()+"/"+service.Label)
	} else {
		units := []string{service.Unit}
		if m.unit() == service.Socket {
			units = []string{service.Socket, service.Unit}
		}
		_, err = m.run(ctx, append([]string{"disable", "--now"}, units...)...)
	}
	if err != nil {
		m.Note("note: the service was not stopped: %s", setup.Clean(err.Error()))
	}
}
