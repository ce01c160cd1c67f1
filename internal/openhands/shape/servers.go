package shape

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// ServerObject is a tool server (MCP) in the settings: what it does not know is left
// out.
func ServerObject() *Object {
	return &Object{compact: true, fields: serverFields(), check: checkServer}
}

// NewServerObject is a tool server that a client makes: it has nothing unknown.
func NewServerObject() *Object {
	return &Object{compact: true, fields: serverFields(), check: checkServer, rest: refuse}
}

// ServerPatch is a change of a tool server: members and secrets that are null go away.
func ServerPatch() *Object {
	fields := serverFields()
	for i := range fields {
		fields[i].nullable = true
		if fields[i].item != nil && fields[i].item.Kind == SecretKind {
			item := *fields[i].item
			item.nullable = true
			fields[i].item = &item
		}
	}
	return &Object{compact: true, fields: fields, rest: refuse}
}

func authObject() *Object {
	return &Object{by: "strategy", variants: []variant{
		{"none", &Object{compact: true, fields: []Field{strategy("none")}}},
		{"api_key", &Object{compact: true, fields: []Field{strategy("api_key"), Maybe("value", SecretKind), Maybe("header_name", TextKind)}}},
		{"bearer", &Object{compact: true, fields: []Field{strategy("bearer"), Maybe("value", SecretKind)}}},
		{"basic", &Object{compact: true, fields: []Field{strategy("basic"), Text("username", "").Required(), Maybe("password", SecretKind)}}},
		{"header", &Object{compact: true, fields: []Field{strategy("header"), secrets("headers", "{}")}}},
		{"oauth2", &Object{compact: true, fields: []Field{
			strategy("oauth2"), nullObject("authentication", oauthObject()), nullObject("state", oauthState()),
		}}},
	}}
}

func oauthObject() *Object {
	return &Object{compact: true, rest: refuse, fields: []Field{
		Choice("type", "", "oauth").Required(),
		Choice("client_auth_method", "null", "none", "client_secret_post", "client_secret_basic", "private_key_jwt"),
		{Name: "scopes", Kind: anyKind, nullable: true, fallback: "null"},
		Maybe("client_name", TextKind),
		Maybe("client_metadata_url", TextKind),
		Maybe("client_id", TextKind),
		Maybe("client_secret", SecretKind),
		Maybe("additional_client_metadata", FreeKind),
	}}
}

// Login is what is kept of a login to a tool server.
func Login() *Object { return oauthState() }

func oauthState() *Object {
	return &Object{compact: true, fields: []Field{
		nullObject("tokens", &Object{compact: true, rest: keep, fields: []Field{Maybe("access_token", SecretKind), Maybe("refresh_token", SecretKind)}}),
		nullObject("client_info", &Object{compact: true, rest: keep, fields: []Field{Maybe("client_secret", SecretKind)}}),
		Maybe("token_expires_at", FloatKind),
	}}
}

func strategy(word string) Field { return Choice("strategy", "", word).Required() }

func secrets(name, fallback string) Field {
	return Field{Name: name, Kind: mapKind, item: &Field{Kind: SecretKind}, nullable: fallback == "null", fallback: fallback}
}

// servers are tool servers by their names.
func servers(name string) Field {
	return Field{Name: name, Kind: serversKind, item: &Field{Kind: objectKind, object: ServerObject()}, fallback: "{}"}
}

func serverFields() []Field {
	return []Field{
		Maybe("url", TextKind).Between(1, 0),
		Choice("transport", "null", "stdio", "http", "sse", "streamable-http"),
		Maybe("command", TextKind).Between(1, 0),
		list("args", Text("", ""), "null").OrNull(),
		secrets("env", "null"),
		Maybe("cwd", TextKind),
		Maybe("description", TextKind),
		Maybe("icon", TextKind),
		Maybe("timeout", FloatKind),
		Maybe("sse_read_timeout", FloatKind),
		Maybe("keep_alive", BoolKind),
		secrets("headers", "null"),
		nullObject("auth", authObject()),
		Truth("enabled", "true"),
	}
}

func checkServer(t Tree) string {
	switch t.Text("transport") {
	case "stdio":
		if t.Text("command") == "" {
			return "stdio MCP servers require 'command'"
		}
	case "http", "streamable-http", "sse":
		if t.Text("url") == "" {
			return "remote MCP servers require 'url'"
		}
	}
	if t.Tree("auth") == nil {
		return ""
	}
	for name := range t.Tree("headers") {
		if strings.EqualFold(name, "authorization") {
			return "'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead."
		}
	}
	return ""
}

// present converts a server to its present form. Older releases wrote "type" for the
// transport, "shttp" for http, and a text for the way to sign in.
func present(server jsonedit.Value) jsonedit.Value {
	var members map[string]json.RawMessage
	if json.Unmarshal(server.Raw(), &members) != nil {
		return server
	}
	kind, old := members["type"]
	if _, there := members["transport"]; old && !there {
		members["transport"] = kind
	}
	if string(members["transport"]) == `"shttp"` {
		members["transport"] = json.RawMessage(`"http"`)
	}
	var word string
	if auth, there := members["auth"]; there && string(auth) != "null" && json.Unmarshal(auth, &word) == nil {
		members["auth"] = json.RawMessage(`{"strategy":"oauth2"}`)
		if word != "oauth" {
			members["auth"] = json.RawMessage(`{"strategy":"bearer","value":` + string(jsonedit.Quote(word)) + `}`)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		return server
	}
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return server
	}
	return doc.Root()
}
