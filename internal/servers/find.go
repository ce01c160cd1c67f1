package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/shellword"
)

// KeyVariables are the variables with a key, the first one first.
func KeyVariables() []string {
	return []string{"OHGW_CLOUD_API_KEY", "OH_API_KEY", "OPENHANDS_API_KEY", "OPENHANDS_CLOUD_API_KEY"}
}

// URLVariables are the variables with the URL of a server, the first one first.
func URLVariables() []string {
	return []string{"OHGW_CLOUD_URL", "OPENHANDS_CLOUD_API_URL", "OPENHANDS_CLOUD_URL"}
}

// Finder finds servers and their keys.
type Finder struct {
	Store  *Store
	Keys   secret.Store // nil: no keys are stored
	Getenv func(string) string
	URL    string // comes before the URL variables; may be empty
}

// Find returns the server that a command means: that of a name, else that of a URL
// variable, else the default one. Without any of them it is the hosted Cloud if a
// variable has a key. A server that is not stored has no Header.
func (f Finder) Find(name string) (Server, error) {
	list, err := f.Store.List()
	if err != nil {
		return Server{}, err
	}
	if name != "" {
		return list.Get(name)
	}
	root, variable, err := f.chosenURL()
	if err != nil {
		return Server{}, err
	}
	if variable != "" {
		return unstored(list, root), nil
	}
	if list.Default != "" {
		return list.Get(list.Default)
	}
	if variable, _ := first(f.Getenv, KeyVariables()); variable != "" {
		return unstored(list, HostedURL), nil
	}
	return Server{}, &fault.Error{Msg: "no server is stored", Hint: "add one: ohgw login, or ohgw server add", Code: fault.Credential}
}

// unstored is the server at a root, stored or not.
func unstored(list List, root string) Server {
	if s, ok := list.At(root); ok {
		return s
	}
	s := Server{URL: root, Kind: Cloud}
	s.Name = s.Host()
	if root == HostedURL {
		s.Name = HostedName
	}
	return s
}

// Key is the key of a server, and where it is from.
type Key struct {
	Value  secret.Value
	Origin string // for people: "variable OH_API_KEY", "key store"
}

// Key finds the key of a server. The first variable of KeyVariables comes before the
// key store, for the one server that the variables are for.
func (f Finder) Key(ctx context.Context, s Server) (Key, error) {
	variable, text := first(f.Getenv, KeyVariables())
	if variable != "" {
		mine, err := f.isForVariables(s)
		if err != nil {
			return Key{}, err
		}
		if mine {
			v, err := secret.Parse(text)
			if err != nil {
				return Key{}, fault.NewUsage(fmt.Sprintf("%s has no usable key: %v", variable, err), "set "+variable+" to a key from the server's settings, or unset it")
			}
			return Key{v, "variable " + variable}, nil
		}
	}
	if f.Keys != nil {
		v, err := f.Keys.Get(ctx, secret.ServerEntry(s.URL, s.Name))
		if err == nil {
			return Key{v, "key store"}, nil
		}
		if !errors.Is(err, secret.ErrNotFound) {
			return Key{}, err
		}
	}
	return Key{}, noKey(s, variable)
}

// noKey says that a server has no key. variable is one that has a key for another.
func noKey(s Server, variable string) error {
	hint := "log in: ohgw login " + s.Name + "; or store a key: ohgw server add " + s.Name + " --url " + shellword.Of(s.URL) + " --replace"
	if variable != "" {
		hint += "; " + variable + " is for the default server, or for that of " + URLVariables()[0]
	}
	return &fault.Error{Msg: "there is no key for the server " + s.Name, Hint: hint, Code: fault.Credential}
}

// isForVariables reports whether the keys in the environment are for a server.
func (f Finder) isForVariables(s Server) (bool, error) {
	meant, err := f.Find("")
	return meant.URL == s.URL && meant.Name == s.Name, err
}

// chosenURL is the root of the server that a URL names, and where that URL is from.
func (f Finder) chosenURL() (root, variable string, err error) {
	variable, text := first(f.Getenv, URLVariables())
	if f.URL != "" {
		variable, text = "cloud.url", f.URL
	}
	if variable == "" {
		return "", "", nil
	}
	root, err = Root(text)
	if err != nil {
		return "", "", fault.NewUsage(variable+" is not the URL of a server", "use a URL such as "+HostedURL+", or unset it")
	}
	return root, variable, nil
}

// first is the first variable that is set, and its value.
func first(getenv func(string) string, names []string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}
