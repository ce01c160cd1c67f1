package serving

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/setup"
)

// Own is a gateway in this process, for one chat. It listens on a port
// of this machine, requires a key that only the chat knows, and writes its
// address nowhere: other commands do not find it, and "ohgw serve" may start
// beside it. Conversations are where those of the daemon are.
type Own struct {
	*Gateway

	URL, Key string
	HTTP     *http.Client // never by way of a proxy
	Stop     func() error
}

// OpenOwn starts a gateway. Its life is not that of ctx, so that a run
// that is interrupted can still say so: stop ends it.
func OpenOwn(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (_ *Own, err error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	records, err := claimRecords(ctx, dirs)
	if err != nil {
		if foreign := setup.ForeignFault(dirs, err); foreign != nil {
			return nil, foreign
		}
		return nil, fault.New("the state directory cannot be used", "make it usable: chmod -R u+rwX,go-w "+shellword.Of(dirs.State)+"; or choose another one with XDG_STATE_HOME", err)
	}
	free := func() error { return records.lock.Release() }
	own := *s
	own.NoAuth, own.Drain, own.AllowHosts, own.AllowOrigins = false, 0, nil, nil
	g := &Own{Key: rand.Text(), HTTP: &http.Client{Transport: &http.Transport{}, CheckRedirect: setup.NoRedirect}}
	g.Gateway, err = Open(ctx, env, &own, Options{
		Tokens: OneKey{Key: g.Key, Client: gate.Client{ID: "chat", Name: "chat", Person: true, Workspaces: []string{workdir.Any}}}, State: records.dir, Workspaces: dirs.Workspaces(), Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, free())
	}
	ln, err := Listen(ctx, env, "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, g.Close(), free())
	}
	g.URL = BaseURL(ln.Addr())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var serving errgroup.Group
	serving.Go(func() error { return g.Serve(life, ln) })
	g.Stop = func() error {
		g.HTTP.CloseIdleConnections()
		end()
		return errors.Join(serving.Wait(), g.Close(), free())
	}
	return g, nil
}

// records is a directory for what a gateway must remember of its requests.
type records struct {
	dir  string
	lock *filelock.Lock
}

// maxOwnGateways bounds how many chats have a gateway of their own at once.
const maxOwnGateways = 256

// claimRecords takes the first such directory that no other chat has. What an
// earlier chat could not clean up is cleaned up by the next one there.
func claimRecords(ctx context.Context, dirs paths.Set) (records, error) {
	for n := 1; ; n++ {
		r := records{dir: filepath.Join(dirs.State, "chat", strconv.Itoa(n))}
		if err := paths.MakePrivate(r.dir); err != nil {
			return r, err
		}
		var err error
		r.lock, err = filelock.Acquire(ctx, filepath.Join(r.dir, "daemon.lock"), filelock.Options{Timeout: -1, Mode: 0o600})
		if _, busy := errors.AsType[*filelock.BusyError](err); !busy || n == maxOwnGateways {
			return r, err
		}
	}
}
