package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// APIKey is the field of an entry that has one secret only. The three secrets
// of AWS have names of their own, which are those of the profile.
const (
	APIKey             = ""
	AWSAccessKeyID     = "aws_access_key_id"
	AWSSecretAccessKey = "aws_secret_access_key"
	AWSSessionToken    = "aws_session_token"
)

// The first parts of names.
const (
	profilePart  = "profile"
	providerPart = "provider"
	tokenPart    = "token"
	serverPart   = "server"
)

// baseIDLen is how much of the hash of a base directory is in a name.
const baseIDLen = 12

// ProfileEntry is the name of a secret of one profile. Profiles of the same
// name in two stores are two profiles, so the base directory is part of it.
func ProfileEntry(base, profile, field string) string {
	return join(profilePart, BaseID(base), profile, field)
}

// ProviderEntry is the name of a secret for all profiles of a provider, such
// as "openai".
func ProviderEntry(provider, field string) string {
	return join(providerPart, provider, field)
}

// TokenEntry is the name of a client key of the gateway. Two gateways of one
// user have a state directory each, so dir is part of it.
func TokenEntry(dir, name string) string { return join(tokenPart, BaseID(dir), name) }

// ServerEntry is the name of the key of a server of OpenHands. The root URL is part
// of it: a server that moves to another one has another key.
func ServerEntry(root, name string) string {
	sum := sha256.Sum256([]byte(root))
	return join(serverPart, hex.EncodeToString(sum[:])[:baseIDLen], name)
}

func join(parts ...string) string {
	return strings.TrimSuffix(strings.Join(parts, "/"), "/")
}

// BaseID stands for a directory in names: the first twelve hexadecimal
// digits of the SHA-256 of its path. base should be absolute.
func BaseID(base string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(base)))
	return hex.EncodeToString(sum[:])[:baseIDLen]
}

// Entry is a name taken apart.
type Entry struct {
	Name     string `json:"name"`
	Profile  string `json:"profile,omitempty"`
	BaseID   string `json:"base_id,omitempty"`
	Provider string `json:"provider,omitempty"`
	Token    string `json:"token,omitempty"`
	Server   string `json:"server,omitempty"`
	Field    string `json:"field,omitempty"`
}

// ParseEntry takes a name apart. A name that this package did not make has a
// Name only.
func ParseEntry(name string) Entry {
	e := Entry{Name: name}
	parts := append(strings.Split(name, "/"), "", "", "")
	switch {
	case parts[0] == profilePart && strings.Count(name, "/") >= 2:
		e.BaseID, e.Profile, e.Field = parts[1], parts[2], parts[3]
	case parts[0] == providerPart:
		e.Provider, e.Field = parts[1], parts[2]
	case parts[0] == tokenPart && strings.Count(name, "/") >= 2:
		e.BaseID, e.Token = parts[1], parts[2]
	case parts[0] == serverPart && strings.Count(name, "/") >= 2:
		e.BaseID, e.Server = parts[1], parts[2]
	}
	return e
}
