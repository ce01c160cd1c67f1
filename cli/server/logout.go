package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/login"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup"
)

// NewLogout makes the command "logout".
func NewLogout(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "logout [SERVER]",
		Short: "Remove the stored key of a server",
		Long: kit.Long(`
Removes the key of a server from the key store; the server stays in the list.
The key is valid until you delete it in the settings of the web app. Without
SERVER it is the default server.

With --json, the output has name and key_removed.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example: kit.Examples("ohgw logout", "ohgw logout work"),
		Args:    kit.AtMostOneName("the server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return runLogout(cmd.Context(), &opts)
		},
	}
	opts.flags = kit.AddSettings(cmd, config.KeySection)
	cmd.ValidArgsFunction = completeNames(a, opts.flags)
	return cmd
}

// runLogout runs the command.
func runLogout(ctx context.Context, o *options) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	server, err := stored.Find(o.Name)
	if err != nil {
		return err
	}
	had, err := stored.Forget(ctx, server)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"name": server.Name, "key_removed": had})
	}
	if !had {
		o.Note("No key was stored for the server %s.", server.Name)
		return nil
	}
	o.Note("The key of the server %s was removed from the %s. It is valid until you delete it on the server.", server.Name, stored.KeyStore)
	return nil
}

// tellLogin shows the end of a login.
func (o *loginOptions) tellLogin(stored setup.Servers, server servers.Server, key login.Key) error {
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"name": server.Name, "url": server.URL, "expires": kit.TimeOrNull(key.Expires), "default": list.Default == server.Name})
	}
	o.Note("You are logged in to %s. The key is in the %s.", server.Name, stored.KeyStore)
	if !key.Expires.IsZero() {
		o.Note("It expires at %s.", o.TimeText(key.Expires))
	}
	return nil
}

// noLogin reports whether a server has no routes for a login.
func noLogin(err error) bool {
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Status == http.StatusMethodNotAllowed {
		return true
	}
	return errors.Is(err, account.ErrNotFound) || errors.Is(err, account.ErrWrongEndpoint)
}
