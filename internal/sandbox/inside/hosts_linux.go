package inside

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// hosts leaves only the names of this machine in /etc/hosts. The addresses of the others
// cannot be reached from a box: their names are asked for like any other, and who serves
// the box finds their addresses in the file outside.
func (m *mounts) hosts() error {
	at, err := filepath.EvalSymlinks("/etc/hosts")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return nil //nolint:nilerr // Programs cannot read it either.
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	const ours = "/run/hosts"
	if err := os.WriteFile(ours, []byte(ownNames(string(text), host)), 0o644); err != nil { //nolint:gosec // as it is outside
		return err
	}
	return over(ours, at, true)
}

// ownNames is a hosts file without the names of other machines. The name of this one
// leads to its loopback address: a box has no other.
func ownNames(text, host string) string {
	var own strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		address, err := netip.ParseAddr(fields[0])
		switch {
		case err != nil:
			continue
		case address.IsLoopback(), address.IsMulticast():
		case isAmong(host, fields[1:]):
			fields[0] = "127.0.0.1"
		default:
			continue
		}
		own.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return own.String()
}

func isAmong(host string, names []string) bool {
	for _, name := range names {
		if host != "" && strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}
