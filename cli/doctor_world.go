package cli

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

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// patient is what the checks of doctor look at: this installation. What is slow
// is looked at once, whichever check asks first.
type patient struct {
	*app

	flags    settingFlags
	settings func() (*config.Settings, error)
	http     *http.Client

	mu      sync.Mutex // one look at a time
	backend *found[chosenBackend]
	store   *found[doctor.KeyStore]
	files   *found[doctor.Profiles]
	gateway *found[*tryout]
}

// found is the outcome of a look.
type found[T any] struct {
	value T
	err   error
}

// once looks the first time, and remembers.
func once[T any](p *patient, slot **found[T], look func() (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *slot == nil {
		value, err := look()
		*slot = &found[T]{value, err}
	}
	return (*slot).value, (*slot).err
}

func (a *app) newPatient(flags settingFlags) *patient {
	return &patient{
		app: a, flags: flags,
		settings: sync.OnceValues(func() (*config.Settings, error) { return a.settings(flags) }),
		http:     a.HTTP,
	}
}

// world is the patient as the checks see it.
func (p *patient) world() *doctor.World {
	built, err := time.Parse(time.RFC3339, buildinfo.Get().Time)
	if err != nil {
		built = time.Time{}
	}
	return &doctor.World{
		Now: p.Now, Built: built, GOOS: runtime.GOOS, Root: p.Root, Getenv: p.Getenv,
		Settings: p.settings, Paths: p.Paths, Stat: os.Stat, Writable: writable, Free: freeSpace,
		KeyStore: p.keyStoreState, Profiles: p.profileState,
		Bind: p.bind, Owner: p.owner,
		Backend: p.backendState, Do: p.http.Do,
		LookPath: exec.LookPath, Output: output, PTY: openPTY,
		Daemon: p.daemonState, Gateway: p.openGateway, Version: buildinfo.Get().Version,
	}
}

// close ends what was started for the checks.
func (p *patient) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if p.gateway != nil && p.gateway.value != nil {
		errs = append(errs, p.gateway.value.close())
	}
	if p.backend != nil && p.backend.err == nil {
		errs = append(errs, p.backend.value.Close())
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
func (p *patient) bind(ctx context.Context, addr string) error {
	ln, err := p.listen(ctx, addr)
	if err != nil {
		return err
	}
	return ln.Close()
}

func (p *patient) keyStoreState(ctx context.Context) (doctor.KeyStore, error) {
	return once(p, &p.store, func() (doctor.KeyStore, error) {
		s, err := p.settings()
		if err != nil {
			return doctor.KeyStore{}, err
		}
		store, err := p.openKeyStore(s, secret.PatienceForMachines)
		if err != nil {
			return doctor.KeyStore{}, err
		}
		state := doctor.KeyStore{Name: store.String(), Path: store.path}
		if err := store.probe(ctx); err != nil {
			if ctx.Err() != nil { // it waits for somebody
				err = &secret.UnavailableError{Reason: secret.NoAnswer, Err: context.Cause(ctx)}
			}
			state.Problem = keyFault(context.WithoutCancel(ctx), err, store)
		}
		if names, err := store.List(ctx); err == nil {
			state.Keys = len(names)
		}
		if store.file != nil {
			if s, err := store.file.State(); err == nil {
				state.Plain, state.Exposed = s.Plain, s.Exposed
			}
		}
		return state, nil
	})
}

func (p *patient) profileState(ctx context.Context) (doctor.Profiles, error) {
	return once(p, &p.files, func() (doctor.Profiles, error) {
		places, err := p.places()
		if err != nil {
			return doctor.Profiles{}, err
		}
		store, err := p.profileStore(&profilesInput{})
		if err != nil {
			return doctor.Profiles{}, err
		}
		keys, names, err := p.keyNames(ctx)
		if err != nil {
			return doctor.Profiles{}, err
		}
		list, err := store.List(ctx)
		if err != nil {
			return doctor.Profiles{}, p.profileFault(ctx, err, "")
		}
		out := doctor.Profiles{Base: store.Base(), Count: len(list)}
		if out.Report, err = store.Check(ctx, profile.CheckOptions{Keys: keys, CLI: places.CLI}); err != nil {
			return doctor.Profiles{}, p.profileFault(ctx, err, "")
		}
		for _, s := range list {
			if s.Active {
				out.Active = activeProfile(&s, keys, names)
			}
		}
		return out, nil
	})
}

// keyNames is where keys are looked for, and which there are. A store that
// cannot tell has none; another check says so.
func (p *patient) keyNames(ctx context.Context) (*secret.Resolver, []string, error) {
	s, err := p.settings()
	if err != nil {
		return nil, nil, err
	}
	store, err := p.openKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return nil, nil, err
	}
	keys := secret.NewResolver(store, secret.Providers(), p.lookup)
	names, err := keys.Names(ctx)
	if err != nil {
		names = nil
	}
	return keys, names, nil
}

func activeProfile(s *profile.Summary, keys *secret.Resolver, names []string) *doctor.ActiveProfile {
	active := &doctor.ActiveProfile{Name: s.Name, Model: s.Model, Variables: keys.Variables(s.Model)}
	switch from := keys.Locate(s.Subject(), names); {
	case from.Kind != secret.FromNowhere:
		active.KeyFrom = from.String()
	case s.Auth == "subscription":
		active.NeedsNone = "uses a subscription"
	case keys.Keyless(s.Model):
		active.NeedsNone = "needs no key"
	}
	return active
}

// open chooses the backend as serve would.
func (p *patient) open(ctx context.Context) (chosenBackend, error) {
	return once(p, &p.backend, func() (chosenBackend, error) {
		s, err := p.settings()
		if err != nil {
			return chosenBackend{}, err
		}
		b, err := p.openBackend(ctx, s, slog.New(slog.DiscardHandler))
		if err != nil && ctx.Err() != nil {
			err = &fault.Error{
				Msg: "what listens where an agent-server is looked for does not answer in time", Hint: "see what it is, or take the embedded agent: ohgw serve --backend embedded",
				Code: fault.Unreachable, Err: err,
			}
		}
		return b, err
	})
}

func (p *patient) backendState(ctx context.Context) (doctor.Backend, error) {
	b, err := p.open(ctx)
	if err != nil {
		return doctor.Backend{}, err
	}
	state := doctor.Backend{Status: b.status, Why: b.why}
	if b.status.Err == nil {
		if list, err := b.Profiles(ctx); err == nil { // what it says about itself is in the status
			state.Profiles = len(list)
		}
	}
	return state, nil
}

// daemonState asks the daemon that --url names, or that of this user.
func (p *patient) daemonState(ctx context.Context) (*doctor.Daemon, error) {
	c, err := p.running(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	d := &doctor.Daemon{URL: c.base, PID: c.found.PID}
	var h daemon.Health
	if _, err := c.get(ctx, "/healthz", &h); err != nil {
		return nil, err
	}
	d.Status, d.Version = h.Status, h.Version
	switch {
	case h.Status == "":
		return nil, c.stranger(errors.New("/healthz has no status"))
	case h.Backend == nil:
		d.Version, d.Refused = buildinfo.Get().Version, c.locked(nil) // it does not say which it is
	default:
		d.BackendError = h.Backend.Error
	}
	return d, nil
}

// running is the client for the daemon that runs; nil if none does.
func (p *patient) running(ctx context.Context) (*client, error) {
	c, err := p.daemonClient(ctx, p.flags)
	if err == nil {
		return c, nil
	}
	dirs, pathErr := p.Paths()
	if pathErr == nil {
		if _, findErr := instance.Find(dirs.Runtime); errors.Is(findErr, instance.ErrNotRunning) || errors.Is(findErr, fs.ErrNotExist) {
			return nil, nil //nolint:nilnil // There is none, and that is fine.
		}
	}
	return nil, err
}
