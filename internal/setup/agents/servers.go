package agents

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/several"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/internal/setup"
	accounts "github.com/ohgw/ohgw/internal/setup/cloud"
)

// notesDir is the directory with the notes of which server has a conversation, in the
// state directory.
const notesDir = "servers"

// furtherServers are the stored servers whose profiles are models, too. Their keys are
// looked for, and they are asked, when they are needed.
func furtherServers(env *setup.Env, s *config.Settings, log *slog.Logger) ([]several.Server, error) {
	if len(s.Servers) == 0 {
		return nil, nil
	}
	stored, err := env.Servers(s)
	if err != nil {
		return nil, err
	}
	list, err := stored.Store.List()
	if err != nil {
		return nil, err
	}
	further := make([]several.Server, 0, len(s.Servers))
	for i, name := range s.Servers {
		server, err := list.Get(name)
		switch {
		case err != nil:
			return nil, unknownServer(err, s)
		case server.Kind == servers.AgentServer:
			return nil, fault.NewUsage("the server "+name+" is an agent-server, whose profiles cannot be added ("+s.Origin("servers").String()+")", "use --agent-server "+fault.Word(server.URL))
		case slices.Contains(s.Servers[:i], name):
			continue
		}
		further = append(further, several.Server{Name: name, Address: server.URL, Open: opener(env, s, name, log)})
	}
	return further, nil
}

// unknownServer says where a server was named that is not stored.
func unknownServer(err error, s *config.Settings) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	said := *f
	said.Msg, said.Code = f.Msg+" ("+s.Origin("servers").String()+")", fault.Usage
	return &said
}

// opener opens the backend over the account on a stored server.
func opener(env *setup.Env, s *config.Settings, name string, log *slog.Logger) func(context.Context) (agentapi.Backend, error) {
	return func(ctx context.Context) (agentapi.Backend, error) {
		a, err := accounts.Open(ctx, env, s, name, log)
		if err != nil {
			return nil, notOpened(err)
		}
		return cloud.New(cloud.Config{Account: a.Client, Connect: sandboxOf(env, log), Logger: log, Now: env.Now}), nil
	}
}

// notOpened is why an account cannot be opened, for the person in front of a client.
func notOpened(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	kind := agentapi.ErrRefused
	if f.Code == fault.Credential {
		kind = agentapi.ErrUnauthorized
	}
	return &agentapi.Error{Kind: kind, Err: err, Msg: setup.Sentence(f.Msg) + " " + setup.Sentence(f.Hint)}
}

// withServers adds the profiles of further servers to a backend. It also does so
// without any where conversations are noted for one: these must not be made anew.
func withServers(env *setup.Env, main Backend, further []several.Server, log *slog.Logger) (Backend, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return Backend{}, errors.Join(err, main.Close())
	}
	notes := filepath.Join(dirs.State, notesDir)
	if len(further) == 0 && !several.Any(notes) {
		return main, nil
	}
	main.main = main.Backend
	main.Backend = several.New(several.Config{Main: main.main, Servers: further, Dir: notes, Logger: log, Now: env.Now})
	main.Complete = completeHere(main.Complete, further)
	for _, server := range further {
		main.Further = append(main.Further, server.Name)
	}
	return main, nil
}

// completeHere keeps the profiles of further servers from the LLM calls of this
// process, which has no keys of them.
func completeHere(complete daemon.CompleteFunc, further []several.Server) daemon.CompleteFunc {
	if complete == nil || len(further) == 0 {
		return complete
	}
	return func(ctx context.Context, p daemon.Prompt) (daemon.Completion, error) {
		answer, err := complete(ctx, p)
		if errors.Is(err, agentapi.ErrProfileNotFound) && several.OnServer(p.Profile, further) {
			err = &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "The model is on another server, which has its key; without an agent it cannot be called from here."}
		}
		return answer, err
	}
}

// Servers are the further servers as they are now. They are asked for it.
func (c Backend) Servers(ctx context.Context) []agentapi.ServerStatus {
	b, ok := c.Backend.(interface{ Ask(ctx context.Context) })
	if !ok {
		return nil
	}
	b.Ask(ctx)
	return c.Backend.Status(ctx).Servers
}
