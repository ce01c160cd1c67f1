package secret

import (
	"context"
	"slices"
)

// Env reads keys of providers from environment variables. It stores nothing.
type Env struct {
	providers []Provider
	lookup    func(string) (string, bool)
}

// NewEnv reads variables with lookup, which is os.LookupEnv outside tests.
func NewEnv(providers []Provider, lookup func(string) (string, bool)) *Env {
	return &Env{providers: providers, lookup: lookup}
}

// Get returns the key of a ProviderEntry.
func (e *Env) Get(_ context.Context, name string) (Value, error) {
	_, v := e.find(name)
	if v.IsZero() {
		return Value{}, ErrNotFound
	}
	return v, nil
}

// Variable is the name of the variable that Get takes the key from; "" when it
// is not set.
func (e *Env) Variable(name string) string {
	variable, _ := e.find(name)
	return variable
}

// Variables are the names of all variables that could hold the key, for advice
// to people.
func (e *Env) Variables(name string) []string {
	entry := ParseEntry(name)
	i := slices.IndexFunc(e.providers, func(p Provider) bool { return p.Prefix == entry.Provider })
	if i < 0 || entry.Provider == "" {
		return nil
	}
	return e.providers[i].variables(entry.Field)
}

// find ignores empty variables, as LiteLLM does.
func (e *Env) find(name string) (string, Value) {
	for _, variable := range e.Variables(name) {
		if text, _ := e.lookup(variable); text != "" {
			return variable, New(text)
		}
	}
	return "", Value{}
}

// Set refuses.
func (e *Env) Set(context.Context, string, Value) error { return ErrReadOnly }

// Delete refuses.
func (e *Env) Delete(context.Context, string) error { return ErrReadOnly }

// List returns the providers that have a key in the environment.
func (e *Env) List(context.Context) ([]string, error) {
	var names []string
	for _, p := range e.providers {
		for _, field := range []string{APIKey, AWSAccessKeyID, AWSSecretAccessKey, AWSSessionToken} {
			if name := ProviderEntry(p.Prefix, field); e.Variable(name) != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
