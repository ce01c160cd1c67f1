package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/systemd"
)

// listen opens the address of the daemon, or says who has it.
func (a *app) listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	free := "take another one with --addr; port 0 takes a free one"
	switch {
	case errors.Is(err, errInUse):
		return nil, &fault.Error{Msg: fmt.Sprintf("%s is in use by %s", addr, a.owner(ctx, addr)), Hint: "stop it, or " + free, Code: fault.Conflict}
	case errors.Is(err, fs.ErrPermission):
		return nil, fault.New("you may not listen on "+addr, free, netCause(err))
	}
	return nil, fault.New("cannot listen on "+addr, free, netCause(err))
}

// socket is what the daemon listens on: a socket that the service manager has
// opened, else the address of the settings.
func (a *app) socket(ctx context.Context, s *config.Settings) (net.Listener, error) {
	ln, err := systemd.Listener(a.Getenv, os.Getpid())
	if err != nil {
		return nil, &fault.Error{Msg: "the sockets of the service manager cannot be used", Hint: "let its unit have one ListenStream, an address with a port", Code: fault.Usage, Err: err}
	}
	if ln == nil {
		return a.listen(ctx, s.Addr)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		a.note("warning: %s can be reached from other machines; whoever has a token can run commands through it", ln.Addr())
	}
	a.detail("listening on the socket of the service manager, %s", ln.Addr())
	return ln, nil
}

// tellManager tells the service manager something. That it does not hear it is
// no reason to stop.
func (a *app) tellManager(states ...string) {
	if err := systemd.Notify(a.Getenv, states...); err != nil {
		a.note("warning: %v", err)
	}
}

// ownerPatience bounds how long the start asks who has its port.
const ownerPatience = 500 * time.Millisecond

// owner says who listens on an address: another ohgw, a process, or somebody.
func (a *app) owner(ctx context.Context, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "another process"
	}
	process := portOwner(port)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if a.isGateway(ctx, "http://"+net.JoinHostPort(host, port)) {
		who := "an ohgw that is not yours, or has another state directory"
		if process != "" {
			who += " (" + process + ")"
		}
		return who
	}
	return cmp.Or(process, "another process")
}

// isGateway tells whether an ohgw answers at a base URL. No key is shown.
func (a *app) isGateway(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && strings.HasPrefix(string(text), "ohgw:")
}

// baseURL is how clients on this machine reach a listener.
func baseURL(addr net.Addr) string {
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
