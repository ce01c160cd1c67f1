package schema

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// knownServer are the members of a server. Servers of OpenHands before 1.31 could have
// others, which it drops when it takes the wrapper away.
var knownServer = []string{
	"url", "transport", "command", "args", "env", "cwd", "description", "icon", "timeout",
	"sse_read_timeout", "keep_alive", "headers", "auth", "enabled",
}

// The server of Linear, whose old address ends in OpenHands' own migration.
const (
	linearEvents = "https://mcp.linear.app/sse"
	linearHTTP   = "https://mcp.linear.app/mcp"
)

// serverMap takes the wrapper away from the servers, and says in one member how a server
// knows its client. Before, four members and a header said it.
func serverMap(e *editor) {
	at := []string{serversMember}
	inner := e.get(serversMember, oldServers)
	switch inner.Kind() {
	case jsonedit.Missing:
	case jsonedit.Null:
		e.set([]byte("{}"), serversMember)
		return
	case jsonedit.Object:
		at = append(at, oldServers)
	default:
		e.fail("is not an object", serversMember, oldServers)
		return
	}
	wrapped := inner.Exists()
	for name, server := range e.get(at...).Members() {
		if server.Kind() == jsonedit.Object {
			s := serverEditor{e, append(slices.Clone(at), name)}
			s.modern(wrapped)
		}
	}
	if wrapped {
		moveLinear(e, at)
		e.set(e.get(at...).Raw(), serversMember)
	}
}

// serverEditor changes one server.
type serverEditor struct {
	*editor

	at []string
}

func (s serverEditor) path(path ...string) []string { return slices.Concat(s.at, path) }

func (s serverEditor) member(path ...string) jsonedit.Value { return s.get(s.path(path...)...) }

func (s serverEditor) put(raw []byte, path ...string) { s.set(raw, s.path(path...)...) }

func (s serverEditor) drop(path ...string) { s.delete(s.path(path...)...) }

// modern brings a server to the form of OpenHands 1.37. Members that it does not know go
// away if the server had a wrapper.
func (s serverEditor) modern(wrapped bool) {
	authentication, credentials, key := s.member("authentication"), s.member("oauth_credentials"), s.member("api_key")
	for _, name := range []string{"authentication", "oauth_credentials", "api_key"} {
		s.drop(name)
	}
	auth := s.member("auth")
	word, _ := auth.Text()
	keyText, _ := key.Text()
	switch {
	case auth.Kind() == jsonedit.Object:
		if strategy, _ := auth.Get("strategy").Text(); strategy == "oauth2" {
			s.modernOAuth(authentication, credentials)
		}
	case word == "oauth":
		s.put([]byte(`{"strategy": "oauth2"}`), "auth")
		s.modernOAuth(authentication, credentials)
	case word != "":
		s.put(withValue("bearer", auth.Raw()), "auth")
	case keyText != "":
		s.put(withValue("api_key", key.Raw()), "auth")
	default:
		s.modernHeader()
	}
	if kind := s.member("type"); kind.Exists() {
		raw := kind.Raw()
		s.drop("type")
		if text, _ := kind.Text(); text == "shttp" {
			raw = []byte(`"http"`)
		}
		if kind.Kind() != jsonedit.Null && !s.member("transport").Exists() {
			s.put(raw, "transport")
		}
	}
	if !wrapped {
		return
	}
	for name := range s.member().Members() {
		if !slices.Contains(knownServer, name) {
			s.lose("servers do not have it any more", s.path(name)...)
			s.drop(name)
		}
	}
}

func withValue(strategy string, raw []byte) []byte {
	return slices.Concat([]byte(`{"strategy": "`+strategy+`", "value": `), raw, []byte("}"))
}

// modernHeader makes the header Authorization the way to sign in.
func (s serverEditor) modernHeader() {
	for name, value := range s.member("headers").Members() {
		text, _ := value.Text()
		if !strings.EqualFold(name, "authorization") || text == "" {
			continue
		}
		s.drop("headers", name)
		if isEmptyObject(s.member("headers")) {
			s.drop("headers")
		}
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		scheme, rest := text, ""
		if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
			scheme, rest = text[:i], strings.TrimLeftFunc(text[i:], unicode.IsSpace)
		}
		if strings.EqualFold(scheme, "bearer") && rest != "" {
			s.put(withValue("bearer", jsonedit.Quote(rest)), "auth")
		} else {
			s.put(slices.Concat([]byte(`{"strategy": "header", "headers": {`), jsonedit.Quote(name), []byte(": "), value.Raw(), []byte("}}")), "auth")
		}
		return
	}
}

// modernOAuth puts what belongs to OAuth into the member auth.
func (s serverEditor) modernOAuth(authentication, credentials jsonedit.Value) {
	if set := authentication.Exists() && authentication.Kind() != jsonedit.Null; set && !s.member("auth", "authentication").Exists() {
		s.put(authentication.Raw(), "auth", "authentication")
	}
	if own := s.member("auth", "authentication"); own.Kind() == jsonedit.Object && !own.Get("type").Exists() {
		s.put([]byte(`"oauth"`), "auth", "authentication", "type")
	}
	if own := s.member("auth", "credentials"); own.Exists() {
		if own.Kind() == jsonedit.Object && !isEmptyObject(own) {
			credentials = own
		}
		s.drop("auth", "credentials")
	}
	for _, part := range oauthState(credentials) {
		if s.member("auth", "state").Kind() != jsonedit.Object {
			s.put([]byte("{}"), "auth", "state")
		}
		if !s.member("auth", "state", part.name).Exists() {
			s.put(part.raw, "auth", "state", part.name)
		}
	}
}

type part struct {
	name string
	raw  []byte
}

// oauthState reads what the old store of tokens has of a server.
func oauthState(credentials jsonedit.Value) []part {
	var state []part
	if tokens := stored(credentials, "mcp-oauth-token", "/tokens"); tokens.Get("access_token").Kind() == jsonedit.String {
		state = append(state, part{"tokens", withoutNulls(tokens)})
	}
	if client := stored(credentials, "mcp-oauth-client-info", "/client_info"); client.Exists() {
		if raw := withoutNulls(client); string(raw) != "{}" {
			state = append(state, part{"client_info", raw})
		}
	}
	if expiry := stored(credentials, "mcp-oauth-token-expiry", "/token_expiry").Get("expires_at"); expiry.Kind() == jsonedit.Number {
		state = append(state, part{"token_expires_at", expiry.Raw()})
	}
	return state
}

// stored finds the entry of a collection whose key ends so, or its first one.
func stored(credentials jsonedit.Value, collection, suffix string) jsonedit.Value {
	var first jsonedit.Value
	for key, entry := range credentials.Get(collection).Members() {
		if entry.Kind() != jsonedit.Object {
			continue
		}
		if inner := entry.Get("value"); inner.Kind() == jsonedit.Object {
			entry = inner
		}
		if strings.HasSuffix(key, suffix) {
			return entry
		}
		if !first.Exists() {
			first = entry
		}
	}
	return first
}

func withoutNulls(v jsonedit.Value) []byte {
	var members [][]byte
	for name, value := range v.Members() {
		if value.Kind() != jsonedit.Null {
			members = append(members, slices.Concat(jsonedit.Quote(name), []byte(": "), value.Raw()))
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(", ")), []byte("}"))
}

// moveLinear gives the server of Linear its present address. A second one goes away.
func moveLinear(e *editor, at []string) {
	has := false
	for _, server := range e.get(at...).Members() {
		url, _ := server.Get("url").Text()
		has = has || strings.TrimRight(url, "/") == linearHTTP
	}
	for name, server := range e.get(at...).Members() {
		url, _ := server.Get("url").Text()
		url, _, _ = strings.Cut(url, "?")
		transport, _ := server.Get("transport").Text()
		if transport != "sse" || strings.TrimRight(url, "/") != linearEvents {
			continue
		}
		s := serverEditor{e, append(slices.Clone(at), name)}
		if has {
			e.lose("Linear has ended this address, and another server has its new one", s.at...)
			s.drop()
			continue
		}
		has = true
		s.put(jsonedit.Quote(linearHTTP), "url")
		s.drop("transport")
		if number := strings.TrimPrefix(name, "sse_"); name == "sse" || number != name && isDigits(number) {
			raw := s.member().Raw()
			s.drop()
			e.set(raw, append(slices.Clone(at), freeName(e.get(at...), "shttp"))...)
		}
	}
}

func isDigits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// freeName is a name that no server has.
func freeName(servers jsonedit.Value, name string) string {
	free := name
	for i := 1; servers.Get(free).Exists(); i++ {
		free = name + "_" + strconv.Itoa(i)
	}
	return free
}
