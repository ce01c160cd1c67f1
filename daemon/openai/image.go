package openai

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ohgw/ohgw/internal/picture"
)

// readImage takes a data URL of a picture, in whose usual form it comes back,
// and, where remote ones are allowed, an http(s) URL of a public host. It fetches
// nothing.
func readImage(raw, path string, remote bool) (string, error) {
	if scheme, _, ok := strings.Cut(raw, ":"); ok && strings.EqualFold(scheme, "data") {
		return readData(raw, path)
	}
	return raw, checkRemote(raw, path, remote)
}

func checkRemote(raw, path string, remote bool) error {
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

// readData reads a data URL. What its bytes are decides, not what it says.
func readData(raw, path string) (string, error) {
	url, err := picture.DataURL(raw)
	switch {
	case err == nil:
		return url, nil
	case errors.Is(err, picture.ErrBase64):
		return "", &RequestError{Code: CodeInvalidBase64Image, Param: path, Message: "The image is not valid base64."}
	case errors.Is(err, picture.ErrURL):
		return "", &RequestError{Code: CodeInvalidImageURL, Param: path, Message: "Invalid image URL: expected data:image/<png, jpeg, gif or webp>;base64,…."}
	}
	return "", &RequestError{Code: CodeInvalidImageURL, Param: path, Message: "Invalid image URL: the image " + err.Error() + "."}
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
