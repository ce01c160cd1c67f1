package catalogue

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// trialTime is how long a trial may take, and maxTrialTime what may be asked for.
const (
	trialTime    = 15 * time.Second
	maxTrialTime = 120 * time.Second
)

// trialName is the name of a server that has none.
const trialName = "test-server"

// ReadTrial reads what is to be tried. It is refused where an agent-server refuses it,
// and in its words, since a client shows them beside the field.
func ReadTrial(r *http.Request) (Trial, error) {
	var raw json.RawMessage
	if err := wire.ReadBody(r, &raw, false); err != nil {
		return Trial{}, err
	}
	var sent struct {
		Server map[string]json.RawMessage `json:"server"`
		Call   *Call                      `json:"tool_call"`
	}
	// A value that is not an object is reported below.
	_ = json.Unmarshal(raw, &sent)
	body, err := pydantic.NewObject(typed(raw, sent.Server), "body")
	if err != nil {
		return Trial{}, err
	}
	if sent.Server["authentication"] != nil {
		body.Value("", "OAuth authentication metadata belongs under auth.authentication.")
		return Trial{}, body.Err()
	}
	out := Trial{Call: sent.Call}
	if out.Name = strings.TrimSpace(body.Within("name", trialName, 1, 128)); out.Name == "" {
		out.Name = trialName
	}
	if body.Need("server") {
		body.NotNull("server", pydantic.NoObject())
		out.Strategy = checkServer(body.Tagged("server", "type", "stdio", "http", "shttp", "streamable-http", "sse"))
	}
	out.Timeout = readTimeout(body)
	if call := body.Object("tool_call"); call != nil {
		call.Need("name")
		call.Within("name", "", 1, -1)
		call.NotNull("arguments", pydantic.NoDict())
		call.Map("arguments")
	}
	if err := body.Err(); err != nil {
		return Trial{}, err
	}
	out.Server, err = plainjson.Marshal(sent.Server)
	return out, err
}

// typed rewrites a request so that its server says its type, which newer clients call
// transport and leave out.
func typed(raw json.RawMessage, server map[string]json.RawMessage) json.RawMessage {
	if server == nil || server["type"] != nil || server["authentication"] != nil {
		return raw
	}
	kind := json.RawMessage(`"http"`)
	if server["command"] != nil {
		kind = json.RawMessage(`"stdio"`)
	}
	named := map[string]json.RawMessage{}
	for name, value := range server {
		named[name] = value
	}
	if said := server["transport"]; said != nil && string(said) != "null" {
		kind = said
	}
	delete(named, "transport")
	named["type"] = kind
	var body map[string]any
	if json.Unmarshal(raw, &body) != nil {
		return raw
	}
	body["server"] = named
	out, err := plainjson.Marshal(body)
	if err != nil {
		return raw
	}
	return out
}

func readTimeout(body *pydantic.Object) time.Duration {
	seconds := body.Float("timeout", trialTime.Seconds(), pydantic.Above(0, maxTrialTime.Seconds()))
	return time.Duration(seconds * float64(time.Second))
}

// checkServer notes what is wrong with a server, and finds how one signs in to it.
func checkServer(kind string, s *pydantic.Object) (strategy string) {
	if s == nil {
		return ""
	}
	if kind == "stdio" {
		s.Need("command")
		s.Within("command", "", 1, -1)
		s.NotNull("args", pydantic.NoList())
		for _, arg := range s.List("args") {
			arg.Text()
		}
		s.TextMap("env")
		s.Text("cwd", 0, -1)
		return ""
	}
	s.Need("url")
	s.Within("url", "", 1, -1)
	s.TextMap("headers")
	if s.Has("auth") {
		strategy = checkAuth(s.Tagged("auth", "strategy", "none", "api_key", "bearer", "basic", "header", "oauth2"))
	}
	for _, name := range []string{"timeout", "sse_read_timeout"} {
		if s.Has(name) {
			s.Float(name, 0, pydantic.Bounds{})
		}
	}
	if s.Has("keep_alive") {
		s.Bool("keep_alive", false)
	}
	if strategy != "" && s.Err() == nil && signsInByHeader(s) {
		s.Value("", "'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead.")
	}
	return strategy
}

func checkAuth(strategy string, a *pydantic.Object) string {
	if a == nil {
		return ""
	}
	switch strategy {
	case "api_key":
		a.Text("value", 0, -1)
		a.Text("header_name", 0, -1)
	case "bearer":
		a.Text("value", 0, -1)
	case "basic":
		a.Need("username")
		a.String("username", "")
		a.Text("password", 0, -1)
	case "header":
		a.TextMap("headers")
	case "oauth2":
		checkClient(a.Object("authentication"))
		checkLogin(a.Object("state"))
	}
	return strategy
}

// checkClient validates how a server knows the program that asks a person to log in.
func checkClient(c *pydantic.Object) {
	if c == nil {
		return
	}
	c.Need("type")
	c.Choice("type", "", pydantic.Literal, "oauth")
	if c.Has("client_auth_method") {
		c.Choice("client_auth_method", "", pydantic.Literal, "none", "client_secret_post", "client_secret_basic", "private_key_jwt")
	}
	for _, name := range []string{"client_name", "client_metadata_url", "client_id", "client_secret"} {
		c.Text(name, 0, -1)
	}
	c.Map("additional_client_metadata")
	c.Only("type", "client_auth_method", "scopes", "client_name", "client_metadata_url", "client_id", "client_secret", "additional_client_metadata")
}

// checkLogin validates what a client has kept of a login.
func checkLogin(l *pydantic.Object) {
	if l == nil {
		return
	}
	if tokens := l.Object("tokens"); tokens != nil {
		tokens.Text("access_token", 0, -1)
		tokens.Text("refresh_token", 0, -1)
	}
	if client := l.Object("client_info"); client != nil {
		client.Text("client_secret", 0, -1)
	}
	if l.Has("token_expires_at") {
		l.Float("token_expires_at", 0, pydantic.Bounds{})
	}
}

// signsInByHeader reports whether the headers of a server say who asks.
func signsInByHeader(s *pydantic.Object) bool {
	var headers map[string]json.RawMessage
	if json.Unmarshal(s.Raw("headers"), &headers) != nil {
		return false // which is named already
	}
	for name := range headers {
		if strings.EqualFold(name, "authorization") {
			return true
		}
	}
	return false
}
