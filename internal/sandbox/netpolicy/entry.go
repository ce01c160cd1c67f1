package netpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/addresses"
	"github.com/ohgw/ohgw/internal/suggest"
)

// Entry is one line of the allow or deny list.
type Entry struct {
	Host
	// Below is for every name below Name, and not for Name itself.
	Below bool
	// Port is the one port of the entry. Zero is 80 and 443 in an allow list, and
	// every port in a deny list.
	Port uint16
	// Preset is the name of a preset with its "@". The entry then has no host.
	Preset string
	// From says who wrote the entry, for example "@go" or "GOPROXY". It is empty for
	// the user's own lists.
	From string
	// Only are addresses that may be dialled for this entry although they are private:
	// those of a package mirror that the user has set up. Other addresses of the host
	// must be public.
	Only []netip.Addr
}

// String writes the entry as users write it.
func (e Entry) String() string {
	if e.Preset != "" {
		return e.Preset
	}
	text := e.Host.String()
	if e.Below {
		text = "*." + text
	}
	if e.Port == 0 {
		return text
	}
	if e.Addr.Is6() {
		text = "[" + text + "]"
	}
	return text + ":" + strconv.Itoa(int(e.Port))
}

// presets are the names that an entry may have behind "@".
var presets = []string{"auto", "github", "go", "java", "node", "packages", "python", "rust", "system"}

// Presets lists the names of all presets, without "@".
func Presets() []string { return append([]string(nil), presets...) }

// ParseEntry reads an entry: NAME, *.NAME, NAME:PORT, an address, ADDRESS:PORT or
// @PRESET. An IPv6 address with a port is written in brackets.
func ParseEntry(text string) (Entry, error) {
	text = strings.TrimSpace(text)
	if preset, ok := strings.CutPrefix(text, "@"); ok {
		return parsePreset(preset)
	}
	if err := mistaken(text); err != nil {
		return Entry{}, err
	}
	var e Entry
	rest, port, err := cutPort(text)
	if err != nil {
		return Entry{}, err
	}
	e.Port = port
	rest, e.Below = strings.CutPrefix(rest, "*.")
	if strings.Contains(rest, "*") {
		return Entry{}, fmt.Errorf("%s has a * that is not its first part: write *.example.com for the names below example.com", Quote(text))
	}
	if e.Host, err = ParseHost(rest); err != nil {
		return Entry{}, err
	}
	if e.Below && e.Addr.IsValid() {
		return Entry{}, fmt.Errorf("%s is an address with a *: write each address", Quote(text))
	}
	if e.Below && !strings.Contains(e.Name, ".") {
		return Entry{}, fmt.Errorf("%s covers a whole top-level domain: write *.NAME.%s", Quote(text), e.Name)
	}
	return e, nil
}

// ParseGrant reads an entry that a grant may have: a host that can be dialled, and
// not a preset.
func ParseGrant(text string) (Entry, error) {
	e, err := ParseEntry(text)
	switch {
	case err != nil:
		return Entry{}, err
	case e.Preset != "":
		return Entry{}, fmt.Errorf("%s is a preset: grant single hosts", e.Preset)
	}
	e.From = "grant"
	return e, allowable(e)
}

func parsePreset(name string) (Entry, error) {
	if strings.ContainsAny(name, "@:/") {
		return Entry{}, errCredentials // of a person who wrote @host or USER:PASSWORD@
	}
	for _, known := range presets {
		if strings.EqualFold(name, known) {
			return Entry{Preset: "@" + known}, nil
		}
	}
	hint := "the presets are @" + strings.Join(presets, ", @")
	if near := suggest.Nearest(name, presets); near != "" {
		hint = "did you mean @" + near + "? " + hint
	}
	return Entry{}, fmt.Errorf("%s is not a preset: %s", Quote("@"+name), hint)
}

// mistaken returns the error for what people write instead of a host. It never shows
// a text that may contain a password.
func mistaken(text string) error {
	switch {
	case text == "":
		return errors.New("the entry is empty: write a name such as example.com")
	case len(text) > maxText:
		return fmt.Errorf("an entry of %d bytes is too long: names have at most 253", len(text))
	case text == "*":
		return errors.New(`"*" would allow every host: write each host`)
	case strings.Contains(text, "://"):
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			return fmt.Errorf("the entry is a URL: write its host, %s", Quote(u.Host))
		}
		return errors.New("the entry is a URL: write its host, such as example.com")
	case strings.Contains(text, "@"):
		return errCredentials
	case strings.ContainsAny(text, ", \t\r\n"):
		return fmt.Errorf("%s has more than one host: write each as an entry of its own", Quote(text))
	case strings.Contains(text, "/"):
		if _, err := netip.ParsePrefix(text); err == nil {
			return fmt.Errorf("%s is a network: write each address", Quote(text))
		}
		host, _, _ := strings.Cut(text, "/")
		return fmt.Errorf("%s has a path, and hosts are allowed as a whole: write %s", Quote(text), Quote(host))
	}
	return nil
}

// cutPort divides HOST:PORT. An IPv6 address without brackets has no port.
func cutPort(text string) (host string, port uint16, err error) {
	at := strings.LastIndexByte(text, ':')
	bracket := strings.HasSuffix(text, "]")
	if at < 0 || bracket || strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[") {
		return text, 0, nil
	}
	port, err = parsePort(text[at+1:])
	return text[:at], port, err
}

// parsePort reads a port as it is written in an entry: no sign, no leading zero.
func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] < '1' || text[0] > '9' {
		return 0, fmt.Errorf("%s is not a port: write a number from 1 to 65535", Quote(text))
	}
	return uint16(n), nil
}

// allowable reports why an entry cannot be on an allow list.
func allowable(e Entry) error {
	if !e.Addr.IsValid() {
		return nil
	}
	why := addresses.Why(e.Addr, nil)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s is %s, which is never dialled: write the address of a public host", e.Addr, why)
}
