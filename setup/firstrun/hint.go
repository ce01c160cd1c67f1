package firstrun

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// FromEnvironment returns how to add the first profile with a provider's key that is
// in the environment: the name of the variable and the whole command. Both are empty
// if there is no such key. Where the key store cannot be used, the command names the
// file.
func FromEnvironment(ctx context.Context, env *setup.Env, s *config.Settings) (variable, command string) {
	found := envKeys(env)
	at := slices.IndexFunc(found, func(k EnvKey) bool { return k.Provider != "bedrock" && k.holdsKey(env) }) // AWS has three
	if at < 0 {
		return "", ""
	}
	key, model := found[at], "MODEL"
	if _, base := BaseFromEnvironment(env, Plan{Provider: key.Provider}); base != "" {
		model = "MODEL" // only its server knows them
	} else if known := Proposals(key.Provider); len(known) > 0 {
		model = known[0]
	}
	command = "ohgw profiles add " + key.Provider + " --provider " + key.Provider + " --model " + model + " --key-from env:" + key.Variable
	if keys, err := env.OpenKeyStore(s, secret.PatienceForMachines); err == nil && env.Reach(ctx, keys) != nil {
		command += " --key-store file"
	}
	return key.Variable, command
}

// holdsKey reports whether the variable has what can be a key.
func (k EnvKey) holdsKey(env *setup.Env) bool {
	text, _ := env.Lookup(k.Variable)
	_, err := secret.Parse(text)
	return err == nil
}
