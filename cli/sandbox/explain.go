package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

func newExplain(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain PATH|HOST|@PRESET|SOCKET",
		Short: "Explain what agents may do with a path or host",
		Long: kit.Long(`
Explains what agents in the current directory may do with a path, a host, the
hosts of a preset, or a socket: by which rule, and the command that would allow
it. What is granted to single conversations does not count here.

A path is writable, read-only, hidden (shown as empty), protected (read-only in
a writable directory), or own: the sandbox has its own files there. A host is
explained for its port, or for 443 and 80. For a preset the package managers of
this machine are asked; "leak" says how data can leave through its hosts.

With --json the output has kind (path, host, preset or socket). All
have allow, a list of commands. A path has path, exists, state, rule, at and
why; a host has host, ports (port, allowed, entry, from, why) and leak; a preset
has preset, allowed, hosts and leak; a socket has socket, allowed, why and leak.`, 0, fault.Failed, fault.Usage),
		Example: kit.Examples("ohgw sandbox explain ~/.ssh", "ohgw sandbox explain api.example.com:8443", "ohgw sandbox explain @go"),
		Args:    kit.Exactly("PATH, HOST, @PRESET or SOCKET"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(choices()[1:], grants.Sockets()...), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExplain(cmd.Context(), &explainOptions{App: a, What: args[0]})
		},
	}
}

// explainOptions is what the command takes.
type explainOptions struct {
	*kit.App

	What string
}

// explanation is what can be said of something, as JSON and as a table.
type explanation interface{ table() *kit.Table }

// runExplain runs the command.
func runExplain(ctx context.Context, o *explainOptions) error {
	r, err := newRules(o.App)
	if err != nil {
		return err
	}
	var e explanation
	switch {
	case slices.Contains(grants.Sockets(), o.What):
		e = r.explainSocket(o.What)
	case strings.HasPrefix(o.What, "@"):
		e, err = r.explainPreset(ctx, o)
	case isPath(o):
		e, err = r.explainPath(ctx, o)
	default:
		e, err = r.explainHost(ctx, o)
	}
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(e)
	}
	return e.table().WritePairs(o.Stdout)
}

// isPath tells a path from a host. A name that exists in the current directory is a
// path.
func isPath(o *explainOptions) bool {
	what := o.What
	if what == "" || strings.Contains(what, "://") {
		return false
	}
	if strings.HasPrefix(what, "~") || strings.ContainsRune(what, '/') || filepath.IsAbs(what) || strings.Trim(what, ".") == "" {
		return true
	}
	cwd, err := o.Getwd()
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(cwd, what))
	return err == nil
}

// socketJSON is what can be said of a socket.
type socketJSON struct {
	Kind    string   `json:"kind"`
	Socket  string   `json:"socket"`
	Allowed bool     `json:"allowed"`
	Why     string   `json:"why"`
	Leak    string   `json:"leak"`
	Allow   []string `json:"allow"`
}

func (s socketJSON) table() *kit.Table {
	var t kit.Table
	t.Add("socket", s.Socket)
	t.Add("allowed", yesNo(s.Allowed))
	t.Add("why", s.Why)
	if s.Leak != "" {
		t.Add("leak", s.Leak)
	}
	addCommands(&t, s.Allow)
	return &t
}

func (r *rules) explainSocket(name string) socketJSON {
	s := socketJSON{Kind: "socket", Socket: name, Why: "sockets outside of the sandbox are not shown", Allow: []string{"ohgw sandbox allow socket " + name}}
	g, granted := r.grantOf(sandbox.Socket, name)
	switch {
	case slices.Contains(r.settings.Sockets, name):
		s.Allowed, s.Why, s.Allow = true, "the setting sandbox.sockets.allow", []string{}
	case granted:
		s.Allowed, s.Why, s.Allow = true, "a grant ("+g.Scope()+")", []string{}
	}
	if name == "docker" {
		s.Leak = "with Docker an agent can do everything on this machine"
	}
	return s
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func addCommands(t *kit.Table, commands []string) {
	for _, command := range commands {
		t.Add("allow", command)
	}
}

// hostArg reads a host with or without a port.
func hostArg(text string) (netpolicy.Entry, error) {
	e, err := netpolicy.ParseEntry(text)
	switch {
	case err != nil:
		return e, fault.NewUsage(err.Error(), "a path begins with / or ./")
	case e.Below:
		return e, fault.NewUsage(netpolicy.Quote(text)+" stands for many hosts", "write one of them, such as www."+e.Name)
	}
	return e, nil
}
