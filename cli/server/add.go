package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
)

// addOptions is what the command takes.
type addOptions struct {
	options

	URL      string
	Kind     string
	KeyStdin bool
	NoCheck  bool
	Replace  bool
	Default  bool
}

func newAdd(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := addOptions{options: options{App: a, flags: flags}}
	cmd := &cobra.Command{
		Use:   "add [NAME]",
		Short: "Store a server and its key",
		Long: kit.Long(`
Stores a server with its key. Without --url it is OpenHands Cloud. The key is
typed at a hidden prompt, or read from stdin with --key-stdin; it is never an
argument. An agent-server may have no key.

Before anything is stored, the server is asked what it is, which versions of the
API it speaks, and whether it takes the key. If that fails, a terminal is asked
whether to store it anyway; --no-check stores it without asking the server. The
first server becomes the default one.

With --json the output is the server as in "ohgw server list".`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example:           kit.Examples("ohgw server add", "ohgw server add work --url https://openhands.example.com --key-stdin <key.txt"),
		Args:              kit.AtMostOneName("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return runAdd(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.URL, "url", "", "root `URL` of the server")
	f.StringVar(&opts.Kind, "kind", "", "what the server is: `cloud|agent-server`; default: it is asked")
	f.BoolVar(&opts.KeyStdin, "key-stdin", false, "read the key from stdin")
	f.BoolVar(&opts.NoCheck, "no-check", false, "store it without asking the server")
	f.BoolVar(&opts.Replace, "replace", false, "replace a server of this name")
	f.BoolVar(&opts.Default, "default", false, "make it the default server")
	kit.Complete(cmd, "kind", servers.Kinds()...)
	return cmd
}

// runAdd runs the command.
func runAdd(ctx context.Context, o *addOptions) error {
	server, err := o.describe()
	if err != nil {
		return err
	}
	stored, err := o.open()
	if err != nil {
		return err
	}
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	if _, err := list.Get(server.Name); err == nil && !o.Replace {
		return servers.Taken(server.Name)
	}
	if server.Exposed() {
		o.Note("warning: %s is not encrypted: the key can be read on the way to it", server.URL)
	}
	key, err := o.readKey(ctx, server)
	if err != nil {
		return err
	}
	if !o.NoCheck {
		if server, err = o.check(ctx, server, key); err != nil {
			return err
		}
	}
	if err := keep(ctx, stored, server, key, o.Replace); err != nil {
		return err
	}
	if o.Default {
		if err := stored.Store.Use(ctx, server.Name); err != nil {
			return err
		}
	}
	return o.tell(stored, server)
}

// keep stores the key, then the server. A key without its server is found by nothing.
func keep(ctx context.Context, stored setup.Servers, server servers.Server, key secret.Value, replace bool) error {
	if !key.IsZero() {
		if err := stored.Keep(ctx, server, key); err != nil {
			return err
		}
	}
	return stored.Store.Put(ctx, server, replace)
}

// describe returns the server that the command line means.
func (o *addOptions) describe() (servers.Server, error) {
	text := o.URL
	if text == "" {
		text = servers.HostedURL
	}
	root, err := servers.Root(text)
	if err != nil {
		return servers.Server{}, err
	}
	server := servers.Server{Name: o.Name, URL: root, Kind: servers.Kind(o.Kind)}
	switch o.Kind {
	case "", string(servers.Cloud), string(servers.AgentServer):
	default:
		return server, fault.NewUsage(fmt.Sprintf("--kind cannot be %q", o.Kind), "use cloud or agent-server, or remove --kind")
	}
	switch {
	case server.Name != "":
	case root == servers.HostedURL:
		server.Name = servers.HostedName
	default:
		return server, fault.NewUsage("a server that is not OpenHands Cloud requires a name", "ohgw server add NAME --url "+shellword.Of(root))
	}
	if server.Kind == "" && o.NoCheck {
		server.Kind = servers.Cloud
	}
	return server, servers.CheckName(server.Name)
}

func (o *addOptions) readKey(ctx context.Context, server servers.Server) (key secret.Value, err error) {
	switch {
	case o.KeyStdin:
		key, err = secret.Read(o.Stdin)
	case server.Kind == servers.AgentServer:
		return secret.Value{}, nil
	case o.CanAsk():
		key, err = o.AskKey(ctx, "Key for "+server.Host())
	default:
		return secret.Value{}, fault.NewUsage("a key is required, and there is no terminal to ask on", "pass it on stdin with --key-stdin, or log in: ohgw login")
	}
	return key, kit.InputFault(err)
}

// check asks the server what it is. If it does not answer well, a person decides.
func (o *addOptions) check(ctx context.Context, server servers.Server, key secret.Value) (servers.Server, error) {
	client, err := accounts.Client(o.Setup(), server, key, o.Logger("text"))
	if err != nil {
		return server, accounts.Fault(err, server)
	}
	defer client.Close()
	done := o.TellLate("waiting for " + server.Host() + ", up to 60 s")
	found, err := client.Probe(ctx)
	done()
	if err == nil && (server.Kind == "" || string(server.Kind) == string(found.Kind)) {
		return accounts.Found(server, found), nil
	}
	if err == nil {
		err = fault.New(fmt.Sprintf("%s is not %s: it answers as %s", server.Host(), server.Kind, found.Kind), "remove --kind", nil)
	} else {
		err = unstored(accounts.Fault(err, server))
	}
	if ctx.Err() != nil || !o.CanAsk() {
		return server, err
	}
	o.Say(kit.Sentence(err))
	save, askErr := o.AskYesNo(ctx, "Store it anyway?", "Then ohgw server test "+server.Name+" checks it again.")
	if askErr != nil {
		return server, askErr
	}
	if !save {
		return server, err
	}
	if server.Kind == "" {
		server.Kind = servers.Cloud
	}
	return server, nil
}

// unstored returns the failure of a server that is not in the list: no command takes
// its name.
func unstored(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Credential && f.Code != fault.Unreachable {
		return err
	}
	told := *f
	told.Hint = "check the URL and the key, and add the server again; --no-check stores it as it is"
	return &told
}

// tell shows what was stored.
func (o *options) tell(stored setup.Servers, server servers.Server) error {
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(serverJSON{server, list.Default == server.Name})
	}
	o.Note("The server %s (%s) was stored.", server.Name, server.URL)
	if list.Default != server.Name {
		o.Hint("Make it the default server with: ohgw server use %s", server.Name)
	}
	return nil
}
