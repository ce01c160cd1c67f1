package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/profile"
)

// defaultServer is where an agent-server listens when nobody says otherwise.
const defaultServer = "http://127.0.0.1:8000"

// firstLook bounds how long the start waits for the backend's answer.
const firstLook = 2 * time.Second

// openBackend chooses what runs the agents: an agent-server that was named, or
// one that answers on this machine, or the embedded agent.
func (a *app) openBackend(ctx context.Context, s *config.Settings, log *slog.Logger) (chosenBackend, error) {
	switch {
	case s.Backend == "embedded":
		return a.openEngine(s, log, "chosen by "+s.Origin("backend").String())
	case s.Demo && s.Backend == "auto":
		return a.openEngine(s, log, "the demo runs in it ("+s.Origin("demo").String()+")")
	case s.Demo:
		return chosenBackend{}, usage("the demo runs in the embedded agent", "leave out --backend, or --demo")
	}
	chosen, err := a.openServer(ctx, s, log)
	if nobody := fault.CodeOf(err) == fault.Unreachable; nobody && s.Backend == "auto" && s.AgentServer.URL == "" {
		return a.openEngine(s, log, "no agent-server was named, and none answers at "+defaultServer)
	}
	return chosen, err
}

// openServer opens an agent-server and looks whether it can be used. One that
// was named may be down: it may come later.
func (a *app) openServer(ctx context.Context, s *config.Settings, log *slog.Logger) (chosenBackend, error) {
	address, named := s.AgentServer.URL, s.AgentServer.URL != ""
	why := "named by " + s.Origin("agent_server.url").String()
	if !named {
		address, why = defaultServer, "it answers at "+defaultServer+", and none was named"
	}
	key, err := a.serverKey(s, log)
	if err != nil {
		return chosenBackend{}, err
	}
	llm, err := a.serverLLM(s, log)
	if err != nil {
		return chosenBackend{}, err
	}
	secrets, err := a.llmSecrets(s, address, log)
	if err != nil {
		return chosenBackend{}, err
	}
	backend, err := agentserver.New(agentserver.Config{
		URL: address, Key: key, LLM: llm, Logger: log, Now: a.Now, FileStamp: a.fileStamp(address), Secrets: secrets,
	})
	if err != nil {
		return chosenBackend{}, fault.New("the address of the agent-server cannot be used", "change what is "+why, err)
	}
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	chosen := chosenBackend{
		Backend: backend, why: why, status: backend.Status(look),
		complete: (&plainLLM{base: a.llmConfig(log), load: serverLLMs(backend)}).complete,
	}
	if err := usable(ctx, chosen.status, named); err != nil {
		return chosenBackend{}, errors.Join(err, backend.Close())
	}
	return chosen, nil
}

// usable tells why the daemon does not start with a backend like that.
func usable(ctx context.Context, st agentapi.Status, named bool) error {
	cause := errors.New(agentapi.PublicMessage(st.Err, "It cannot be asked."))
	switch {
	case st.Err == nil, named && errors.Is(st.Err, agentapi.ErrUnavailable):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(st.Err, agentapi.ErrUnauthorized):
		return &fault.Error{
			Msg: "the agent-server at " + st.Address + " does not take our key", Code: fault.Credential, Err: cause,
			Hint: "put one of its session keys (OH_SESSION_API_KEYS_0 there) into OHGW_AGENT_SERVER_KEY",
		}
	case !named:
		return &fault.Error{
			Msg: "no agent-server was named, and none answers at " + st.Address, Code: fault.Unreachable, Err: cause,
			Hint: "start one there, or name yours with --agent-server URL or OHGW_AGENT_SERVER_URL",
		}
	}
	return &fault.Error{Msg: "the agent-server at " + st.Address + " cannot be used", Hint: "see the cause", Err: cause}
}

// fileStamp tells when OpenHands' files on this machine change, or the stored
// keys. A new key shows in no list that an agent-server gives, and it is what
// somebody changes before trying again. Files of a server elsewhere cannot be
// seen.
func (a *app) fileStamp(address string) func() string {
	dirs, err := a.Paths()
	if err != nil || dirs.Home == "" || !onThisMachine(address) {
		return nil
	}
	lookup := func(name string) (string, bool) {
		value := a.Getenv(name)
		return value, value != ""
	}
	var stores []*profile.Store
	for _, place := range profile.Locate(lookup, dirs.Home, dirs.Home).Stores {
		stores = append(stores, profile.Open(profile.Config{Base: place.Base}))
	}
	return func() string {
		var stamps strings.Builder
		for _, s := range stores {
			stamp, err := s.Stamp()
			fmt.Fprint(&stamps, stamp, err)
		}
		return stamps.String() + keyStamp(dirs.State)
	}
}

// keyStamp changes when a key is stored, replaced or removed: both stores of
// keys then have a file with another time in the state directory.
func keyStamp(state string) string {
	var stamp strings.Builder
	for _, name := range []string{keysFile, keyNamesFile} {
		if info, err := os.Stat(filepath.Join(state, name)); err == nil {
			fmt.Fprint(&stamp, " ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}

// serverKey finds the agent-server's key. A file is read anew for each request,
// so that a changed key holds at once.
func (a *app) serverKey(s *config.Settings, log *slog.Logger) (func() string, error) {
	return a.keyFrom([]string{"OHGW_AGENT_SERVER_KEY", "OH_SESSION_API_KEYS_0", "SESSION_API_KEY"}, s, "agent_server.key_file", s.AgentServer.KeyFile, log)
}

// serverLLM is the model for an agent-server that has no profiles.
func (a *app) serverLLM(s *config.Settings, log *slog.Logger) (*agentserver.LLM, error) {
	llm := s.AgentServer.LLM
	if llm.Model == "" {
		return nil, nil //nolint:nilnil // There is none, and that is fine.
	}
	key, err := a.keyFrom([]string{"OHGW_AGENT_SERVER_LLM_KEY"}, s, "agent_server.llm.key_file", llm.KeyFile, log)
	if err != nil {
		return nil, err
	}
	return &agentserver.LLM{Profile: llm.Profile, Model: llm.Model, BaseURL: llm.BaseURL, Key: key}, nil
}

// keyFrom gives the key in the first of the variables that is set, else that
// in a file, else none.
func (a *app) keyFrom(variables []string, s *config.Settings, setting, file string, log *slog.Logger) (func() string, error) {
	for _, v := range variables {
		if key := a.Getenv(v); key != "" {
			return func() string { return key }, nil
		}
	}
	if file == "" {
		return func() string { return "" }, nil
	}
	if _, err := keyfile.Read(file); err != nil {
		return nil, &fault.Error{
			Msg:  fmt.Sprintf("the key file of %s cannot be used (%s)", setting, s.Origin(setting)),
			Hint: "it must hold one key and be yours alone: chmod 600 " + file,
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
