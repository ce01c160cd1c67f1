package inside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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

// ownNames cuts the names of other machines out of a hosts file. The name of this one
// leads to its loopback address: a box has no other.
func ownNames(text, host string) string {
	var own strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch {
		case ofThisMachine(fields[0]):
		case isAmong(host, fields[1:]):
			fields[0] = "127.0.0.1"
		default:
			continue
		}
		own.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return own.String()
}

// ofThisMachine reports whether an address is a loopback or a multicast address. It knows
// them by their text: net/netip would make the program ready before it becomes the box
// (see package early).
func ofThisMachine(address string) bool {
	if first, rest, ok := strings.Cut(address, "."); ok {
		n, err := strconv.Atoi(first)
		return err == nil && strings.Count(rest, ".") == 2 && (n == 127 || n >= 224 && n <= 239)
	}
	groups := strings.Split(strings.ToLower(address), ":")
	if len(groups) < 3 {
		return false
	}
	last := len(groups) - 1
	zero := strings.Trim(strings.Join(groups[:last], ""), "0") == ""
	return zero && strings.TrimLeft(groups[last], "0") == "1" || len(groups[0]) == 4 && strings.HasPrefix(groups[0], "ff")
}

func isAmong(host string, names []string) bool {
	for _, name := range names {
		if host != "" && strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}
