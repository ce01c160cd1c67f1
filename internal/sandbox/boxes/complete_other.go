//go:build !linux

package boxes

import "github.com/ohgw/ohgw/internal/sandbox/policy"

// Complete is the policy of a box, to which nothing is added on this system.
func Complete(cfg Config) (policy.Policy, error) { return cfg.Policy, cfg.Policy.Check() }
