package serving

import (
	"crypto/subtle"

	"github.com/ohgw/ohgw/daemon/gate"
)

// OneKey admits one client, by one key.
type OneKey struct {
	Key    string
	Client gate.Client
}

// Check implements [gate.Tokens].
func (k OneKey) Check(presented string) (gate.Client, error) {
	if subtle.ConstantTimeCompare([]byte(presented), []byte(k.Key)) != 1 {
		return gate.Client{}, gate.ErrUnknownKey
	}
	return k.Client, nil
}
