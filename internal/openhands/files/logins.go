package files

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// The members of a tool server that keep a login to it.
const (
	serversMember = "mcp_config"
	authMember    = "auth"
	stateMember   = "state"
)

// Login is the login to the tool server of a URL, in clear text; nil for none. known is
// false where the settings have no such server to which a person logs in.
func (s *Store) Login(url string) (state []byte, known bool, err error) {
	st := s.load()
	name, known := loginServer(st, url)
	if !known {
		return nil, false, nil
	}
	tree := st.Agent.Tree(serversMember).Tree(name).Tree(authMember).Tree(stateMember)
	if len(tree) == 0 {
		return nil, true, nil
	}
	state, err = encode(tree, shape.Plain)
	return state, true, err
}

// loginServer finds a server by its URL.
func loginServer(st settings.Settings, url string) (name string, known bool) {
	all := st.Agent.Tree(serversMember)
	for _, name := range all.Names() {
		server := all.Tree(name)
		if strings.TrimRight(server.Text("url"), "/") == strings.TrimRight(url, "/") && server.Tree(authMember).Text("strategy") == "oauth2" {
			return name, true
		}
	}
	return "", false
}

// SaveLogin replaces the login to a tool server of the settings.
func (s *Store) SaveLogin(ctx context.Context, url string, state []byte) error {
	login, err := readLogin(s, state)
	if err != nil {
		return err
	}
	return s.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		name, known := loginServer(before, url)
		if !known {
			return nil, refuse(openhands.NotFound, "The settings have no MCP server with this URL and a login")
		}
		after, all := before, before.Agent.Tree(serversMember)
		server := all.Tree(name)
		auth := server.Tree(authMember).With(stateMember, login)
		after.Agent = before.Agent.With(serversMember, all.With(name, server.With(authMember, auth)))
		return s.write(doc, before, after)
	})
}

func readLogin(s *Store, state []byte) (shape.Tree, error) {
	tree, faults, err := s.readJSON(shape.Login(), state)
	if err != nil || len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "The login cannot be read.")
	}
	return tree, nil
}

// SealedLogin is a login for a client that stores it in the settings: encrypted where
// OpenHands has a key, as an agent-server gives it.
func (s *Store) SealedLogin(state []byte) (json.RawMessage, error) {
	tree, err := readLogin(s, state)
	if err != nil {
		return nil, err
	}
	show := shape.Plain
	if key, ok := s.Profiles.SealingKey(); ok {
		show = s.sealWith(key)
	}
	return encode(tree, show)
}

// PlainServer is a tool server of a request with its secrets decrypted; one that cannot
// be understood stays as it is.
func (s *Store) PlainServer(server []byte) json.RawMessage {
	const name = "server"
	servers, err := json.Marshal(map[string]json.RawMessage{name: server})
	if err != nil {
		return server
	}
	tree, ok := readServers(s, servers)
	if !ok {
		return server
	}
	if plain, err := encode(tree.Tree(name), shape.Plain); err == nil {
		return plain
	}
	return server
}

// MaskedServers are tool servers by name as OpenHands shows them: with its defaults, with
// masks for their secrets, and without what it does not know. It is nil for what cannot
// be understood.
func (s *Store) MaskedServers(servers []byte) json.RawMessage {
	tree, ok := readServers(s, servers)
	if !ok {
		return nil
	}
	masked, err := encode(tree, shape.Masked)
	if err != nil {
		return nil
	}
	return masked
}

// readServers reads tool servers by name.
func readServers(s *Store, servers []byte) (shape.Tree, bool) {
	data, err := json.Marshal(map[string]json.RawMessage{serversMember: servers})
	if err != nil {
		return nil, false
	}
	tree, faults, err := s.readJSON(shape.AgentSettings(), data)
	if err != nil || len(faults) > 0 {
		return nil, false
	}
	return tree.Tree(serversMember), true
}
