package boxes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/ohgw/ohgw/internal/sandbox/inside"
)

// serveNetwork gives the sockets of the box to what answers on them.
func (r *runtime) serveNetwork(serve func(Sockets) (func() error, error)) error {
	r.mu.Lock()
	names, files := r.built.Sockets, r.files
	r.files = nil
	r.mu.Unlock()
	defer closeFiles(files)
	if len(names) == 0 || serve == nil {
		return nil
	}
	sockets, err := newSockets(names, files)
	if err != nil {
		return errors.Join(err, sockets.Close())
	}
	r.stop, err = serve(sockets)
	return err
}

func newSockets(names []string, files []*os.File) (s Sockets, err error) {
	if len(names) != len(files) {
		return s, fmt.Errorf("the sandbox has %d sockets instead of %d", len(files), len(names))
	}
	for i, name := range names {
		switch name {
		case inside.SocketDNS:
			s.DNS, err = net.FilePacketConn(files[i])
		case inside.SocketDNSTCP:
			s.DNSTCP, err = net.FileListener(files[i])
		case inside.SocketProxy:
			s.Proxy, err = net.FileListener(files[i])
		default:
			if _, unknown := strconv.ParseUint(name, 10, 16); unknown != nil {
				return s, fmt.Errorf("the sandbox has a socket %q", name)
			}
			var ln net.Listener
			if ln, err = net.FileListener(files[i]); err == nil {
				s.Capture = append(s.Capture, ln)
			}
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}
