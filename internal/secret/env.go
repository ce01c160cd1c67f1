package secret

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// VariableError says that what a variable has is not a key. It does not show what it is.
type VariableError struct {
	Variable string
	Err      error // of [Parse]
}

func (e *VariableError) Error() string {
	return fmt.Sprintf("the environment variable %s has no usable key: %v. Set it to the key alone, or unset it", e.Variable, e.Err)
}

func (e *VariableError) Unwrap() error { return e.Err }

// ParseVariable takes the value of a variable for a key. Blanks and line breaks around it
// are not part of it, as in [Read]. An error is a *VariableError.
func ParseVariable(variable, text string) (Value, error) {
	v, err := Parse(strings.TrimSpace(text))
	if err != nil {
		return Value{}, &VariableError{variable, err}
	}
	return v, nil
}

// Get returns the key of a ProviderEntry. A variable that has no usable key is a
// *VariableError: another one would not be what the user has set.
func (e *Env) Get(_ context.Context, name string) (Value, error) {
	variable, text := e.find(name)
	if variable == "" {
		return Value{}, ErrNotFound
	}
	return ParseVariable(variable, text)
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
func (e *Env) find(name string) (variable, text string) {
	for _, variable := range e.Variables(name) {
		if text, _ := e.lookup(variable); text != "" {
			return variable, text
		}
	}
	return "", ""
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
