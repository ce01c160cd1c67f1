package inspect

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/agents"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/serving"
)

// openGateway returns the gateway to check: the running daemon, or one that
// lives as long as this command.
func (p *Installation) openGateway(ctx context.Context) (doctor.Gateway, error) {
	c, err := p.running(ctx)
	if err != nil {
		return doctor.Gateway{}, err
	}
	if c != nil {
		return doctor.Gateway{URL: c.Base, Key: c.Key}, nil
	}
	backend, err := p.open(ctx)
	if err != nil {
		return doctor.Gateway{}, err
	}
	t, err := p.gateway.look(func() (*trial, error) { return p.try(ctx, backend) })
	if err != nil {
		return doctor.Gateway{}, err
	}
	return doctor.Gateway{URL: t.url, Key: t.key, Temporary: true}, nil
}

// trial is a gateway for the time of a command. It has the settings of serve
// that decide who may connect, keeps nothing, and is known to this process only.
type trial struct {
	url  string
	key  string
	dir  string // where its agents work
	d    *daemon.Daemon
	end  context.CancelFunc
	wg   sync.WaitGroup
	fate error // of Serve; read after wg
}

// try starts a gateway on a free port.
func (p *Installation) try(ctx context.Context, backend agents.Backend) (*trial, error) {
	s, err := p.Settings()
	if err != nil {
		return nil, err
	}
	cannot := func(err error) error {
		return fault.New("cannot start a gateway to check", "run ohgw serve for details", err)
	}
	t := &trial{key: "doctor-" + rand.Text()}
	if t.dir, err = os.MkdirTemp("", "ohgw-doctor-"); err != nil {
		return nil, cannot(err)
	}
	t.d, err = daemon.New(daemon.Config{
		Config: gate.Config{
			Backend: backend.Backend, Logger: slog.New(slog.DiscardHandler), Now: p.Now,
			Tokens: serving.OneKey{Key: t.key, Client: gate.Client{ID: "doctor", Name: "doctor"}}, AllowHosts: s.AllowHosts, AllowOrigins: s.AllowOrigins,
			Workspace: t.dir, OneShotTTL: -1,
		},
		Why: backend.Why, Version: buildinfo.Get().Version, Drain: -1,
	})
	if err != nil {
		return nil, cannot(errors.Join(err, os.RemoveAll(t.dir)))
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, cannot(errors.Join(err, t.d.Close(), os.RemoveAll(t.dir)))
	}
	t.url = serving.BaseURL(ln.Addr())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	t.end = end
	t.wg.Go(func() { t.fate = t.d.Serve(life, ln) }) // ended by close
	return t, nil
}

// close ends the gateway and removes what its agents made.
func (t *trial) close() error {
	t.end()
	t.wg.Wait()
	return errors.Join(t.fate, t.d.Close(), os.RemoveAll(t.dir))
}
