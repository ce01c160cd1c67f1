// Package servers keeps the list of OpenHands servers that a user has stored:
// the Cloud, app-servers, and agent-servers. It finds the one that a command
// means, and its key.
//
// The list is a file in the config directory, without keys. Keys are in the key
// store, by the URL and the name of their server: who changes the URL of a server
// in the file does not get its key sent there. A key from the environment goes to
// one server only: that of a URL variable, or the default one. The package sends
// no request; what a server is, its callers find out.
package servers

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Kind is what a server is.
type Kind string

// The kinds.
const (
	Cloud       Kind = "cloud"        // OpenHands Cloud, or an app-server
	AgentServer Kind = "agent-server" // one agent-server
)

// Kinds are all kinds.
func Kinds() []string { return []string{string(Cloud), string(AgentServer)} }

// Server is one stored server. V0 and V1 hold if Header is not empty.
type Server struct {
	Name string `json:"name"`
	URL  string `json:"url"` // the root, as Root returns it
	Kind Kind   `json:"kind"`
	V0   bool   `json:"v0"` // it answers the API of V0
	V1   bool   `json:"v1"`
	// Header is how it takes its key, in the words of the client that found it out;
	// "" if none did.
	Header string `json:"header,omitempty"`
}

// HostedURL is OpenHands' own Cloud.
const HostedURL = "https://app.all-hands.dev"

// HostedName is the name of the hosted Cloud if none is chosen.
const HostedName = "cloud"

// nameRule is what a name may be. "@" is not in it: a model ID has it before the
// name of its server.
var nameRule = pattern.Of(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// CheckName refuses what cannot be a name.
func CheckName(name string) error {
	if nameRule().MatchString(name) {
		return nil
	}
	return fault.NewUsage(fmt.Sprintf("%q is not a valid server name", name), "use letters, digits, dots, dashes and underscores, at most 64")
}

// Root converts the URL of a server to its root: without /api, and in one form, so
// that two spellings of one root are equal.
func Root(text string) (string, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fault.NewUsage("the URL of a server begins with https:// or http://", "use a URL such as "+HostedURL)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.NewUsage("the URL of a server has no user name, no query and no fragment", "use a URL such as "+HostedURL)
	}
	host := strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"https": ":443", "http": ":80"} {
		if u.Scheme == scheme {
			host = strings.TrimSuffix(host, port)
		}
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	for _, end := range []string{"/api/v1", "/api"} {
		path = strings.TrimRight(strings.TrimSuffix(path, end), "/")
	}
	return u.Scheme + "://" + host + path, nil
}

// Host is the host of a server, for people.
func (s Server) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	return u.Host
}

// Exposed reports whether a key would cross a network in cleartext.
func (s Server) Exposed() bool {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme == "https" {
		return false
	}
	name := u.Hostname()
	return name != "localhost" && name != "::1" && !strings.HasPrefix(name, "127.")
}
