package server

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
)

func newTest(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "test [NAME]",
		Short: "Test a server and its key",
		Long: kit.Long(`
Asks a server what it is and whether it takes the key: host, kind, versions of
the API, the owner of the key, the organisation, and how long an answer took.
What was found is stored with the server. Without NAME it is the default server.

With --json the output has name, url, kind, v0, v1, app_mode, owner, key_name,
organization, header, key_from and latency_ms.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw server test", "ohgw server test work --json"),
		Args:              kit.AtMostOneName("the name"),
		ValidArgsFunction: completeNames(a, flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Name = args[0]
			}
			return runTest(cmd.Context(), &opts)
		},
	}
}

// testJSON is the result of a test.
type testJSON struct {
	Name         string `json:"name"`
	URL          string `json:"url"`
	Kind         string `json:"kind"`
	V0           bool   `json:"v0"`
	V1           bool   `json:"v1"`
	AppMode      string `json:"app_mode"`
	Owner        string `json:"owner"`
	KeyName      string `json:"key_name"`
	Organization string `json:"organization"`
	Header       string `json:"header"`
	KeyFrom      string `json:"key_from"`
	Latency      int64  `json:"latency_ms"`
}

// runTest runs the command.
func runTest(ctx context.Context, o *options) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	server, err := stored.Find(o.Name)
	if err != nil {
		return err
	}
	key, err := stored.Key(ctx, server)
	if err != nil && server.Kind != servers.AgentServer {
		return err
	}
	found, err := o.probe(ctx, server, key.Value)
	if err != nil {
		return err
	}
	server = accounts.Found(server, found)
	if err := remember(ctx, stored, server); err != nil {
		o.Note("warning: what was found is not stored: %v", err)
	}
	out := testJSON{
		Name: server.Name, URL: server.URL, Kind: string(server.Kind), V0: server.V0, V1: server.V1, AppMode: found.AppMode, Owner: found.Owner,
		KeyName: found.KeyName, Organization: found.Organization, Header: server.Header, KeyFrom: key.Origin, Latency: found.Latency.Milliseconds(),
	}
	if o.JSON {
		return o.PrintJSON(out)
	}
	t := kit.Table{}
	for _, pair := range [][2]string{
		{"name", out.Name},
		{"host", server.Host()},
		{"kind", out.Kind},
		{"API", versions(server)},
		{"owner", cmp.Or(out.Owner, "-")},
		{"organisation", cmp.Or(out.Organization, "-")},
		{"key", cmp.Or(out.KeyFrom, "-")},
		{"latency", found.Latency.Round(time.Millisecond).String()},
	} {
		t.Add(pair[0], pair[1])
	}
	return t.WritePairs(o.Stdout)
}

// remember stores what a probe found, if the server is a stored one.
func remember(ctx context.Context, stored setup.Servers, server servers.Server) error {
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	before, err := list.Get(server.Name)
	if err != nil || before == server {
		return nil //nolint:nilerr // it is not stored
	}
	return stored.Store.Update(ctx, server)
}

// probe asks a server as if nothing were known of it.
func (o *options) probe(ctx context.Context, server servers.Server, key secret.Value) (account.Server, error) {
	server.Header = ""
	client, err := accounts.Client(o.Setup(), server, key, o.Logger("text"))
	if err != nil {
		return account.Server{}, accounts.Fault(err, server)
	}
	defer client.Close()
	defer o.TellLate("waiting for " + server.Host() + ", up to 60 s")()
	found, err := client.Probe(ctx)
	return found, accounts.Fault(err, server)
}
