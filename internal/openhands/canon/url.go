package canon

import (
	"errors"
	"net/netip"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/pattern"
)

// The URL of OpenHands' proxy in the two forms that count, after splitURL.
const (
	appProxyHost = "llm-proxy.app.all-hands.dev"
	appProxyPath = "/v1"
)

// errSplit is what Python raises on a URL that it cannot split.
var errSplit = errors.New("not a URL")

// splitted is a URL as Python's urlsplit gives it, without query and fragment
// and without slashes at the end of the path. (net/url cannot be used: it
// refuses blanks and control characters and decodes the path.)
type splitted struct {
	scheme, authority, path string
}

// IsAppProxy reports whether OpenHands takes the URL for that of its own proxy.
// The error is there when it cannot make anything of it.
func IsAppProxy(url string) (bool, error) {
	u, err := splitURL(url)
	return u.isAppProxy(), err
}

func (u splitted) isAppProxy() bool {
	return u.scheme == "https" && u.authority == appProxyHost && (u.path == "" || u.path == appProxyPath)
}

// isProxyHost reports whether the URL means the host of the proxy, however it is
// spelled. OpenHands compares bytes; people do not.
func (u splitted) isProxyHost() bool {
	host := u.authority
	if host == "" { // No slashes: the host is in the path, or before a port.
		host, _, _ = strings.Cut(strings.TrimLeft(u.path, "/"), "/")
		if strings.Contains(u.scheme, ".") {
			host = u.scheme
		}
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(strings.ToLower(host), ".") == appProxyHost
}

func splitURL(url string) (splitted, error) {
	url = strings.TrimLeftFunc(strip(url), func(r rune) bool { return r <= ' ' })
	url = strings.Map(dropLineBreaks, url)
	var u splitted
	if i := strings.IndexByte(url, ':'); i > 0 && isScheme(url[:i]) {
		u.scheme, url = strings.ToLower(url[:i]), url[i+1:]
	}
	if rest, ok := strings.CutPrefix(url, "//"); ok {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		u.authority, url = rest[:end], rest[end:]
		if err := checkAuthority(u.authority); err != nil {
			return splitted{}, err
		}
	}
	url, _, _ = strings.Cut(url, "#")
	url, _, _ = strings.Cut(url, "?")
	u.path = strings.TrimRight(url, "/")
	return u, nil
}

// strip is Python's str.strip: four separators more than unicode.IsSpace.
func strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}

func dropLineBreaks(r rune) rune {
	if r == '\t' || r == '\r' || r == '\n' {
		return -1
	}
	return r
}

func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return true
}

// looksLikeDelimiter are the characters that compatibility normalization
// (NFKC) turns into one of / ? # @ : or into something with one in it. Python
// refuses them in a host, because the URL would mean another one afterwards.
const looksLikeDelimiter = "\u2047\u2048\u2049\u2100\u2101\u2105\u2106\u2a74\ufe13\ufe16\ufe55\ufe56\ufe5f\ufe6b\uff03\uff0f\uff1a\uff1f\uff20"

// checkAuthority fails where Python 3.13 raises.
func checkAuthority(authority string) error {
	if strings.ContainsAny(authority, looksLikeDelimiter) {
		return errSplit
	}
	if !strings.ContainsAny(authority, "[]") {
		return nil
	}
	if !strings.Contains(authority, "[") || !strings.Contains(authority, "]") {
		return errSplit
	}
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	before, bracketed, found := strings.Cut(host, "[")
	if !found { // The brackets are in the user information.
		before, _, _ = strings.Cut(host, ":")
		return checkBracketed(before)
	}
	inside, after, _ := strings.Cut(bracketed, "]")
	if before != "" || after != "" && after[0] != ':' {
		return errSplit
	}
	return checkBracketed(inside)
}

var futureAddress = pattern.Of(`\Av[a-fA-F0-9]+\..+\z`)

func checkBracketed(host string) error {
	if strings.HasPrefix(host, "v") {
		if !futureAddress().MatchString(host) {
			return errSplit
		}
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Is4() || strings.Contains(ip.Zone(), "%") {
		return errSplit
	}
	return nil
}

// hidden takes the place of what may be a credential.
const hidden = "REDACTED"

// MaskURL hides what in a URL may be a credential: user information, the values
// of the query, the fragment. It is for showing URLs, whatever is in them.
func MaskURL(url string) string {
	rest, fragment, hasFragment := strings.Cut(url, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	start := 0
	if i := strings.Index(rest, "//"); i >= 0 {
		start = i + len("//")
	}
	// A password may have a slash in it, although it must not.
	if i := strings.LastIndexByte(rest[start:], '@'); i >= 0 {
		rest = rest[:start] + hidden + rest[start+i:]
	}
	if hasQuery {
		rest += "?" + maskQuery(query)
	}
	if hasFragment && fragment != "" {
		rest += "#" + hidden
	}
	return rest
}

func maskQuery(query string) string {
	parts := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, part := range parts {
		if name, _, found := strings.Cut(part, "="); found {
			parts[i] = name + "=" + hidden
		} else {
			parts[i] = hidden
		}
	}
	return strings.Join(parts, "&")
}
