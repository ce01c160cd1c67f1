package cli

import (
	"github.com/ohgw/ohgw/cli/kit"
)

// MainWith is Main in a world that change has changed.
func MainWith(change func(*kit.Env), args []string) int {
	env := systemEnv()
	change(env)
	return run(env, args)
}
