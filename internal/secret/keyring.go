package secret

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// DefaultService is the name under which the keyring keeps the keys of ohgw. No
// other program's name starts with it and a slash.
const DefaultService = "ohgw"

// The time that the keyring gets for an answer.
const (
	// PatienceForMachines is for calls without a person in front of them.
	PatienceForMachines = 3 * time.Second

	// PatienceForPeople gives a person time to type the password of the keyring.
	PatienceForPeople = time.Minute
)

const (
	// maxCalls bounds the calls at one time, which includes those whose callers
	// have gone. They cannot be cancelled: go-keyring knows no deadlines.
	maxCalls = 4

	// restTime is how long a keyring that did not answer is left alone. A
	// daemon would otherwise stall every request for the whole patience.
	restTime = 30 * time.Second
)

// Backend is the keyring of the operating system, as go-keyring offers it:
// Get gives keyring.ErrNotFound for what is not there. Its calls may take for
// ever.
type Backend interface {
	Get(service, user string) (string, error)
	Set(service, user, password string) error
	Delete(service, user string) error
}

// KeyringConfig is what a Keyring needs to know.
type KeyringConfig struct {
	// Index is the file that keeps the names of the keys, because a keyring
	// cannot be asked for them. It holds no secrets.
	Index string

	// Patience is how long one call may take. Zero means
	// PatienceForMachines.
	Patience time.Duration

	// Service is the name that the keys are kept under. Empty means
	// DefaultService.
	Service string

	// LookupEnv is os.LookupEnv. On systems with D-Bus it reports whether there
	// is a session at all.
	LookupEnv func(string) (string, bool)

	// Backend is the system keyring if it is nil.
	Backend Backend

	// Now is what the file gets as its time when a key in the keyring is
	// another one. Nil means time.Now.
	Now func() time.Time
}

// Keyring is the Store that the operating system protects. Every call ends in
// time: if the keyring is locked and stays locked, it returns an
// *UnavailableError.
type Keyring struct {
	cfg   KeyringConfig
	index index

	slots chan struct{} // one for each running call

	mu      sync.Mutex
	resting *time.Timer // is there while the keyring is left alone
}

// NewKeyring does nothing yet with the keyring; see Probe.
func NewKeyring(cfg KeyringConfig) *Keyring {
	if cfg.Patience == 0 {
		cfg.Patience = PatienceForMachines
	}
	if cfg.Service == "" {
		cfg.Service = DefaultService
	}
	if cfg.Backend == nil {
		cfg.Backend = system{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	return &Keyring{cfg: cfg, index: index{path: cfg.Index}, slots: make(chan struct{}, maxCalls)}
}

// Probe reports whether the keyring can be used, by asking for what is not there.
func (k *Keyring) Probe(ctx context.Context) error {
	_, err := k.Get(ctx, "probe/"+rand.Text())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Get asks the keyring.
func (k *Keyring) Get(ctx context.Context, name string) (Value, error) {
	text, err := k.call(ctx, func() (string, error) { return k.cfg.Backend.Get(k.cfg.Service, name) })
	if err != nil {
		return Value{}, err
	}
	return New(text), nil
}

// Set stores the secret and its name. The file of names has another time
// afterwards, also when it has the same names: whoever watches it knows that a
// key changed, and finds the new one in the keyring. When the keyring does not answer in time,
// it may still store the secret later; the name is kept then.
func (k *Keyring) Set(ctx context.Context, name string, v Value) error {
	if err := k.usable(); err != nil {
		return err
	}
	added, err := k.index.add(ctx, name)
	if err != nil {
		return err
	}
	_, err = k.call(ctx, func() (string, error) {
		return "", k.cfg.Backend.Set(k.cfg.Service, name, v.Reveal())
	})
	if err != nil && added && !mayStillHappen(err) {
		return errors.Join(err, k.index.remove(ctx, name))
	}
	if err == nil {
		k.index.touch(k.cfg.Now())
	}
	return err
}

func mayStillHappen(err error) bool {
	unavailable, ok := errors.AsType[*UnavailableError](err)
	return ok && unavailable.Reason == NoAnswer || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Delete removes the secret and its name.
func (k *Keyring) Delete(ctx context.Context, name string) error {
	_, err := k.call(ctx, func() (string, error) {
		return "", k.cfg.Backend.Delete(k.cfg.Service, name)
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return errors.Join(err, k.index.remove(ctx, name))
}

// List returns the names from the index; it does not ask the keyring.
func (k *Keyring) List(context.Context) ([]string, error) { return k.index.read() }

// Close waits until the calls that were given up have ended, or until ctx has.
// The Keyring is of no use afterwards.
func (k *Keyring) Close(ctx context.Context) error {
	k.wake()
	for range maxCalls {
		select {
		case k.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type answer struct {
	text string
	err  error
}

// call runs fn, but not for longer than the patience of the configuration.
func (k *Keyring) call(ctx context.Context, fn func() (string, error)) (string, error) {
	if err := k.usable(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Patience, &UnavailableError{Reason: NoAnswer})
	defer cancel()
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return "", k.gaveUp(ctx)
	}
	done := make(chan answer, 1)
	// When fn hangs, this goroutine outlives the call. Its slot says that it
	// is there, and Close waits for the slot.
	go func() {
		defer func() { <-k.slots }()
		text, err := fn()
		done <- answer{text, err}
		k.wake()
	}()
	select {
	case a := <-done:
		return a.text, k.explain(a.err)
	case <-ctx.Done():
		return "", k.gaveUp(ctx)
	}
}

// usable fails at once where asking could only hang.
func (k *Keyring) usable() error {
	if err := busError(k.cfg); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resting != nil {
		return &UnavailableError{Reason: NoAnswer}
	}
	return nil
}

// gaveUp returns the error of a call that took too long, or that its caller ended. After the
// first the keyring is left alone, until some call ends after all: then its prompt was
// answered.
func (k *Keyring) gaveUp(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, late := errors.AsType[*UnavailableError](cause); late {
		k.rest()
	}
	return fmt.Errorf("query the keyring: %w", cause)
}

func (k *Keyring) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resting == nil {
		k.resting = time.AfterFunc(restTime, k.wake)
	}
}

func (k *Keyring) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resting != nil {
		k.resting.Stop()
		k.resting = nil
	}
}

func (k *Keyring) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNotFound
	case errors.Is(err, keyring.ErrSetDataTooBig):
		return ErrTooBig
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return &UnavailableError{Reason: Unsupported}
	}
	return &UnavailableError{Reason: Failed, Err: err}
}

// system is go-keyring.
type system struct{}

func (system) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (system) Set(service, user, secret string) error   { return keyring.Set(service, user, secret) }
func (system) Delete(service, user string) error        { return keyring.Delete(service, user) }

// usesDBus reports whether the keyring of this system is behind D-Bus.
func usesDBus() bool { return runtime.GOOS != "darwin" && runtime.GOOS != "windows" }
