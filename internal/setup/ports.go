package setup

import (
	"net"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/internal/config"
)

// usualPort is that of a daemon without settings.
const usualPort = 6449

// ReservedPorts are the ports of ohgw on this machine, which the agent's programs
// may never reach: the usual one, and that of the settings.
func ReservedPorts(s *config.Settings) []uint16 {
	ports := []uint16{usualPort}
	_, text, err := net.SplitHostPort(s.Addr)
	if port, notPort := strconv.ParseUint(text, 10, 16); err == nil && notPort == nil && port != 0 && !slices.Contains(ports, uint16(port)) {
		ports = append(ports, uint16(port))
	}
	return ports
}
