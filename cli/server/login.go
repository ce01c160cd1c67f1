package server

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/login"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
)

// loginOptions is what the command takes.
type loginOptions struct {
	options

	URL       string
	NoBrowser bool
}

// NewLogin makes the command "login".
func NewLogin(a *kit.App) *cobra.Command {
	opts := loginOptions{options: options{App: a}}
	cmd := &cobra.Command{
		Use:   "login [SERVER]",
		Short: "Log in to OpenHands Cloud",
		Long: kit.Long(`
Logs in to a server of OpenHands: you confirm a code in a browser, and the key
that the server then issues goes into the key store. Without SERVER it is
OpenHands Cloud, or the default server. --url names a server that is not stored
yet. The URL and the code are printed; a browser is opened if there is one.
Ctrl-C ends the wait, and nothing is stored.

A self-hosted app-server without accounts has no login: see ohgw server add.

With --json the output has name, url, expires and default.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw login", "ohgw login work --url https://openhands.example.com"),
		Args:    kit.AtMostOneName("the server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return runLogin(cmd.Context(), &opts)
		},
	}
	opts.flags = kit.AddSettings(cmd, config.KeySection)
	cmd.ValidArgsFunction = completeNames(a, opts.flags)
	cmd.Flags().StringVar(&opts.URL, "url", "", "root `URL` of a server that is not stored yet")
	cmd.Flags().BoolVar(&opts.NoBrowser, "no-browser", false, "open no browser")
	return cmd
}

// runLogin runs the command.
func runLogin(ctx context.Context, o *loginOptions) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	server, err := o.target(stored)
	if err != nil {
		return err
	}
	if err := o.Setup().Reach(ctx, stored.KeyStore); err != nil {
		return err // Before the user confirms a code for nothing.
	}
	key, err := o.confirm(ctx, server)
	if err != nil {
		return loginFault(err, server)
	}
	if err := keep(ctx, stored, server, key.Key, true); err != nil {
		return err
	}
	// The key is stored. What follows is not needed for it.
	if found, err := o.probe(ctx, server, key.Key); err == nil {
		server = accounts.Found(server, found)
		err = stored.Store.Update(ctx, server)
		if err != nil {
			o.Detail("what the server is was not stored: %v", err)
		}
	} else {
		o.Note("warning: the key is stored, but the server does not take it yet: %v", err)
	}
	return o.tellLogin(stored, server, key)
}

// target returns the server to log in to.
func (o *loginOptions) target(stored setup.Servers) (servers.Server, error) {
	list, err := stored.Store.List()
	if err != nil {
		return servers.Server{}, err
	}
	if o.URL != "" {
		add := addOptions{options: o.options, URL: o.URL, Kind: string(servers.Cloud)}
		server, err := add.describe()
		if known, knownErr := list.Get(server.Name); err == nil && knownErr == nil && known.URL != server.URL {
			return server, servers.Taken(server.Name)
		}
		return server, err
	}
	server, err := stored.Find(o.Name)
	switch {
	case err == nil && server.Kind == servers.AgentServer:
		return server, fault.NewUsage("the server "+server.Name+" is an agent-server, which has no login", "name a server that is not: ohgw server list")
	case err == nil:
		return server, servers.CheckName(server.Name)
	case o.Name == "" && len(list.Servers) == 0, o.Name == servers.HostedName:
		return servers.Server{Name: servers.HostedName, URL: servers.HostedURL, Kind: servers.Cloud}, nil
	}
	return server, err
}

// confirm waits until a person has confirmed the login.
func (o *loginOptions) confirm(ctx context.Context, server servers.Server) (login.Key, error) {
	options := login.Options{URL: server.URL, Client: "ohgw", Version: buildinfo.Get().Version, Now: o.Now}
	if o.HTTP != nil {
		options.HTTP = o.HTTP.Transport
	}
	client, err := login.New(options)
	if err != nil {
		return login.Key{}, err
	}
	device, err := client.Authorize(ctx)
	if err != nil {
		return login.Key{}, err
	}
	open := device.FullURL
	if open == "" {
		open = device.URL
	}
	// Not a note: without it --quiet would wait for nothing.
	err = kit.WriteText(o.Stderr, "Confirm the code "+device.UserCode+" in a browser:\n  "+open+"\n")
	if err != nil {
		return login.Key{}, err
	}
	o.openBrowser(ctx, open)
	o.Hint("Waiting for the confirmation until %s. Ctrl-C ends it.", o.TimeText(device.Expires))
	return client.Poll(ctx, device)
}

// openBrowser opens an address in the browser of a desktop, if there is one.
func (o *loginOptions) openBrowser(ctx context.Context, address string) {
	if o.NoBrowser || !o.CanAsk() {
		return
	}
	if err := o.OpenBrowser(ctx, address); err != nil {
		o.Detail("no browser was opened: %v", err)
	}
}

// loginFault turns the failure of a login into one for a person.
func loginFault(err error, server servers.Server) error {
	switch {
	case errors.Is(err, login.ErrDenied):
		return &fault.Error{Msg: "the login was denied in the browser", Hint: "log in again: ohgw login " + server.Name, Code: fault.Credential, Err: err}
	case errors.Is(err, login.ErrExpired):
		return &fault.Error{Msg: "the code has expired before it was confirmed", Hint: "log in again: ohgw login " + server.Name, Code: fault.Credential, Err: err}
	case errors.Is(err, context.Canceled):
		return err
	case noLogin(err):
		return fault.New("the server "+server.Host()+" has no login", "store its key instead: ohgw server add "+server.Name+" --url "+shellword.Of(server.URL), err)
	}
	return accounts.Fault(err, server)
}
