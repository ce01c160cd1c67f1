package apitest

import (
	"errors"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/gate"
)

// The keys of the tests. Those of the operator and the janitor are known where a test
// gives them their [Rights].
const (
	Key        = "ohgw-test-key-0123456789"
	LimitedKey = "ohgw-limited-key-0123456789"
	ExpiredKey = "ohgw-expired-key-0123456789"
	OtherKey   = "ohgw-other-key-0123456789"
	BrokenKey  = "ohgw-broken-key-0123456789"
	ActiveKey  = "ohgw-active-key-0123456789"

	OperatorKey = "ohgw-operator-key-0123456789"
	JanitorKey  = "ohgw-janitor-key-0123456789"
)

// Tokens are the keys of the tests.
type Tokens struct{}

// Check implements [gate.Tokens].
func (Tokens) Check(presented string) (gate.Client, error) {
	switch presented {
	case Key:
		return gate.Client{ID: "id-test", Name: "test"}, nil
	case OtherKey:
		return gate.Client{ID: "id-other", Name: "other", ChatBy: []string{"user", "prompt_cache_key"}}, nil
	case LimitedKey:
		return gate.Client{ID: "id-limited", Name: "limited", Models: []string{"openhands_cheap"}}, nil
	case ActiveKey:
		return gate.Client{ID: "id-active", Name: "active", Models: []string{"openhands"}}, nil
	case ExpiredKey:
		return gate.Client{}, gate.ErrExpiredKey
	case BrokenKey:
		return gate.Client{}, errors.New("read tokens: permission denied")
	default:
		return gate.Client{}, gate.ErrUnknownKey
	}
}

// Rights are the tokens of the tests, and some more.
type Rights map[string]gate.Client

// Check is [gate.Tokens]'.
func (r Rights) Check(presented string) (gate.Client, error) {
	if client, ok := r[presented]; ok {
		return client, nil
	}
	return Tokens{}.Check(presented)
}

// ByID is [gate.KnownTokens]'.
func (r Rights) ByID(id string) (gate.Client, error) {
	for _, client := range r {
		if client.ID == id {
			return client, nil
		}
	}
	return gate.Client{}, gate.ErrUnknownKey
}

// choosers are the keys of the tests; the main one may choose these directories.
type choosers struct{ dirs []string }

func (c choosers) Check(presented string) (gate.Client, error) {
	client, err := Tokens{}.Check(presented)
	if presented == Key {
		client.Workspaces = c.dirs
	}
	return client, err
}

// MayChoose lets the main key choose these directories.
func MayChoose(dirs ...string) func(*daemon.Config) {
	return func(c *daemon.Config) { c.Tokens = choosers{dirs} }
}

// Models are a model that each key may use.
func Models() map[string]string {
	return map[string]string{OtherKey: "openhands_default", LimitedKey: "openhands_cheap", ActiveKey: "openhands"}
}
