package serving

import (
	"crypto/subtle"

	"github.com/ohgw/ohgw/daemon"
)

// OneKey admits one client, by one key.
type OneKey struct {
	Key    string
	Client daemon.Client
}

// Check implements [daemon.Tokens].
func (k OneKey) Check(presented string) (daemon.Client, error) {
	if subtle.ConstantTimeCompare([]byte(presented), []byte(k.Key)) != 1 {
		return daemon.Client{}, daemon.ErrUnknownKey
	}
	return k.Client, nil
}
