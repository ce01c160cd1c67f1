package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/internal/fault"
)

// server is one entry of mcp_config, with all references replaced. Its values
// are secret.
type server struct {
	URL       string            `json:"url"`
	Transport string            `json:"transport"`
	Type      string            `json:"type"` // another name of transport
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	Headers   map[string]string `json:"headers"`
	Auth      *auth             `json:"auth"`
	Timeout   float64           `json:"timeout"` // of a call, in seconds
	Enabled   *bool             `json:"enabled"`

	stored bool // its login is in Config.Logins
}

// auth is how to show the server who we are.
type auth struct {
	Strategy   string            `json:"strategy"`
	Value      string            `json:"value"`
	HeaderName string            `json:"header_name"`
	Username   string            `json:"username"`
	Password   string            `json:"password"`
	Headers    map[string]string `json:"headers"`

	Authentication *oauth.Settings `json:"authentication"`
	State          *oauth.State    `json:"state"`
}

// strategyOAuth is the login of a person.
const strategyOAuth = "oauth2"

// UnmarshalJSON also reads the word of older settings, which OpenHands reads as this
// strategy, too. Any other word is a token.
func (a *auth) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		*a = auth{Strategy: "bearer", Value: word}
		if word == "oauth" {
			*a = auth{Strategy: strategyOAuth}
		}
		return nil
	}
	type plain auth
	return json.Unmarshal(data, (*plain)(a))
}

// login reports whether a person logs in to the server.
func (s *server) login() bool { return s.Auth != nil && s.Auth.Strategy == strategyOAuth }

func (server) String() string       { return "mcp.server(REDACTED)" }
func (server) GoString() string     { return "mcp.server(REDACTED)" }
func (server) LogValue() slog.Value { return slog.StringValue("REDACTED") }

// servers reads mcp_config: a map from a server's name to what it is, alone or
// in a member "mcpServers". Servers that are not enabled are left out, fields
// that are not known are ignored. enabled counts also those that cannot be used,
// which have a [fault.Error] each that names no value: in their order, and by name.
func servers(raw json.RawMessage, find func(string) (string, error)) (out map[string]server, enabled int, warnings []error, failed map[string]error) {
	out, failed = map[string]server{}, map[string]error{}
	if len(raw) == 0 || string(raw) == "null" {
		return out, 0, nil, failed
	}
	all, err := object.Parse(raw)
	if err != nil {
		return out, 0, []error{malformed("", errors.New("it is not a JSON object"))}, failed
	}
	if wrapped, err := object.Parse(all.Get("mcpServers")); err == nil {
		all = wrapped
	}
	for _, entry := range all {
		if off(entry.Value) {
			continue
		}
		enabled++
		s, err := readServer(entry.Value, find)
		if err != nil {
			bad := malformed(entry.Name, err)
			warnings, failed[entry.Name] = append(warnings, bad), bad
			continue
		}
		out[entry.Name] = s
	}
	return out, enabled, warnings, failed
}

// off reports whether a server is not enabled.
func off(raw json.RawMessage) bool {
	var s struct {
		Enabled *bool `json:"enabled"`
	}
	return json.Unmarshal(raw, &s) == nil && s.Enabled != nil && !*s.Enabled
}

func malformed(name string, err error) error {
	msg := "the MCP settings cannot be used"
	if name != "" {
		msg = fmt.Sprintf("the settings of the MCP server %q cannot be used", name)
	}
	return fault.New(msg, "correct mcp_config in the settings, or set enabled to false", err)
}

func readServer(raw json.RawMessage, find func(string) (string, error)) (server, error) {
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return server{}, errors.New("it is not a JSON object")
	}
	tree, err := secretenv.Expand(tree, false, find)
	if err != nil {
		return server{}, err
	}
	expanded, err := json.Marshal(tree)
	if err != nil {
		return server{}, errors.New("it is not a JSON object")
	}
	var s server
	if err := json.Unmarshal(expanded, &s); err != nil {
		if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return server{}, fmt.Errorf("%s cannot be %s", typeErr.Field, typeErr.Value)
		}
		return server{}, errors.New("it is not a JSON object")
	}
	return s, s.check()
}

// check says what is wrong, and gives transport its one name.
func (s *server) check() error {
	if s.Transport == "" {
		s.Transport = s.Type
	}
	switch s.Transport {
	case "":
		s.Transport = "http"
		if s.URL == "" {
			s.Transport = "stdio"
		}
	case "streamable-http", "shttp":
		s.Transport = "http"
	case "http", "sse", "stdio":
	default:
		return errors.New("transport must be stdio, http, streamable-http or sse")
	}
	switch {
	case s.Transport == "stdio" && s.Command == "":
		return errors.New("it needs a command, or a url")
	case s.Transport != "stdio" && s.URL == "":
		return errors.New("it needs a url")
	case s.Timeout < 0:
		return errors.New("timeout must not be negative")
	}
	_, err := s.headers()
	return err
}

// headers returns what each request to a remote server carries.
func (s *server) headers() (http.Header, error) {
	h := http.Header{}
	set := func(from map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			h.Set(name, from[name])
		}
	}
	set(s.Headers)
	if s.Auth != nil {
		if h.Get("Authorization") != "" && s.Auth.Strategy != "none" {
			return nil, errors.New("auth cannot be combined with an Authorization header")
		}
		if err := s.Auth.add(h, set); err != nil {
			return nil, err
		}
	}
	for name, values := range h {
		if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
			return nil, errors.New("a header contains a line break")
		}
	}
	return h, nil
}

// add puts the proof of who we are into the headers.
func (a *auth) add(h http.Header, set func(map[string]string)) error {
	switch a.Strategy {
	case "none", strategyOAuth: // a login gives each request its token
	case "api_key":
		if a.HeaderName != "" {
			h.Set(a.HeaderName, a.Value)
			break
		}
		h.Set("Authorization", "Bearer "+a.Value)
	case "bearer":
		h.Set("Authorization", "Bearer "+a.Value)
	case "basic":
		pair := base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password))
		h.Set("Authorization", "Basic "+pair)
	case "header":
		set(a.Headers)
	default:
		return errors.New("auth has an unknown strategy; use none, api_key, bearer, basic, header or oauth2")
	}
	return nil
}
