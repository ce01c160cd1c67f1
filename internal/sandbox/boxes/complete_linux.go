package boxes

import "github.com/ohgw/ohgw/internal/sandbox/policy"

// Complete is the policy of a box with what New adds to it: what is hidden on this
// machine, and the guards of git.
func Complete(cfg Config) (policy.Policy, error) {
	p, _, err := complete(cfg)
	return p, err
}
