package config

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// errSecret marks a value that must not be shown again, not even in an error.
var errSecret = errors.New("remove the user name and password: other users of this machine can see them")

func checkAddr(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil || strings.ContainsAny(host, "/@ ") {
		return "", errors.New("use HOST:PORT, such as 127.0.0.1:6449; port 0 picks a free port")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

func checkBackend(s string) (string, error) {
	switch s {
	case "auto", "agent-server", "embedded", "cloud":
		return s, nil
	}
	return "", errors.New("use auto, agent-server, embedded or cloud")
}

// checkURL takes the base URL of a server.
func checkURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err == nil && u.User != nil {
		return "", errSecret
	}
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		if strings.Contains(s, "@") {
			return "", errSecret
		}
		return "", errors.New("use a URL such as http://127.0.0.1:8000")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("use a URL without ? and #")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkServers takes the base URL of an agent-server, or one whose host names several.
func checkServers(s string) (string, error) {
	address, named := strings.CutPrefix(s, "dns+")
	base, err := checkURL(address)
	if err != nil || !named {
		return base, err
	}
	if base == "" {
		return "", errors.New("use a URL such as dns+http://agents.example.org:8000")
	}
	return "dns+" + base, nil
}

// noOrigins are schemes that have no origin of their own: their pages send "null", as
// any page can.
var noOrigins = []string{"file", "data", "blob", "about", "javascript", "ws", "wss", "ftp"}

// checkOrigin takes what a browser sends as Origin. A pattern is refused: a
// page that is not named has no business with an agent.
func checkOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || slices.Contains(noOrigins, u.Scheme) || u.Hostname() == "" || strings.Contains(u.Host, "*") ||
		u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return "", errors.New("use one origin, such as https://chat.example.org or app://obsidian.md; patterns are not supported")
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

// checkHost takes a name or address as in the Host header, without its port.
func checkHost(s string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(s, "."))
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		return ip.String(), nil
	}
	if host == "" || strings.ContainsAny(host, ":/@*? ") {
		return "", errors.New("use one host name without a port, such as gateway.example.org; patterns are not supported")
	}
	return host, nil
}

// checkHeader takes the name of a header.
func checkHeader(s string) (string, error) {
	if s == "" || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return "", errors.New("use one header name, such as X-Room-Id")
	}
	return s, nil
}

// checkPath takes the names of members, with dots between them.
func checkPath(s string) (string, error) {
	for name := range strings.SplitSeq(s, ".") {
		if name == "" || strings.ContainsAny(name, " \t\r\n,") {
			return "", errors.New("use one field path with dots, such as metadata.room")
		}
	}
	return s, nil
}
