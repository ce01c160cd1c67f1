package manager

import (
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// Shown returns a function that reports whether boxes of a workspace that show some more
// paths, as in [Env.Read], show a path of outside. No box is made.
func (m *Manager) Shown(workspace string, read []string) (func(path string) bool, error) {
	if m.boxless() {
		return func(string) bool { return true }, nil
	}
	b := &box{m: m}
	var err error
	if b.plan, b.settings, err = m.plan(workspace); err != nil {
		return nil, err
	}
	b.plan.Read = append(b.plan.Read, read...)
	whole, err := boxes.Complete(boxes.Config{Level: m.Status().Level, Policy: b.with(b.more()), GitOpen: b.settings.GitOpen})
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		state := whole.Of(path).State
		return state != policy.Hidden && state != policy.Own
	}, nil
}
