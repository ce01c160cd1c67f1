package netpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/ohgw/ohgw/internal/sandbox/addresses"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxText is more than every name and address needs. What is longer is refused
// before it is looked at.
const maxText = 512

// Host is a name or an address, in its one canonical spelling.
type Host struct {
	Name string     // in ASCII and lower case, without a trailing dot; empty for an address
	Addr netip.Addr // not valid for a name
}

// String is the host as users write it, an IPv6 address without brackets.
func (h Host) String() string {
	if h.Addr.IsValid() {
		return h.Addr.String()
	}
	return h.Name
}

// errCredentials does not show the text, because it may contain a password.
var errCredentials = errors.New("a host with credentials is refused: write the host without USER:PASSWORD@")

// ParseHost reads a name or an address. Names are mapped as web browsers do
// (UTS 46, non-transitional), with labels of at most 63 and names of at most 253
// bytes. Every spelling of an address other than the canonical one is refused, as
// are the names of this machine; the error contains what to write instead.
func ParseHost(text string) (Host, error) {
	switch {
	case text == "":
		return Host{}, errors.New("the host is empty: write a name such as example.com")
	case len(text) > maxText:
		return Host{}, fmt.Errorf("a host name of %d bytes is too long: names have at most 253", len(text))
	case strings.Contains(text, "@"):
		return Host{}, errCredentials
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(inner, "]") {
			return Host{}, fmt.Errorf("%s is not an IPv6 address in brackets: write it as [2001:db8::1]", Quote(text))
		}
		return Host{Addr: addr}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return Host{}, fmt.Errorf("%s has a zone, and link-local addresses are never dialled", Quote(text))
		}
		return Host{Addr: addr}, nil
	}
	name, err := parseName(text)
	return Host{Name: name}, err
}

// parseName reads a name.
func parseName(text string) (string, error) {
	name, err := ascii(text)
	if err != nil {
		return "", err
	}
	if addr, numeric := spelled(name); numeric {
		return "", spelling(text, addr)
	}
	if thisMachine(name) {
		return "", fmt.Errorf("%s is this machine, which is never dialled", Quote(text))
	}
	return name, nil
}

// ascii converts a name to its form on the wire, without a trailing dot.
func ascii(text string) (string, error) {
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(false))
	name, err := profile.ToASCII(text)
	if again, wrong := profile.ToASCII(name); err == nil && (wrong != nil || again != name || !utf8.ValidString(text)) {
		err = errors.New("it has no canonical form")
	}
	if err != nil {
		return "", fmt.Errorf("%s is not a host name: write letters, digits and hyphens, such as example.com", Quote(text))
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > 253 {
		return "", fmt.Errorf("a host name of %d bytes is too long: names have at most 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return "", fmt.Errorf("%s is not a host name: it has an empty part", Quote(text))
		}
		if len(label) > 63 {
			return "", fmt.Errorf("%s is not a host name: a part of it has %d bytes, and the limit is 63", Quote(text), len(label))
		}
	}
	return strings.ToLower(name), nil
}

// spelled reports whether C libraries would read a name as an IPv4 address: one to
// four numbers, each decimal, octal or hexadecimal, the last one filling the rest.
// A name whose last label is a number is not a host name either; it then has no
// address.
func spelled(name string) (netip.Addr, bool) {
	labels := strings.Split(name, ".")
	if _, numeric := number(labels[len(labels)-1]); !numeric {
		return netip.Addr{}, false
	}
	if len(labels) > 4 {
		return netip.Addr{}, true
	}
	var value uint64
	for i, label := range labels {
		n, numeric := number(label)
		rest := 8 * (4 - i) // the bits that are not filled yet
		last := i == len(labels)-1
		if !numeric || !last && n > 255 || last && n >= 1<<rest {
			return netip.Addr{}, true
		}
		if last {
			value |= n
		} else {
			value |= n << (rest - 8)
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// number reads one part of an address. A number that is too large is a number.
func number(label string) (uint64, bool) {
	base, digits := 10, label
	switch {
	case strings.HasPrefix(label, "0x"):
		base, digits = 16, label[2:]
	case len(label) > 1 && label[0] == '0':
		base, digits = 8, label[1:]
	}
	if base == 16 && digits == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 1 << 63, true
	}
	if err != nil && base == 8 {
		_, err = strconv.ParseUint(digits, 10, 64) // 09 is not octal, and not a name either
		return 1 << 63, err == nil || errors.Is(err, strconv.ErrRange)
	}
	return n, err == nil
}

// spelling returns the error for a name that is an address in disguise.
func spelling(text string, addr netip.Addr) error {
	if !addr.IsValid() {
		return fmt.Errorf("%s is not a host name: its last part is a number", Quote(text))
	}
	if why := addresses.Why(addr, nil); why != "" {
		return fmt.Errorf("%s is another spelling of %s, %s, which is never dialled", Quote(text), addr, why)
	}
	return fmt.Errorf("%s is another spelling of %s: write %s", Quote(text), addr, addr)
}

// thisMachine reports whether a name means the machine that asks (RFC 6761, and
// the names that distributions write into /etc/hosts).
func thisMachine(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return slices.Contains([]string{
		"localhost", "localdomain", "localhost4", "localhost6", "localdomain4", "localdomain6", "ip6-localhost", "ip6-loopback",
	}, last)
}

// Quote shows a text from outside in one line of ASCII, cut if it is long.
func Quote(text string) string {
	return strconv.QuoteToASCII(truncate.Bytes(text, 80, "..."))
}
