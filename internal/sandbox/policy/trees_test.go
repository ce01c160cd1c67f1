package policy_test

import (
	"slices"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

func TestAWorkspaceThatIsReadIsNotWritten(t *testing.T) {
	t.Parallel()
	const work, other = "/home/me/work", "/home/me/work/sub"
	for _, tt := range []struct {
		name        string
		read, write []string
		writable    bool
	}{
		{"by default", nil, nil, true},
		{"read", []string{work}, nil, false},
		{"read and granted", []string{work}, []string{work}, true},
		{"a part is read", []string{other}, nil, true},
	} {
		p := policy.Policy{Workspace: work, Home: "/state/home", HomeAt: "/home/me", Tmp: "/state/tmp", Read: tt.read, Write: tt.write}
		if got := slices.Contains(p.Trees(), work); got != tt.writable {
			t.Errorf("%s: the workspace is writable: %t", tt.name, got)
		}
	}
}
