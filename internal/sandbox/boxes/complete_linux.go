package boxes

import "github.com/ohgw/ohgw/internal/sandbox/policy"

// Complete is the policy of a box with what New adds to it, the guards of git, and
// what is hidden on this machine.
func Complete(cfg Config) (policy.Policy, error) {
	p, _, err := complete(cfg)
	if err != nil {
		return p, err
	}
	return withHidden(p, p.HomeAt), nil
}
