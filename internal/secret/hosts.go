package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// HostStore is a Store that knows for which host a key was stored.
type HostStore interface {
	Store

	// Host is the host that a key was stored for; "" if that is not known.
	Host(name string) (string, error)
	// SetHost stores it; "" forgets it.
	SetHost(ctx context.Context, name, host string) error
}

// Hosts is a file that says for which host each key was stored. It stands beside a key
// store of any kind, and holds no secret. A file that cannot be read is an error: its
// keys are given to no host.
type Hosts struct {
	Path string

	mu    sync.Mutex
	info  fs.FileInfo // of the file as it was read
	hosts map[string]string
}

// hostsFile is its content.
type hostsFile struct {
	Version int               `json:"version"`
	Hosts   map[string]string `json:"hosts"`
}

const hostsVersion = 1

// Host implements [HostStore].
func (h *Hosts) Host(name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.read(); err != nil {
		return "", err
	}
	return h.hosts[name], nil
}

// read reads the file if it is another one than before.
func (h *Hosts) read() error {
	info, err := os.Stat(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		h.info, h.hosts = nil, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read hosts of keys: %w", err)
	}
	if h.info != nil && os.SameFile(h.info, info) && h.info.ModTime().Equal(info.ModTime()) && h.info.Size() == info.Size() {
		return nil
	}
	src, err := os.ReadFile(h.Path)
	if err != nil {
		return fmt.Errorf("read hosts of keys: %w", err)
	}
	var file hostsFile
	if err := json.Unmarshal(src, &file); err != nil {
		return fmt.Errorf("read hosts of keys in %s: %w", h.Path, err)
	}
	if file.Version != hostsVersion {
		return fmt.Errorf("read hosts of keys in %s: version %d is not known", h.Path, file.Version)
	}
	h.info, h.hosts = info, file.Hosts
	return nil
}

// SetHost implements [HostStore].
func (h *Hosts) SetHost(ctx context.Context, name, host string) error {
	if now, err := h.Host(name); err == nil && now == host {
		return nil
	}
	release, err := lockFile(ctx, h.Path)
	if err != nil {
		return err
	}
	defer release()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info = nil // another process may have written within one step of the clock
	if err := h.read(); err != nil {
		return err
	}
	next := maps.Clone(h.hosts)
	if next == nil {
		next = map[string]string{}
	}
	next[name] = host
	if host == "" {
		delete(next, name)
	}
	src, err := json.MarshalIndent(hostsFile{hostsVersion, next}, "", "  ")
	if err != nil {
		return err
	}
	h.info = nil
	return atomicfile.Write(h.Path, append(src, '\n'), atomicfile.Options{MaxMode: 0o600})
}

// HostError says that the key of a profile was stored for another host than the one that
// the profile has now.
type HostError struct {
	Profile  string
	For, Now string // as [Resolver.HostOf] gives them
}

func (e *HostError) Error() string {
	return e.Reason() + ". Store its key again: " + e.Command() + ". If it needs none: ohgw keys remove " + e.Profile
}

// Reason is the error without the command.
func (e *HostError) Reason() string {
	return fmt.Sprintf("the key of profile %q was stored for %s, and the profile now uses %s", e.Profile, e.For, e.Now)
}

// Command is what a person types to store the key for the new host.
func (e *HostError) Command() string { return "ohgw keys set " + e.Profile + " --replace" }

// providerHost begins the host of a model whose profile has no base URL.
const providerHost = "provider "

// HostOf names the host that the key of a profile is sent to, in one form for all its
// spellings: "provider openai" for the hosts of a provider, else "https://HOST:PORT".
//
// The scheme is part of it: over http, others on the network read the key. So is the
// port, also on this machine, and localhost is not 127.0.0.1: each address of loopback
// is a place of its own where a program of any user may listen. A path is not part of
// it.
func (r *Resolver) HostOf(s Subject) string {
	base, _ := r.base(s)
	if base == "" {
		return providerHost + r.provider(s.Model).Prefix
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base // which no request is sent to
	}
	name, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	usual := map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	if port == usual {
		port = ""
	}
	if strings.EqualFold(u.Scheme, "https") && port == "" {
		for _, p := range r.providers {
			if p.hasHost(name) {
				return providerHost + p.Prefix
			}
		}
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port != "" {
		name += ":" + port
	}
	return strings.ToLower(u.Scheme) + "://" + name
}

// Bind stores that the key of a profile is for the host that the profile has now. It is
// called when the key is stored.
func (r *Resolver) Bind(ctx context.Context, s Subject) error {
	hosts, ok := r.keys.(HostStore)
	if !ok {
		return nil
	}
	return hosts.SetHost(ctx, ProfileEntry(s.Base, s.Profile, s.Field), r.HostOf(s))
}

// BindOld stores that a key which an older ohgw has stored is for the host that the profile
// has now. It is called before the profile gets another host. names is as for Locate.
func (r *Resolver) BindOld(ctx context.Context, s Subject, names []string) error {
	hosts, ok := r.keys.(HostStore)
	name := ProfileEntry(s.Base, s.Profile, s.Field)
	if _, stored := slices.BinarySearch(names, name); !ok || !stored {
		return nil
	}
	if host, err := hosts.Host(name); host != "" || err != nil {
		return err
	}
	return hosts.SetHost(ctx, name, r.HostOf(s))
}

// bound explains why the stored key of a profile is not for the host of the profile; nil if
// it is. A key that was stored by an older ohgw has no host yet.
func (r *Resolver) bound(s Subject) error {
	hosts, ok := r.keys.(HostStore)
	if !ok {
		return nil
	}
	host, err := hosts.Host(ProfileEntry(s.Base, s.Profile, s.Field))
	if now := r.HostOf(s); err == nil && host != "" && host != now {
		return &HostError{s.Profile, host, now}
	}
	return err
}

// Elsewhere explains why the key that is stored for a profile is not given to it; nil if
// none is stored, or if it is given. names is as for Locate.
func (r *Resolver) Elsewhere(s Subject, names []string) error {
	if _, stored := slices.BinarySearch(names, ProfileEntry(s.Base, s.Profile, s.Field)); !stored {
		return nil
	}
	return r.bound(s)
}

// Refused explains why Locate finds no key where there is one: it was stored for another
// host, or what a variable has is not a key. It is nil if there is no such key. names is as
// for Locate.
func (r *Resolver) Refused(s Subject, names []string) error {
	if err := r.Elsewhere(s, names); err != nil {
		return err
	}
	return r.variableError(s)
}

// Unusable explains, from the error of Resolve, why a call without a key is not even tried:
// there is a key, and the user should know why it is not sent. It is nil where nothing has
// a key. A provider that asks for no key is called without one, on this machine or at its
// usual place.
func (r *Resolver) Unusable(s Subject, err error) error {
	if variable, ok := errors.AsType[*VariableError](err); ok {
		return variable
	}
	base, _ := r.base(s)
	if elsewhere, ok := errors.AsType[*HostError](err); ok && (!r.provider(s.Model).Keyless || base != "" && !here(base)) {
		return elsewhere
	}
	return nil
}

// variableError explains why the variable for a profile has no usable key; nil if it has
// one, or there is none.
func (r *Resolver) variableError(s Subject) error {
	if variable, text := r.env.find(ProviderEntry(ProviderOf(s.Model), s.Field)); variable != "" && r.environment(s).Name != "" {
		_, err := ParseVariable(variable, text)
		return err
	}
	return nil
}

// ofProfile reads the key that is stored for a profile, if it is for the profile's host. A
// key without a host is bound to it. Where that cannot be written, it is tried again with
// the next use.
func (r *Resolver) ofProfile(ctx context.Context, s Subject) (Value, error) {
	name := ProfileEntry(s.Base, s.Profile, s.Field)
	if err := r.bound(s); err != nil {
		names, listErr := r.keys.List(ctx)
		if listErr == nil && !slices.Contains(names, name) {
			return Value{}, ErrNotFound
		}
		return Value{}, err
	}
	key, err := r.keys.Get(ctx, name)
	if hosts, ok := r.keys.(HostStore); ok && err == nil {
		_ = hosts.SetHost(ctx, name, r.HostOf(s))
	}
	return key, err
}

// Stored reads the key that the store has for a profile, or for its provider, where it may
// be given to the profile's host; the zero Value if there is none. names is what Names
// gave, in order: the store is asked for what it has only.
func (r *Resolver) Stored(ctx context.Context, s Subject, names []string) (Value, error) {
	if err := r.Elsewhere(s, names); err != nil {
		return Value{}, err
	}
	for _, origin := range r.Entries(s) {
		if _, stored := slices.BinarySearch(names, origin.Name); !stored {
			continue
		}
		key, err := r.get(ctx, s, origin)
		if !errors.Is(err, ErrNotFound) {
			return key, err
		}
	}
	return Value{}, nil
}

// get asks the store for one of the entries of a profile.
func (r *Resolver) get(ctx context.Context, s Subject, origin Origin) (Value, error) {
	if origin.Kind == FromProfileEntry {
		return r.ofProfile(ctx, s)
	}
	return r.keys.Get(ctx, origin.Name)
}
