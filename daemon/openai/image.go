package openai

import (
	"encoding/base64"
	"io"
	"net/netip"
	"net/url"
	"strings"
)

// checkImage accepts a data URL of an image and, where remote ones are
// allowed, an http(s) URL of a public host. It fetches nothing.
func checkImage(raw, path string, remote bool) error {
	if scheme, rest, ok := strings.Cut(raw, ":"); ok && strings.EqualFold(scheme, "data") {
		return checkData(rest, path)
	}
	refuse := func(why string) error {
		return &RequestError{Code: CodeInvalidImageURL, Param: path, Message: "Invalid image URL: " + why}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return refuse("expected a data URL such as data:image/png;base64,….")
	case !remote:
		return refuse("http and https URLs are not allowed here; send a data URL, or start ohgw serve with --image-urls.")
	case u.User != nil:
		return refuse("it contains credentials.")
	case !PublicHost(u.Hostname()):
		return refuse("it points to a private address.")
	}
	return nil
}

// checkData looks at a data URL without its scheme.
func checkData(rest, path string) error {
	head, payload, ok := strings.Cut(rest, ",")
	head = strings.ToLower(head)
	kind, encoded := strings.CutSuffix(head, ";base64")
	mime, _, _ := strings.Cut(kind, ";")
	switch mime {
	case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp":
	default:
		ok = false
	}
	if !ok || !encoded {
		return &RequestError{Code: CodeInvalidImageURL, Param: path, Message: "Invalid image URL: expected data:image/<png, jpeg, gif or webp>;base64,…."}
	}
	n, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(payload)))
	if err != nil || n == 0 {
		return &RequestError{Code: CodeInvalidBase64Image, Param: path, Message: "The image is not valid base64."}
	}
	return nil
}

// PublicHost reports whether a host may be one of the public internet, as far as
// its text tells: not an address of a private, local or reserved network in
// any notation, not a name that only a local network knows.
func PublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return PublicAddr(addr)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == host || last == "" {
		return false // one label: a name of the local network
	}
	switch last {
	case "localhost", "local", "internal", "lan", "home", "corp", "private", "intranet", "arpa":
		return false
	}
	// A last label that begins with a digit is an address in one of the odd
	// notations that resolvers accept (2130706433, 0x7f.1, 0177.0.0.1); no
	// top-level domain does.
	return last[0] < '0' || last[0] > '9'
}

// PublicAddr reports whether an address is one of the public internet.
func PublicAddr(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, prefix := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", // special purpose, RFC 6890
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", // the same, and tunnels into IPv4
	} {
		if netip.MustParsePrefix(prefix).Contains(addr) {
			return false
		}
	}
	return true
}
