package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/daemon/openhandsapi/through"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/directllm"
	"github.com/ohgw/ohgw/setup/serverpool"
)

// titlesByLLM is the setting with which titles are found by a model.
const titlesByLLM = "llm"

// openServer opens an agent-server and looks whether it can be used. One that
// was named may be down: it may come later.
func openServer(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Backend, error) {
	b, _, err := ReachServer(ctx, env, s, log)
	return b, err
}

// ReachServer opens an agent-server as Open does, and gives it also as what it is.
func ReachServer(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Backend, *agentserver.Backend, error) {
	address, named := s.AgentServer.URL(), len(s.AgentServer.URLs) > 0
	why := "named by " + s.Origin("agent_server.url").String()
	if !named {
		address, why = "http://"+env.UsualAddress(defaultAddress), "it answers at "+DefaultServer+", and none was named; it runs commands outside of ohgw's sandbox"
	}
	backend, adopted, err := atServer(env, s, log, address)
	if err != nil {
		return Backend{}, nil, err
	}
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	chosen := Backend{
		Backend: backend, adopted: adopted, Why: why, Status: backend.Status(look),
		Complete: (&directllm.LLM{Base: directllm.Config(env, s, log), Load: directllm.OfServer(backend)}).Complete,
	}
	if s.Native {
		reach := backend.Reach()
		chosen.Native = through.New(through.Config{Base: reach.Base, Key: reach.Key, Transport: reach.Transport, Logger: log})
	}
	if err := usable(ctx, chosen.Status, named); err != nil {
		return Backend{}, nil, errors.Join(err, backend.Close())
	}
	return chosen, backend, nil
}

// atServer makes the backend over the agent-server at an address. It sends no request.
func atServer(env *setup.Env, s *config.Settings, log *slog.Logger, address string) (*agentserver.Backend, *adoption, error) {
	key, err := serverKey(env, s, log)
	if err != nil {
		return nil, nil, err
	}
	adopted, err := newAdoption(env, address, len(s.AgentServer.URLs) > 0)
	if err != nil {
		return nil, nil, err
	}
	llm, err := serverLLM(env, s, adopted, log)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := llmSecrets(env, s, adopted, log)
	if err != nil {
		return nil, nil, err
	}
	b, err := agentserver.New(agentserver.Config{
		URL: address, Key: key, LLM: llm, Logger: log, Now: env.Now, FileStamp: fileStamp(env, address), Secrets: secrets,
		Scratch: scratch(env, address), Titles: s.Titles == titlesByLLM,
	})
	if err != nil {
		return nil, nil, fault.New("the address of the agent-server cannot be used", "change what is named by "+s.Origin("agent_server.url").String(), err)
	}
	return b, adopted, nil
}

// openPool opens several agent-servers as one backend. Those that are down may come
// later. Without notes, they are those of this user.
func openPool(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger, notes placement.Placer) (Backend, error) {
	from := s.Origin("agent_server.url").String()
	if s.Native {
		return Backend{}, fault.NewUsage("OpenHands' own API cannot be served for several agent-servers ("+s.Origin("native").String()+", "+from+"): its clients ask one server for everything", "remove --native, or name one agent-server")
	}
	if _, err := serverKey(env, s, log); err != nil { // the servers of a name are opened later
		return Backend{}, err
	}
	if notes == nil {
		var err error
		if notes, err = serverpool.Notes(env); err != nil {
			return Backend{}, err
		}
	}
	b, err := serverpool.New(env, s, log, notes, func(address string) (agentapi.Backend, error) {
		b, _, err := atServer(env, s, log, address)
		return b, err
	})
	if err != nil {
		return Backend{}, err
	}
	look, cancel := context.WithTimeout(ctx, FirstLook)
	defer cancel()
	chosen := Backend{
		Backend: b, Why: "named by " + from, Status: b.Status(look),
		Complete: (&directllm.LLM{Base: directllm.Config(env, s, log), Load: serverpool.LLMs(b)}).Complete,
	}
	warnOfFlags(env, s, "the pool of agent-servers")
	if err := usable(ctx, chosen.Status, true); err != nil {
		return Backend{}, errors.Join(err, b.Close())
	}
	return chosen, nil
}

// scratch is where a file shows whether an agent-server at this address shares
// the files of this machine; empty for one elsewhere.
func scratch(env *setup.Env, address string) string {
	dirs, err := env.Paths()
	if err != nil || !setup.OnThisMachine(address) || paths.MakePrivate(dirs.State) != nil {
		return ""
	}
	return dirs.State
}

// usable reports why the daemon does not start with a backend like that.
func usable(ctx context.Context, st agentapi.Status, named bool) error {
	cause := errors.New(agentapi.PublicMessage(st.Err, "It does not answer."))
	switch {
	case st.Err == nil, named && errors.Is(st.Err, agentapi.ErrUnavailable):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(st.Err, agentapi.ErrUnauthorized):
		return &fault.Error{
			Msg: "the agent-server at " + st.Address + " rejected the key", Code: fault.Credential, Err: cause,
			Hint: "export OHGW_AGENT_SERVER_KEY=KEY, with one of its session keys (OH_SESSION_API_KEYS_0 on the agent-server)",
		}
	case !named:
		return &fault.Error{
			Msg: "no agent-server was named, and none answers at " + st.Address, Code: fault.Unreachable, Err: cause,
			Hint: "start one there, or set its address with --agent-server URL or OHGW_AGENT_SERVER_URL",
		}
	}
	return &fault.Error{Msg: "the agent-server at " + st.Address + " cannot be used", Hint: "repair what the cause says, or use the embedded agent: export OHGW_BACKEND=embedded", Err: cause}
}

// serverKey finds the agent-server's key. A file is read again for each request,
// so that a changed key holds at once.
func serverKey(env *setup.Env, s *config.Settings, log *slog.Logger) (func() string, error) {
	return keyFrom(env, []string{"OHGW_AGENT_SERVER_KEY", "OH_SESSION_API_KEYS_0", "SESSION_API_KEY"}, s, "agent_server.key_file", s.AgentServer.KeyFile, log)
}

// serverLLM configures the model for an agent-server that has no profiles.
func serverLLM(env *setup.Env, s *config.Settings, adopted *adoption, log *slog.Logger) (*agentserver.LLM, error) {
	llm := s.AgentServer.LLM
	if llm.Model == "" {
		return nil, nil
	}
	key, err := keyFrom(env, []string{"OHGW_AGENT_SERVER_LLM_KEY"}, s, "agent_server.llm.key_file", llm.KeyFile, log)
	if err != nil {
		return nil, err
	}
	return &agentserver.LLM{Profile: llm.Profile, Model: llm.Model, BaseURL: llm.BaseURL, Key: func() string {
		if !adopted.may() {
			return ""
		}
		return key()
	}}, nil
}

// keyFrom returns the key in the first of the variables that is set, else that
// in a file, else none.
func keyFrom(env *setup.Env, variables []string, s *config.Settings, setting, file string, log *slog.Logger) (func() string, error) {
	for _, v := range variables {
		if text := env.Getenv(v); text != "" {
			key, err := env.KeyVariable(v, text)
			return key.Reveal, err
		}
	}
	if file == "" {
		return func() string { return "" }, nil
	}
	if _, err := keyfile.Read(file); err != nil {
		return nil, &fault.Error{
			Msg:  fmt.Sprintf("the key file of %s cannot be used (%s)", setting, s.Origin(setting)),
			Hint: "the file must contain one key and be private: chmod 600 " + file,
			Code: fault.Credential, Err: err,
		}
	}
	return func() string {
		key, err := keyfile.Read(file)
		if err != nil {
			log.Error("key file cannot be read", "err", err)
		}
		return key
	}, nil
}
