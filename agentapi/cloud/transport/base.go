package transport

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseRoot reads the URL of a server, with or without /api at its end, and gives
// its root without a trailing slash.
func ParseRoot(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: not the URL of a server; write it as https://HOST", ErrRefused)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the URL of a server has no user, query or fragment", ErrRefused)
	}
	path := strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/api/v1", "/api"} {
		if before, ok := strings.CutSuffix(path, end); ok {
			path = before
			break
		}
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.TrimRight(path, "/")}, nil
}

// RuntimeBase returns the base of the runtime that a conversation's URL points to:
// what is before /api/. It is root for a relative URL, and nil for "" and for a text
// that is not a URL.
func RuntimeBase(root *url.URL, text string) *url.URL {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return nil
	}
	before, _, found := strings.Cut(u.Path, "/api/")
	if !found {
		before = u.Path
	}
	before = strings.TrimRight(before, "/")
	switch {
	case u.Scheme == "" && u.Host == "" && before == "":
		base := *root
		return &base
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: before}
}

// SameServer reports whether both are served by one host, so that a key for one
// is a key for the other.
func SameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(hostPort(a), hostPort(b))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname() + ":" + port
}
