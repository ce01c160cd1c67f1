// Package service has the commands that let the system start ohgw.
package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/service"
)

// New makes the command "service".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service COMMAND",
		Short: "Run ohgw as a service",
		Long: `Runs ohgw as a service of your own: a systemd user unit, or a launch agent on
macOS. The system restarts ohgw after a failure and keeps its log. On Windows,
the commands print what to type.

"ohgw serve" in a terminal does not need a service.`,
		Example: kit.Examples("ohgw service install", "ohgw service status"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	cmd.AddCommand(newInstall(a), newUninstall(a), newStatus(a))
	return cmd
}

// manager is what starts programs on this system.
type manager struct {
	*kit.App

	goos  string
	files []string // of ours: the unit first
	run   func(ctx context.Context, args ...string) (string, error)
}

// newManager finds out what starts programs here.
func newManager(a *kit.App) (*manager, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	m := &manager{App: a, goos: runtime.GOOS}
	switch m.goos {
	case "windows":
		return m, nil
	case "darwin":
		m.files = []string{service.LaunchAgentFile(dirs.Home)}
		m.run = func(ctx context.Context, args ...string) (string, error) {
			return command(ctx, a, "launchctl", args...)
		}
	default:
		dir := service.SystemdDir(a.Getenv, dirs.Home)
		m.files = []string{filepath.Join(dir, service.Unit), filepath.Join(dir, service.Socket)}
		m.run = func(ctx context.Context, args ...string) (string, error) {
			return command(ctx, a, "systemctl", append([]string{"--user"}, args...)...)
		}
	}
	return m, nil
}

// command runs a program; its error has what it said.
func command(ctx context.Context, a *kit.App, name string, args ...string) (string, error) {
	path, err := a.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// wanted is what the files of the service must contain, by path.
func (m *manager) wanted(c service.Config) map[string]string {
	switch {
	case m.goos == "darwin":
		return map[string]string{m.files[0]: service.LaunchAgent(c)}
	case c.Socket != "":
		return map[string]string{m.files[0]: service.SystemdUnit(c), m.files[1]: service.SystemdSocket(c)}
	}
	return map[string]string{m.files[0]: service.SystemdUnit(c)}
}

// unit is what is enabled: the socket, where there is one.
func (m *manager) unit() string {
	if len(m.files) > 1 {
		if _, err := os.Lstat(m.files[1]); err == nil {
			return service.Socket
		}
	}
	return service.Unit
}

// domain is where launchd has the programs of this user.
func (m *manager) domain() string { return "gui/" + strconv.Itoa(m.RealUID) }

// serviceConfig collects what the system has to know about this ohgw.
func serviceConfig(a *kit.App, s *config.Settings, onDemand bool) (service.Config, error) {
	program, err := a.Executable()
	if err != nil {
		return service.Config{}, fault.New("the path of this program is unknown", "start it by its absolute path", err)
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return service.Config{}, err
	}
	c := service.Config{Program: program, Path: a.Getenv("PATH"), Drain: s.Drain, Log: dirs.ServeLog()}
	if file, named, err := a.Setup().ConfigFile(); err == nil && named {
		c.Args = append(c.Args, "--config", file)
	}
	if onDemand {
		c.Socket = s.Addr
	}
	return c, nil
}

// ours reads a file that may be one of ours. The error says that it is not.
func ours(path string) (text string, there bool, err error) {
	text, there, err = kit.ReadIfThere(path)
	if err != nil {
		return "", false, fault.New(path+" cannot be read", "check its owner and permissions: ls -l", err)
	}
	if there && !service.Ours(text) {
		return "", true, &fault.Error{Msg: path + " exists, and was not written by ohgw", Hint: "move it away first, or keep using it", Code: fault.Conflict}
	}
	return text, there, nil
}

// writeService writes the files that are missing or differ, and
// removes those that are not wanted any more.
func (m *manager) writeService(wanted map[string]string) (changed []string, err error) {
	for _, path := range m.files {
		text, there, err := ours(path)
		if err != nil {
			return changed, err
		}
		want, needed := wanted[path]
		switch {
		case there && !needed:
			err = os.Remove(path)
		case !needed, there && text == want:
			continue
		default:
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = atomicfile.Write(path, []byte(want), atomicfile.Options{})
			}
		}
		if err != nil {
			return changed, fault.New(path+" cannot be written", "check the directory's owner and permissions: ls -ld", err)
		}
		changed = append(changed, path)
	}
	return changed, nil
}

// removeIfThere removes a file and tells whether it was there.
func removeIfThere(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
