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

// Logins are the logins to tool servers, which the settings keep.
type Logins struct {
	sealing  *Sealing
	settings *settingsFile
}

// The members of a tool server that keep a login to it.
const (
	serversMember = "mcp_config"
	authMember    = "auth"
	stateMember   = "state"
)

// Get returns the login to the tool server of a URL, in clear text; nil for none. known is
// false where the settings have no such server to which a person logs in.
func (s *Logins) Get(url string) (state []byte, known bool, err error) {
	st := s.settings.load()
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

// Save replaces the login to a tool server of the settings.
func (s *Logins) Save(ctx context.Context, url string, state []byte) error {
	login, err := readLogin(s.sealing, state)
	if err != nil {
		return err
	}
	return s.settings.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		name, known := loginServer(before, url)
		if !known {
			return nil, refuse(openhands.NotFound, "The settings have no MCP server with this URL and a login")
		}
		after, all := before, before.Agent.Tree(serversMember)
		server := all.Tree(name)
		auth := server.Tree(authMember).With(stateMember, login)
		after.Agent = before.Agent.With(serversMember, all.With(name, server.With(authMember, auth)))
		return s.settings.write(doc, before, after)
	})
}

func readLogin(s *Sealing, state []byte) (shape.Tree, error) {
	tree, faults, err := s.readJSON(shape.Login(), state)
	if err != nil || len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "The login cannot be read.")
	}
	return tree, nil
}

// Seal returns a login for a client that stores it in the settings: encrypted where
// OpenHands has a key, as an agent-server gives it.
func (s *Logins) Seal(state []byte) (json.RawMessage, error) {
	tree, err := readLogin(s.sealing, state)
	if err != nil {
		return nil, err
	}
	show := shape.Plain
	if key, ok := s.sealing.cfg.Profiles.SealingKey(); ok {
		show = s.sealing.sealWith(key)
	}
	return encode(tree, show)
}
