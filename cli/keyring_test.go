package cli_test

import (
	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// fakeKeyringDir is a variable of scripts: the directory of a fake keyring. Where it is
// empty, the program has the system keyring.
const fakeKeyringDir = "TEST_KEYRING"

// fakeRoot is a variable of scripts that says that this is root. Tests run as
// anybody.
const fakeRoot = "TEST_ROOT"

// withFakes is the world of a script.
func withFakes(env *cli.Env) {
	env.Root = env.Getenv(fakeRoot) != ""
	// What runs on this machine changes no script.
	env.Usual = func(string) string { return "127.0.0.1:1" }
	if dir := env.Getenv(fakeKeyringDir); dir != "" {
		env.Keyring = secrettest.FileKeyring(dir)
	}
}
