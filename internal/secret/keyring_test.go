package secret_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// backend is a keyring in memory that can be told to hang or to fail.
type backend struct {
	mu    sync.Mutex
	items map[string]string
	err   error
	hang  chan struct{} // calls wait until it is closed
	calls int
}

func newBackend() *backend { return &backend{items: map[string]string{}} }

func (b *backend) begin() error {
	b.mu.Lock()
	b.calls++
	hang, err := b.hang, b.err
	b.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return err
}

func (b *backend) Get(service, user string) (string, error) {
	if err := b.begin(); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.items[service+" "+user]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return v, nil
}

func (b *backend) Set(service, user, password string) error {
	if err := b.begin(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items[service+" "+user] = password
	return nil
}

func (b *backend) Delete(service, user string) error {
	if err := b.begin(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.items[service+" "+user]; !ok {
		return keyring.ErrNotFound
	}
	delete(b.items, service+" "+user)
	return nil
}

func (b *backend) set(hang chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hang, b.err = hang, err
}

func (b *backend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func open(t *testing.T, b *backend) *secret.Keyring {
	t.Helper()
	return secret.NewKeyring(secret.KeyringConfig{Index: filepath.Join(t.TempDir(), "ohgw", "keys.json"), Backend: b})
}

func TestTheKeyringKeepsTheContract(t *testing.T) {
	t.Parallel()
	k := open(t, newBackend())
	secrettest.Contract(t, func(*testing.T) secret.Store { return k })
}

func TestTheIndexHoldsNoSecret(t *testing.T) {
	t.Parallel()
	index := filepath.Join(t.TempDir(), "keys.json")
	k := secret.NewKeyring(secret.KeyringConfig{Index: index, Backend: newBackend()})
	if err := k.Set(t.Context(), "provider/openai", secret.New(fixtureKey)); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "index", string(content))
	if info, err := os.Stat(index); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func TestManyProcessesShareAnIndex(t *testing.T) {
	t.Parallel()
	index, b := filepath.Join(t.TempDir(), "keys.json"), newBackend()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			k := secret.NewKeyring(secret.KeyringConfig{Index: index, Backend: b})
			if err := k.Set(t.Context(), "provider/p"+string(rune('0'+i)), secret.New("key")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	names, err := secret.NewKeyring(secret.KeyringConfig{Index: index, Backend: b}).List(t.Context())
	if err != nil || len(names) != 10 {
		t.Errorf("names = %q, %v", names, err)
	}
}

func TestAKeyringThatNeverAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, hang := newBackend(), make(chan struct{})
		b.set(hang, nil)
		k := open(t, b)

		start := time.Now()
		_, err := k.Get(t.Context(), "a")
		wantReason(t, err, secret.NoAnswer)
		if waited := time.Since(start); waited != secret.PatienceForMachines {
			t.Errorf("waited %s", waited)
		}

		// It is left alone for a while, then tried again.
		start = time.Now()
		for range 100 {
			wantReason(t, k.Probe(t.Context()), secret.NoAnswer)
		}
		if time.Since(start) != 0 || b.count() != 1 {
			t.Errorf("waited %s more, %d calls", time.Since(start), b.count())
		}
		for range 20 {
			time.Sleep(31 * time.Second)
			wantReason(t, k.Probe(t.Context()), secret.NoAnswer)
		}
		if b.count() != 4 {
			t.Errorf("%d calls hang, want 4", b.count())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close while calls hang: %v", err)
		}
		close(hang)
		synctest.Wait()
	})
}

func TestAKeyringThatAnswersLateIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, hang := newBackend(), make(chan struct{})
		b.set(hang, nil)
		k := open(t, b)
		wantReason(t, k.Set(t.Context(), "provider/openai", secret.New("key")), secret.NoAnswer)
		b.set(nil, nil)
		close(hang) // The user types the password after all.
		synctest.Wait()

		if v, err := k.Get(t.Context(), "provider/openai"); err != nil || v.Reveal() != "key" {
			t.Errorf("Get: %v", err)
		}
		if names, err := k.List(t.Context()); err != nil || len(names) != 1 {
			t.Errorf("names = %q, %v", names, err)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestACallerThatLeavesDoesNotBlameTheKeyring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, hang := newBackend(), make(chan struct{})
		b.set(hang, nil)
		k := open(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := k.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		b.set(nil, nil)
		if err := k.Probe(t.Context()); err != nil {
			t.Errorf("the next call: %v", err)
		}
		close(hang)
		synctest.Wait()
	})
}

func TestAFailedSetIsNotListed(t *testing.T) {
	t.Parallel()
	b := newBackend()
	k := open(t, b)
	for _, tt := range []struct{ from, want error }{
		{errors.New("refused"), nil},
		{keyring.ErrSetDataTooBig, secret.ErrTooBig},
	} {
		b.set(nil, tt.from)
		err := k.Set(t.Context(), "provider/openai", secret.New(fixtureKey))
		if tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("error = %v, want %v", err, tt.want)
		}
		if tt.want == nil {
			wantReason(t, err, secret.Failed)
			if !errors.Is(err, tt.from) {
				t.Errorf("the cause is lost: %v", err)
			}
		}
		check(t, "error", err.Error())
		if names, err := k.List(t.Context()); err != nil || len(names) != 0 {
			t.Errorf("names = %q, %v", names, err)
		}
	}
	b.set(nil, keyring.ErrUnsupportedPlatform)
	wantReason(t, k.Probe(t.Context()), secret.Unsupported)
}

func TestDeleteMendsTheIndex(t *testing.T) {
	t.Parallel()
	b := newBackend()
	k := open(t, b)
	if err := k.Set(t.Context(), "provider/openai", secret.New("key")); err != nil {
		t.Fatal(err)
	}
	clear(b.items) // Another program removed it, with the tools of the system.
	if err := k.Delete(t.Context(), "provider/openai"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("Delete: %v", err)
	}
	if names, err := k.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("names = %q, %v", names, err)
	}
}

func TestADamagedIndexIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"{", `{"version":2,"names":[]}`} {
		index := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(index, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBackend()
		k := secret.NewKeyring(secret.KeyringConfig{Index: index, Backend: b})
		if _, err := k.List(t.Context()); err == nil {
			t.Error("List gives no error")
		}
		if err := k.Set(t.Context(), "a", secret.New("key")); err == nil || b.count() != 0 {
			t.Errorf("Set: %v, %d calls", err, b.count())
		}
		if after, err := os.ReadFile(index); err != nil || string(after) != content {
			t.Errorf("index is now %q", after)
		}
	}
}

func TestWithoutASessionThereIsNoKeyring(t *testing.T) {
	t.Parallel()
	k := secret.NewKeyring(secret.KeyringConfig{
		Index:     filepath.Join(t.TempDir(), "keys.json"),
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	err := k.Probe(t.Context())
	unavailable, ok := errors.AsType[*secret.UnavailableError](err)
	if !ok || unavailable.Reason != secret.NoBus {
		t.Skipf("not a system with D-Bus: %v", err)
	}
	if !strings.Contains(err.Error(), "no D-Bus") {
		t.Errorf("error = %v", err)
	}
}

func wantReason(t *testing.T, err error, want secret.Reason) {
	t.Helper()
	unavailable, ok := errors.AsType[*secret.UnavailableError](err)
	if !ok || unavailable.Reason != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}
