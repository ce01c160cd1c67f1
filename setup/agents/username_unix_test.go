//go:build unix

package agents

import (
	"testing"

	"github.com/ohgw/ohgw/setup/setuptest"
)

func TestTheUsersNameIsKnownWithoutUSER(t *testing.T) {
	t.Parallel()
	env := setuptest.New(t, map[string]string{"USER": "me"})
	if got := userName(env); got != "me" {
		t.Errorf("with USER: %q", got)
	}
	env = setuptest.New(t, nil)
	for uid, want := range map[int]string{0: "root", -1: "", 1<<31 - 7: ""} {
		if env.EffectiveUID = uid; userName(env) != want {
			t.Errorf("%d is %q, want %q", uid, userName(env), want)
		}
	}
}
