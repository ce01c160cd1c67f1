package secretenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
)

type sourceJSON struct {
	Description *string           `json:"description,omitempty"`
	Value       *string           `json:"value,omitempty"`
	URL         string            `json:"url,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Kind        string            `json:"kind"`
}

type registryJSON struct {
	Sources map[string]sourceJSON `json:"secret_sources"`
}

// Encode encodes the registry for a conversation's base state, with every value
// sealed. Without seal, values are left out: they have to be given again when the
// conversation is opened.
func (r *Registry) Encode(seal func(value string) (string, error)) (json.RawMessage, error) {
	if seal == nil {
		seal = func(string) (string, error) { return hidden.Redacted, nil }
	}
	r.mu.Lock()
	secrets := maps.Clone(r.secrets)
	r.mu.Unlock()
	out := registryJSON{Sources: map[string]sourceJSON{}}
	for name, s := range secrets {
		j := sourceJSON{Kind: "StaticSecret"}
		if s.description != "" {
			j.Description = &s.description
		}
		if s.url == "" {
			sealed, err := seal(s.value)
			if err != nil {
				return nil, fmt.Errorf("seal secret %s: %w", name, err)
			}
			j.Value = &sealed
		} else {
			j.Kind, j.URL, j.Headers = "LookupSecret", s.url, map[string]string{}
			for header, value := range s.headers {
				if IsSecretHeader(header) {
					sealed, err := seal(value)
					if err != nil {
						return nil, fmt.Errorf("seal secret %s: %w", name, err)
					}
					value = sealed
				}
				j.Headers[header] = value
			}
		}
		out.Sources[name] = j
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	return data, nil
}

// Decode adds the secrets of a stored registry. open unseals a value, and
// gives one that is not sealed as it is. The secrets in lost could not be
// unsealed, or were stored without a value; they are not added. A secret of an
// unknown kind is lost, too.
func (r *Registry) Decode(data json.RawMessage, open func(stored string) (string, error)) (lost []string, err error) {
	var stored registryJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fmt.Errorf("decode secrets: %w", err)
	}
	found := map[string]Secret{}
	for _, name := range slices.Sorted(maps.Keys(stored.Sources)) {
		s, ok := stored.Sources[name].secret(open)
		if !ok {
			lost = append(lost, name)
			continue
		}
		found[name] = s
	}
	r.Set(found)
	return lost, nil
}

func (j sourceJSON) secret(open func(string) (string, error)) (Secret, bool) {
	description := ""
	if j.Description != nil {
		description = *j.Description
	}
	switch j.Kind {
	case "StaticSecret":
		if j.Value == nil || *j.Value == "" || *j.Value == hidden.Redacted {
			return Secret{}, false
		}
		value, err := open(*j.Value)
		return Static(value, description), err == nil
	case "LookupSecret":
		headers := map[string]string{}
		for name, value := range j.Headers {
			if IsSecretHeader(name) {
				opened, err := open(value)
				if err != nil || value == hidden.Redacted {
					return Secret{}, false
				}
				value = opened
			}
			headers[name] = value
		}
		return Lookup(j.URL, headers, description), j.URL != ""
	}
	return Secret{}, false
}

// IsSecretHeader reports which headers OpenHands seals, by its own list.
func IsSecretHeader(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{
		"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN",
	}, func(word string) bool { return strings.Contains(name, word) })
}

// Parse reads a source as a client sends it, its value in the clear. The error
// does not tell the value; it is ErrNoValue for one that is empty, or that was
// left out where the client has read it.
func Parse(source json.RawMessage) (Secret, error) {
	var j sourceJSON
	if json.Unmarshal(source, &j) != nil {
		return Secret{}, errSource
	}
	s, ok := j.secret(func(value string) (string, error) { return value, nil })
	switch {
	case ok:
		return s, nil
	case j.Kind == "StaticSecret":
		return Secret{}, ErrNoValue
	}
	return Secret{}, errSource
}

// ErrNoValue says that a secret has no value.
var ErrNoValue = errors.New("the secret has no value")

var errSource = errors.New(`it must be {"kind":"StaticSecret","value":"..."} or {"kind":"LookupSecret","url":"..."}`)
