package service

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/service"
	"github.com/ohgw/ohgw/setup"
)

func newStatus(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether the service is installed and runs",
		Long: kit.Long(`
Shows whether the service is installed, whether it starts at login, whether it
is running, and its address. For the state of the daemon, see "ohgw status".

The exit code is 5 if the service is not running. With --json the output has
installed, file, enabled, running, state and url. In a pipe, each line is a name
and a value separated by a tab.`, 0, fault.Failed, fault.Usage, fault.Unreachable),
		Example:           kit.Examples("ohgw service status", "ohgw service status --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), &statusOptions{App: a})
		},
	}
}

// serviceJSON is the state of the service. It may be unknown whether the service is
// enabled.
type serviceJSON struct {
	Installed bool   `json:"installed"`
	File      string `json:"file"`
	Enabled   bool   `json:"enabled"`
	Running   bool   `json:"running"`
	State     string `json:"state"` // in the system's words
	URL       string `json:"url"`   // "" when it does not answer
}

// statusOptions is what the command takes.
type statusOptions struct {
	*kit.App
}

// runStatus runs the command.
func runStatus(ctx context.Context, o *statusOptions) error {
	m, err := newManager(o.App)
	if err != nil {
		return err
	}
	if m.goos == "windows" {
		o.Note("In PowerShell:")
		return kit.WriteText(o.Stdout, "Get-ScheduledTask -TaskName ohgw | Get-ScheduledTaskInfo\n")
	}
	st := serviceJSON{File: m.files[0]}
	if text, there, err := kit.ReadIfThere(m.files[0]); err == nil {
		st.Installed = there && service.Ours(text)
	}
	if st.Installed {
		m.ask(ctx, &st)
	} else {
		st.State = "not installed"
	}
	if dirs, err := o.Setup().Dirs(); err == nil && st.Running {
		if info, err := instance.Find(dirs.Runtime); err == nil {
			st.URL = info.URL
		}
	}
	if err := m.printService(st); err != nil {
		return err
	}
	switch {
	case st.Running:
		return nil
	case !st.Installed:
		return &fault.Error{Msg: "there is no service", Hint: "create one with: ohgw service install", Code: fault.Unreachable}
	}
	return &fault.Error{Msg: "the service is not running: " + st.State, Hint: "start it with: ohgw service install; " + m.logs() + " shows its log", Code: fault.Unreachable}
}

// logs is the command that shows the log of the service.
func (m *manager) logs() string {
	if m.goos == "darwin" {
		if dirs, err := m.Setup().Dirs(); err == nil {
			return "tail " + strconv.Quote(dirs.ServeLog())
		}
	}
	return "journalctl --user -u ohgw"
}

// ask asks the system about the service.
func (m *manager) ask(ctx context.Context, st *serviceJSON) {
	if m.goos == "darwin" {
		out, err := m.run(ctx, "print", m.domain()+"/"+service.Label)
		st.Enabled, st.State = err == nil, "not loaded"
		if err == nil {
			st.Running = strings.Contains(out, "state = running")
			st.State = map[bool]string{true: "running", false: "loaded"}[st.Running]
		}
		return
	}
	out, err := m.run(ctx, "show", "--property=ActiveState,SubState,UnitFileState", m.unit())
	if err != nil {
		st.State = "unknown: " + setup.Clean(err.Error())
		return
	}
	values := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	st.Enabled = values["UnitFileState"] == "enabled"
	st.Running = values["ActiveState"] == "active"
	st.State = values["ActiveState"] + " (" + values["SubState"] + ")"
}

func (m *manager) printService(st serviceJSON) error {
	if m.JSON {
		return m.PrintJSON(st)
	}
	file := st.File
	if _, err := os.Stat(file); err != nil {
		file += " (not there)"
	}
	var t kit.Table
	t.Add("file", file)
	t.Add("starts at login", strconv.FormatBool(st.Enabled))
	t.Add("state", st.State)
	if st.URL != "" {
		t.Add("address", st.URL+"/v1")
	}
	return t.WritePairs(m.Stdout)
}
