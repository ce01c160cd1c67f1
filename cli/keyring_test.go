package cli_test

import (
	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// fakeKeyringDir is a variable of scripts: the directory of a keyring that is
// none. Where it is empty, the program has the keyring of the system.
const fakeKeyringDir = "TEST_KEYRING"

// withFakes is the world of a script.
func withFakes(env *cli.Env) {
	if dir := env.Getenv(fakeKeyringDir); dir != "" {
		env.Keyring = secrettest.FileKeyring(dir)
	}
}
