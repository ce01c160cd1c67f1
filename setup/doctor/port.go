package doctor

import (
	"context"
	"net"
	"net/url"
)

// checkPort tries whether serve could listen.
func checkPort(ctx context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		return failed(err)
	}
	if d, err := w.Daemon(ctx); err == nil && d != nil {
		if u, err := url.Parse(d.URL); err == nil && samePort(u.Host, s.Addr) {
			return fine("%s is used by your daemon", s.Addr)
		}
		if d.PID != 0 { // it is on this machine
			return fine("your daemon has another port: %s", d.URL)
		}
	}
	err = w.Bind(ctx, s.Addr)
	if err == nil {
		return fine("%s is free", s.Addr)
	}
	f := finding(err)
	return Result{}.fail(f.Text, f.Cause, "use any free port: ohgw serve --addr 127.0.0.1:0")
}

func samePort(a, b string) bool {
	_, one, err := net.SplitHostPort(a)
	if err != nil {
		return false
	}
	_, two, err := net.SplitHostPort(b)
	return err == nil && one == two
}
