package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/listener"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/systemd"
	"github.com/ohgw/ohgw/setup"
)

// Listen opens the address of the daemon, or says who has it.
func Listen(ctx context.Context, env *setup.Env, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	free := "choose another address with --addr; port 0 picks a free port"
	switch {
	case errors.Is(err, errInUse):
		return nil, &fault.Error{Msg: fmt.Sprintf("%s is in use by %s", addr, WhoListens(ctx, env, addr)), Hint: "stop it, or " + free, Code: fault.Conflict}
	case errors.Is(err, fs.ErrPermission):
		return nil, fault.New("no permission to listen on "+addr, free, netcause.Of(err))
	}
	return nil, fault.New("cannot listen on "+addr, free, netcause.Of(err))
}

// Socket is what the daemon listens on: a socket that the service manager has
// opened, else the address of the settings.
func Socket(ctx context.Context, env *setup.Env, s *config.Settings) (net.Listener, error) {
	ln, err := systemd.Listener(env.Getenv, env.PID)
	if err != nil {
		return nil, &fault.Error{Msg: "the sockets of the service manager cannot be used", Hint: "give its unit one ListenStream: an address with a port", Code: fault.Usage, Err: err}
	}
	if ln == nil {
		return Listen(ctx, env, s.Addr)
	}
	if !loopback.Listens(ln.Addr()) {
		WarnReachable(env, ln.Addr().String())
	}
	env.Detail("listening on the socket of the service manager, %s", ln.Addr())
	return ln, nil
}

// WarnReachable says what an address means that is not for this machine only.
func WarnReachable(env *setup.Env, addr string) {
	env.Note("warning: %s can be reached from other machines; anyone with a token can run commands on this one", addr)
}

// lookTimeout bounds how long the start asks who has its port.
const lookTimeout = 500 * time.Millisecond

// WhoListens describes who listens on an address: another ohgw, a process by its
// name, or "another process".
func WhoListens(ctx context.Context, env *setup.Env, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "another process"
	}
	process := ""
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		p, _ := listener.On(uint16(n))
		process = p.String()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if isGateway(ctx, env, "http://"+net.JoinHostPort(host, port)) {
		who := "another user's ohgw, or one with another state directory"
		if process != "" {
			who += " (" + process + ")"
		}
		return who
	}
	return cmp.Or(process, "another process")
}

// isGateway reports whether an ohgw answers at a base URL. No key is shown.
func isGateway(ctx context.Context, env *setup.Env, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := env.HTTP.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && strings.HasPrefix(string(text), "ohgw:")
}

// BaseURL is how clients on this machine reach a listener.
func BaseURL(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return "http://" + addr.String()
	}
	ip := tcp.IP
	switch {
	case ip.To4() == nil && ip.IsUnspecified(), ip.Equal(net.IPv4zero):
		ip = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + (&net.TCPAddr{IP: ip, Port: tcp.Port}).String()
}
