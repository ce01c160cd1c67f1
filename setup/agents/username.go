package agents

import (
	"os/user"
	"strconv"

	"github.com/ohgw/ohgw/setup"
)

// userName is the user's name, which the results of commands have. Containers and services
// often have no USER.
func userName(env *setup.Env) string {
	if name := env.Getenv("USER"); name != "" || env.EffectiveUID < 0 {
		return name
	}
	found, err := user.LookupId(strconv.Itoa(env.EffectiveUID))
	if err != nil {
		return "" // results without one are read, too
	}
	return found.Username
}
