package schema

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The members that hold MCP servers.
const (
	serversMember = "mcp_config"
	oldServers    = "mcpServers" // around them before OpenHands 1.31
)

// serversSince is the first release that takes servers without a wrapper, and
// enabledSince the first one in which a server can be off.
var (
	serversSince = Release{1, 31, 0}
	enabledSince = Release{1, 39, 0}
)

// fitServers removes the switch of servers from releases that refuse it, and brings them
// to the form of the oldest ones: with a wrapper around them, and another way to say how
// a server knows its client.
func fitServers(e *editor) {
	config := e.get(serversMember)
	if config.Get(oldServers).Exists() {
		return
	}
	old := e.to.before(serversSince)
	for name, server := range config.Members() {
		s := serverEditor{e, []string{serversMember, name}}
		e.fit(under(s.at, field{[]string{"enabled"}, enabledSince, "true"}))
		if old && server.Kind() == jsonedit.Object {
			if transport, _ := server.Get("transport").Text(); transport == "shttp" {
				s.put([]byte(`"http"`), "transport") // which newer releases take for it
			}
			s.oldAuth()
			s.nameEncrypted("env")
			s.nameEncrypted("headers")
		}
	}
	if old && config.Kind() == jsonedit.Object && !isEmptyObject(config) {
		e.set(slices.Concat([]byte(`{"`+oldServers+`": `), e.get(serversMember).Raw(), []byte("}")), serversMember)
	}
}

// nameEncrypted names values that the release takes as they are. They stay: the way up
// needs them.
func (s serverEditor) nameEncrypted(member string) {
	for name, value := range s.member(member).Members() {
		if text, _ := value.Text(); fernet.IsToken(text) {
			s.lose("OpenHands "+s.to.String()+" does not decrypt it", s.path(member, name)...)
		}
	}
}

// oldAuth says how a server knows its client as OpenHands before 1.31 did, as far as that
// release could: with a token, OAuth or headers, and none of them encrypted.
func (s serverEditor) oldAuth() {
	auth := s.member("auth")
	if auth.Kind() != jsonedit.Object {
		return
	}
	strategy, _ := auth.Get("strategy").Text()
	s.drop("auth")
	switch strategy {
	case "none":
	case "oauth2":
		s.oldOAuth(auth)
	case "bearer", "api_key":
		s.oldToken(strategy, auth)
	case "header":
		s.oldHeaders(auth)
	default:
		s.lacks("auth")
	}
}

// lacks names a member that the release does not have.
func (s serverEditor) lacks(path ...string) {
	s.lose("OpenHands "+s.to.String()+" does not have it", s.path(path...)...)
}

// becomes names a way to sign in that is another one after the way up.
func (s serverEditor) becomes(what string) {
	s.lose("it is a "+what+" in OpenHands "+s.to.String(), s.path("auth", "strategy")...)
}

func (s serverEditor) oldOAuth(auth jsonedit.Value) {
	s.put([]byte(`"oauth"`), "auth")
	if authentication := auth.Get("authentication"); authentication.Kind() == jsonedit.Object {
		s.put(authentication.Raw(), "authentication")
		s.nameEncrypted("authentication")
	}
	if state := auth.Get("state"); state.Exists() && state.Kind() != jsonedit.Null {
		s.lacks("auth", "state")
	}
}

func (s serverEditor) oldToken(strategy string, auth jsonedit.Value) {
	value, _ := auth.Get("value").Text()
	header, _ := auth.Get("header_name").Text()
	inHeader := strategy == "api_key" && header != ""
	switch {
	case value == "", fernet.IsToken(value), value == "oauth" && !inHeader:
		s.lacks("auth")
	case inHeader:
		s.addHeaders(part{header, auth.Get("value").Raw()})
		s.becomes("header")
	default:
		s.put(auth.Get("value").Raw(), "auth")
		if strategy == "api_key" {
			s.becomes("bearer token")
		}
	}
}

func (s serverEditor) oldHeaders(auth jsonedit.Value) {
	headers := plainHeaders(auth.Get("headers"))
	if len(headers) == 0 {
		s.lacks("auth")
		return
	}
	s.addHeaders(headers...)
	if len(headers) > 1 || !strings.EqualFold(headers[0].name, "authorization") {
		s.becomes("header")
	}
}

// plainHeaders are the headers, or none if one of them is encrypted.
func plainHeaders(v jsonedit.Value) []part {
	var headers []part
	for name, value := range v.Members() {
		text, isText := value.Text()
		if !isText || fernet.IsToken(text) {
			return nil
		}
		headers = append(headers, part{name, value.Raw()})
	}
	return headers
}

func (s serverEditor) addHeaders(headers ...part) {
	if s.member("headers").Kind() != jsonedit.Object {
		s.put([]byte("{}"), "headers")
	}
	for _, h := range headers {
		s.put(h.raw, "headers", h.name)
	}
}

// fitChoices changes values that the release refuses.
func fitChoices(e *editor) {
	switch e.text("acp_server") {
	case "kimi-code", "pi", "opencode":
		if e.to.before(Release{1, 45, 0}) {
			e.lose("OpenHands "+e.to.String()+" does not have this server", "acp_server")
			e.set([]byte(`"custom"`), "acp_server")
		}
	}
}

// idleSince is the first release with a limit for the pause between two pieces of an answer.
var idleSince = Release{1, 50, 1}

// fitIdle removes that limit from releases that do not have it. Where it equals
// the limit of the whole answer, nothing is lost: that limit stays, and means the
// same on the way up.
func fitIdle(e *editor) {
	const idle = "stream_idle_timeout"
	limit, whole := e.get(idle), e.get("timeout")
	if !limit.Exists() || !e.to.before(idleSince) {
		return
	}
	usual := "300"
	if whole.Exists() {
		usual = string(whole.Raw())
	}
	if !sameJSON(limit, usual) {
		e.lose("OpenHands "+e.to.String()+" does not have it", idle)
	}
	e.delete(idle)
}

// fitLLM fits what depends on other members of an LLM, or on its value.
func fitLLM(e *editor) {
	fitEffort(e)
	fitIdle(e)
}

// fitEffort removes an effort that the release refuses.
func fitEffort(e *editor) {
	if v := e.get("reasoning_effort"); v.Kind() == jsonedit.String && e.to.before(Release{1, 39, 0}) {
		switch e.text("reasoning_effort") {
		case "low", "medium", "high", "xhigh", "none":
		default:
			e.lose("OpenHands "+e.to.String()+" does not have this effort", "reasoning_effort")
			e.delete("reasoning_effort")
		}
	}
}
