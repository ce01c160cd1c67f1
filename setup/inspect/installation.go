// Package inspect looks at this installation for package doctor: settings, files,
// stores, the backend, the daemon that runs and the machine.
package inspect

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agents"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/serving"
)

// Installation is what the checks of doctor look at: this installation. What is slow
// is looked at once, whichever check asks first.
type Installation struct {
	*setup.Env

	Settings func() (*config.Settings, error)
	http     *http.Client

	backend found[agents.Backend]
	store   found[doctor.KeyStore]
	files   found[doctor.Profiles]
	gateway found[*trial]
}

// found is the outcome of a look. Two looks at one thing are one; looks at
// different things do not wait for each other.
type found[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
	err   error
}

// look looks the first time, and remembers.
func (f *found[T]) look(look func() (T, error)) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.value, f.err = look()
		f.done = true
	}
	return f.value, f.err
}

// seen is what a look found; false if there was none, or it failed.
func (f *found[T]) seen() (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.done && f.err == nil
}

// New makes the checks of this installation. The settings are read when the
// first check needs them.
func New(env *setup.Env, settings func() (*config.Settings, error)) *Installation {
	return &Installation{Env: env, Settings: sync.OnceValues(settings), http: env.HTTP}
}

// World shows the installation to the checks.
func (p *Installation) World() *doctor.World {
	built, err := time.Parse(time.RFC3339, buildinfo.Get().Time)
	if err != nil {
		built = time.Time{}
	}
	return &doctor.World{
		Now: p.Now, Built: built, GOOS: runtime.GOOS, Root: p.Root, Getenv: p.Getenv,
		Settings: p.Settings, Paths: p.Paths, Stat: os.Stat, Mine: func(f fs.FileInfo) bool { return mine(f, p.EffectiveUID) }, Writable: writable, Free: freeSpace,
		KeyStore: p.keyStoreState, Profiles: p.profileState, Provider: p.providerState,
		Bind: p.bind, Owner: func(ctx context.Context, addr string) string { return serving.WhoListens(ctx, p.Env, addr) },
		Backend: p.backendState, Agents: p.agentsState, Do: p.http.Do, ServerClock: p.serverClock,
		Sandbox: p.sandboxState, Hooks: p.hooksState, Browser: p.browserState, LookPath: p.LookPath, Output: output, PTY: openPTY,
		Daemon: p.daemonState, Gateway: p.openGateway, Version: buildinfo.Get().Version,
	}
}

// serverClock is the time on an agent-server.
func (p *Installation) serverClock(ctx context.Context, address string) (time.Time, error) {
	info, err := agentserver.Probe(ctx, p.http, address)
	return info.Clock, err
}

// Close ends what was started for the checks.
func (p *Installation) Close() error {
	var errs []error
	if t, ok := p.gateway.seen(); ok {
		errs = append(errs, t.close())
	}
	if b, ok := p.backend.seen(); ok {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// writable makes a file in a directory and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".ohgw-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096)) // a full disk still has names
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, name, args...).Output()
	return string(text), err
}

func openPTY() error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	return errors.Join(slave.Close(), master.Close())
}

// bind tries to listen, as serve would.
func (p *Installation) bind(ctx context.Context, addr string) error {
	ln, err := serving.Listen(ctx, p.Env, addr)
	if err != nil {
		return err
	}
	return ln.Close()
}

func (p *Installation) keyStoreState(ctx context.Context) (doctor.KeyStore, error) {
	return p.store.look(func() (doctor.KeyStore, error) {
		s, err := p.Settings()
		if err != nil {
			return doctor.KeyStore{}, err
		}
		store, err := p.OpenKeyStore(s, secret.PatienceForMachines)
		if err != nil {
			return doctor.KeyStore{}, err
		}
		state := doctor.KeyStore{Name: store.String(), Path: store.Path}
		if err := store.Probe(ctx); err != nil {
			if ctx.Err() != nil { // it waits for a user to unlock it
				err = &secret.UnavailableError{Reason: secret.NoAnswer, Err: context.Cause(ctx)}
			}
			state.Problem = setup.KeyFault(context.WithoutCancel(ctx), err, store)
		}
		if names, err := store.List(ctx); err == nil {
			state.Keys = len(names)
		}
		if store.File != nil {
			if s, err := store.File.State(); err == nil {
				state.Plain, state.Exposed = s.Plain, s.Exposed
			}
		}
		return state, nil
	})
}

func (p *Installation) profileState(ctx context.Context) (doctor.Profiles, error) {
	return p.files.look(func() (doctor.Profiles, error) {
		places, err := p.Places()
		if err != nil {
			return doctor.Profiles{}, err
		}
		store, err := p.ProfileStore(0)
		if err != nil {
			return doctor.Profiles{}, err
		}
		keys, names, err := p.keyNames(ctx)
		if err != nil {
			return doctor.Profiles{}, err
		}
		list, err := store.List(ctx)
		if err != nil {
			return doctor.Profiles{}, p.ProfileFault(ctx, err, "")
		}
		out := doctor.Profiles{Base: store.Base(), Count: len(list)}
		if settings, err := p.Settings(); err == nil && out.Count == 0 {
			out.Variable, out.Add = firstrun.FromEnvironment(ctx, p.Env, settings)
		}
		if out.Report, err = store.Check(ctx, profile.CheckOptions{Keys: keys, CLI: places.CLI, Unfit: firstrun.Unfit}); err != nil {
			return doctor.Profiles{}, p.ProfileFault(ctx, err, "")
		}
		for _, s := range list {
			if s.Usable() {
				out.Names = append(out.Names, s.Name)
			}
			if s.Active {
				out.Active = ActiveProfile(&s, keys, names)
			}
		}
		return out, nil
	})
}

// keyNames returns where keys are looked for, and which there are. A store that does
// not answer has none; another check says so.
func (p *Installation) keyNames(ctx context.Context) (*secret.Resolver, []string, error) {
	s, err := p.Settings()
	if err != nil {
		return nil, nil, err
	}
	store, err := p.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return nil, nil, err
	}
	keys := secret.NewResolver(store, secret.Providers(), p.Lookup)
	names, err := keys.Names(ctx)
	if err != nil {
		names = nil
	}
	return keys, names, nil
}

// ActiveProfile returns what doctor shows of the active profile; names are the
// keys in the store.
func ActiveProfile(s *profile.Summary, keys *secret.Resolver, names []string) *doctor.ActiveProfile {
	active := &doctor.ActiveProfile{Name: s.Name, Model: s.Model, Variables: keys.Variables(s.Model)}
	switch from := keys.Locate(s.Subject(), names); {
	case from.Kind != secret.FromNowhere:
		active.KeyFrom = from.String()
	case s.Auth == "subscription":
		active.NeedsNone = "uses a subscription"
	case keys.Keyless(s.Subject()):
		active.NeedsNone = "needs no key"
	}
	if withheld := keys.Withheld(s.Subject(), names); withheld.Kind != secret.FromNowhere {
		active.Withheld = withheld.String()
	}
	if err := keys.Refused(s.Subject(), names); err != nil {
		active.Refused = err.Error()
		if elsewhere, ok := errors.AsType[*secret.HostError](err); ok {
			active.Refused, active.Repair = elsewhere.Reason(), elsewhere.Command()
		}
	}
	return active
}

// open chooses the backend as serve would.
func (p *Installation) open(ctx context.Context) (agents.Backend, error) {
	return p.backend.look(func() (agents.Backend, error) {
		s, err := p.Settings()
		if err != nil {
			return agents.Backend{}, err
		}
		b, err := agents.Open(ctx, p.Env, s, slog.New(slog.DiscardHandler))
		if err != nil && ctx.Err() != nil {
			err = &fault.Error{
				Msg: "the program at the default agent-server address does not answer in time", Hint: "check the program at that address, or use the embedded agent: ohgw serve --backend embedded",
				Code: fault.Unreachable, Err: err,
			}
		}
		return b, err
	})
}

func (p *Installation) backendState(ctx context.Context) (doctor.Backend, error) {
	b, err := p.open(ctx)
	if err != nil {
		return doctor.Backend{}, err
	}
	state := doctor.Backend{Status: b.Status, Why: b.Why, KeysWithheld: b.KeysWithheld()}
	if b.Status.Err == nil {
		if list, err := b.Profiles(ctx); err == nil { // what it says about itself is in the status
			for _, p := range list {
				if p.Agent == "" {
					state.Profiles++
				}
			}
		}
	}
	return state, nil
}

// daemonState asks the daemon that --url names, or that of this user.
func (p *Installation) daemonState(ctx context.Context) (*doctor.Daemon, error) {
	c, err := p.running(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	d := &doctor.Daemon{URL: c.Base, PID: c.Found.PID}
	var h daemon.Health
	if _, err := c.Get(ctx, "/healthz", &h); err != nil {
		return nil, err
	}
	d.Status, d.Version = h.Status, h.Version
	switch {
	case h.Status == "":
		return nil, c.Stranger(errors.New("/healthz has no status"))
	case h.Backend == nil:
		d.Version, d.Refused = buildinfo.Get().Version, c.Locked(nil) // it does not say which it is
	default:
		d.BackendError = h.Backend.Error
	}
	return d, nil
}

// running connects to the daemon that runs; nil if none does.
func (p *Installation) running(ctx context.Context) (*running.Daemon, error) {
	s, err := p.Settings()
	if err != nil {
		return nil, err
	}
	c, err := running.Require(ctx, p.Env, s)
	if err == nil {
		return c, nil
	}
	dirs, pathErr := p.Paths()
	if pathErr == nil {
		if _, findErr := instance.Find(dirs.Runtime); errors.Is(findErr, instance.ErrNotRunning) || errors.Is(findErr, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return nil, err
}
