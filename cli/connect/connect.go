// Package connect is the command that prints or writes the settings of clients.
package connect

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/connect"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/setup"
)

// New makes the command "connect".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "connect [CLIENT]",
		Short: "Show or write the settings of a client",
		Long: kit.Long(`
Prints the settings that a client needs to use ohgw on stdout, and notes on
stderr. Without CLIENT, it lists the known clients. The settings contain the
variable OHGW_API_KEY, never a key; on a terminal, a line to paste contains the
key.

--write adds the settings to the client's own file, if the file's format is
known. The rest of the file does not change, the previous file is kept beside it
(.before-ohgw), and the change is printed. Running it again changes nothing.
--undo removes the settings. --dry-run only prints the change. If the file of
aider has a model of yours, the settings go into a file of their own.

The exit code is 6 if the file already has an entry of that name that ohgw did
not write. With --json, the list has objects with name, title, aliases, form and
file. A client also has settings and notes. A change has client, file, changed,
backup and diff.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example: kit.Examples("ohgw connect", "ohgw connect openai-python", "ohgw connect zed-agent --write", "ohgw connect other"),
		Args:    kit.AtMostOne("the client"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range connect.Clients() {
				if len(args) == 0 {
					names = append(names, c.Name+"\t"+c.Title)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Client = args[0]
			}
			return run(cmd.Context(), &opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Model, "model", "openhands", "use this `model`")
	flags.BoolVar(&opts.Write, "write", false, "add the settings to the client's own file")
	flags.BoolVar(&opts.Undo, "undo", false, "remove the settings again")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "print the change without making it")
	flags.StringVar(&opts.File, "file", "", "the client's `file`, if it is not in its usual place")
	_ = cmd.RegisterFlagCompletionFunc("model", a.CompleteModels) // The flag is there.
	opts.flags = kit.AddSettings(cmd, config.ClientSection)
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	Client              string // "" lists all
	Model               string
	Write, Undo, DryRun bool
	File                string

	flags kit.SettingFlags
}

// modelID is what a model can be called here. Settings are pasted into shells
// and programs.
var modelID = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// clientJSON is a client in the output of connect.
type clientJSON struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Aliases  []string     `json:"aliases"`
	Form     connect.Form `json:"form"`
	File     string       `json:"file"` // "" where --write has none
	Settings string       `json:"settings,omitempty"`
	Notes    string       `json:"notes,omitempty"`
}

func describeClient(c connect.Client) clientJSON {
	return clientJSON{Name: c.Name, Title: c.Title, Aliases: append([]string{}, c.Aliases...), Form: c.Form, File: c.File}
}

// list prints the clients that are known.
func list(o *options) error {
	if o.Write || o.Undo || o.DryRun || o.File != "" {
		return fault.NewUsage("CLIENT is missing", "ohgw connect lists the clients")
	}
	clients := []clientJSON{}
	t := kit.Table{Header: []string{"CLIENT", "FOR", "WRITES"}}
	for _, c := range connect.Clients() {
		clients = append(clients, describeClient(c))
		t.Add(c.Name, c.Title, c.File)
	}
	if o.JSON {
		return o.PrintJSON(clients)
	}
	if err := t.Write(o.Stdout); err != nil {
		return err
	}
	o.Hint("\nohgw connect CLIENT prints its settings; --write adds them to the file.")
	return nil
}

// run prints or writes the settings of a client.
func run(ctx context.Context, o *options) error {
	if o.Client == "" {
		return list(o)
	}
	c, near, ok := connect.Find(o.Client)
	if !ok {
		hint := "ohgw connect other prints what every client needs; ohgw connect lists the known clients"
		if near != "" {
			hint = "did you mean ohgw connect " + near + "?"
		}
		return fault.NewUsage(fmt.Sprintf("there is no client %q", setup.Clean(o.Client)), hint)
	}
	if !modelID().MatchString(o.Model) {
		return fault.NewUsage(fmt.Sprintf("%q is not a model id", setup.Clean(o.Model)), "ohgw models lists the models")
	}
	base, err := gatewayURL(o.App, o.flags)
	if err != nil {
		return err
	}
	values := connect.Values{BaseURL: base + "/v1", ContainerURL: fromContainer(base) + "/v1", Model: o.Model, Program: program(o.App)}
	switch {
	case o.Write && o.Undo:
		return fault.NewUsage("--write cannot be used with --undo", "use one of them")
	case o.Write, o.Undo:
		return changeFile(ctx, o, c, values)
	case o.DryRun, o.File != "":
		return fault.NewUsage("--dry-run and --file need --write or --undo", "add --write or --undo")
	case o.JSON:
		doc := describeClient(c)
		doc.Settings, doc.Notes = c.Settings(values), c.Notes(values)
		return o.PrintJSON(doc)
	}
	if err := kit.WriteText(o.Stdout, c.Settings(values)); err != nil {
		return err
	}
	printNotes(ctx, o.App, c, values)
	return nil
}

// printNotes says what else there is to know.
func printNotes(ctx context.Context, a *kit.App, c connect.Client, values connect.Values) {
	if a.Quiet {
		return
	}
	a.Note("")
	for paragraph := range strings.SplitSeq(c.Notes(values), "\n") {
		a.Note("%s", paragraph)
	}
	if c.Kept() {
		a.Note("ohgw connect %s --write adds the settings to the file.", c.Name)
	}
	a.Note("\nThe key, for a client started from a shell:\n\n  %s", keyLine(ctx, a))
}

// keyLine is what gives a shell the key. The key itself is for a person only.
func keyLine(ctx context.Context, a *kit.App) string {
	if a.Stderr.TTY() {
		if value, err := a.Setup().DefaultToken(ctx); err == nil {
			return "export " + connect.KeyVariable + "=" + value.Reveal()
		}
	}
	return "export " + connect.KeyVariable + `="$(ohgw tokens show default)"`
}

// gatewayURL returns where clients find ohgw: the daemon that was named, else the one
// that runs, else the one that serve would start.
func gatewayURL(a *kit.App, flags kit.SettingFlags) (string, error) {
	s, err := a.Settings(flags)
	if err != nil {
		return "", err
	}
	if s.Client.URL != "" {
		return strings.TrimSuffix(s.Client.URL, "/v1"), nil
	}
	if dirs, err := a.Paths(); err == nil {
		if info, err := instance.Find(dirs.Runtime); err == nil {
			return info.URL, nil
		}
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return "", fmt.Errorf("split address: %w", err) // config has read it
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if port == "0" {
		a.Note("note: the port is chosen when ohgw serve starts; run this command again after that")
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// program is the path of this program for clients that start it. Programs of a
// desktop may have another PATH than a shell. A link that is in PATH stays when
// the program is updated.
func program(a *kit.App) string {
	own, err := a.Executable()
	if err != nil {
		return "ohgw"
	}
	found, err := a.LookPath("ohgw")
	if err != nil || !filepath.IsAbs(found) {
		return own
	}
	if target, err := filepath.EvalSymlinks(found); err == nil && target == own {
		return found
	}
	return own
}

// fromContainer is how a container of this machine reaches a URL.
func fromContainer(base string) string {
	u, err := url.Parse(base)
	if err != nil || !loopback.Host(u.Hostname()) {
		return base
	}
	u.Host = net.JoinHostPort("host.docker.internal", u.Port())
	return u.String()
}
