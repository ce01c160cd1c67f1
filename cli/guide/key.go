package guide

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// The sources that --key-from names beside files.
const (
	fromVariable = "env:"
	fromStdin    = "stdin"
)

// readKey reads the key where the flags say, or that stands on a pipe. Without
// both, it is the zero Value.
func (g *guide) readKey(ctx context.Context) (key secret.Value, err error) {
	variable, isVariable := strings.CutPrefix(g.KeyFrom, fromVariable)
	switch {
	case isVariable:
		key, err = secret.Parse(strings.TrimSpace(g.Getenv(variable)))
		if errors.Is(err, secret.ErrEmpty) {
			return key, fault.NewUsage("--key-from: the variable "+variable+" is not set", "export it, or use --key-from stdin")
		}
	case g.KeyFrom == fromStdin, g.KeyFrom == "-", g.KeyFrom == "" && !g.StdinTTY:
		done := g.TellLate("reading the key from stdin; without a key, use < /dev/null")
		key, err = secret.Read(g.Stdin)
		done()
		if errors.Is(err, secret.ErrEmpty) && g.KeyFrom == "" {
			return secret.Value{}, nil
		}
	case g.KeyFrom != "":
		key, err = readFile(g.KeyFrom)
	}
	if ctx.Err() != nil {
		return key, ctx.Err()
	}
	return key, kit.InputFault(err)
}

func readFile(path string) (key secret.Value, err error) {
	f, err := os.Open(path)
	if err != nil {
		return key, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return secret.Read(f)
}

// askKey finds or asks for the key.
func (g *guide) askKey(ctx context.Context) error {
	if g.KeyFrom != "" {
		key, err := g.readKey(ctx)
		if err != nil {
			return err
		}
		g.plan.Key, g.keyDone, g.KeyFrom = key, true, "" // another one is asked for
		kept, err := g.needStore(ctx)
		if !kept && err == nil {
			err = g.storeErr
		}
		return err
	}
	if g.plan.From != nil {
		return g.keepFound(ctx)
	}
	if g.keyDone = g.needsNoKey(ctx); g.keyDone {
		return nil
	}
	kept, err := g.needStore(ctx)
	g.keyDone = err == nil
	if !kept || err != nil {
		return err
	}
	return g.typeKey(ctx)
}

// keepFound takes the keys in OpenHands' settings, if they can be kept.
func (g *guide) keepFound(ctx context.Context) error {
	g.keyDone = true
	if len(g.plan.From.Keys) == 0 {
		return nil
	}
	kept, err := g.needStore(ctx)
	if err == nil && !kept {
		clear(g.plan.From.Keys)
		g.plan.Key = secret.Value{}
	}
	return err
}

// needsNoKey reports whether a key was found, or none is asked for: a server on
// this machine says itself if it wants one.
func (g *guide) needsNoKey(ctx context.Context) bool {
	if g.ownKey {
		return false
	}
	if origin := g.setup.KeyOrigin(ctx, g.plan); origin.Kind != secret.FromNowhere {
		g.Note("Key: %s", origin)
		return true
	}
	provider, _ := firstrun.ProviderNamed(g.plan.Provider)
	return provider.Keyless && g.plan.BaseURL == "" || setup.OnThisMachine(g.plan.BaseURL)
}

// typeKey asks for the key. An empty line means that there is no key.
func (g *guide) typeKey(ctx context.Context) error {
	provider, _ := firstrun.ProviderNamed(g.plan.Provider)
	if provider.KeyPage != "" && g.plan.BaseURL == "" {
		g.Note("Keys for %s are made at %s", provider.Prefix, provider.KeyPage)
	}
	for {
		key, err := g.AskKey(ctx, "Key, empty for none")
		switch {
		case err == nil:
			g.plan.Key = key
			return nil
		case errors.Is(err, secret.ErrEmpty):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if fault.CodeOf(kit.InputFault(err)) != fault.Usage {
			return kit.InputFault(err)
		}
		g.Say(kit.Sentence(kit.InputFault(err)))
	}
}

// needStore offers the file where there is no keyring, before a key is typed
// that could not be kept. kept is false if the file was refused.
func (g *guide) needStore(ctx context.Context) (kept bool, err error) {
	gone, ok := errors.AsType[*fault.Error](g.storeErr)
	if !ok {
		return g.storeErr == nil, g.storeErr
	}
	settings, err := g.Setup().Settings(map[string][]string{"key-store": {"file"}})
	if err != nil {
		return false, err
	}
	keys, err := g.Setup().OpenKeyStore(settings, secret.PatienceForMachines)
	if err != nil {
		return false, err
	}
	g.Note("%s", kit.Sentence(fault.New(gone.Msg, "", nil)))
	yes, err := g.AskYesNo(ctx, "Keep the key in the private file "+keys.Path,
		"The file is readable by you only (mode 0600). It is encrypted if OH_SECRET_KEY is set. The choice is written to the config file: key_store = \"file\".")
	if err != nil {
		return false, err
	}
	if !yes {
		g.Note("Then the profile is stored without a key. Set %s before you start ohgw.", g.variable())
		return false, nil
	}
	if g.storeErr = g.Setup().Reach(ctx, keys); g.storeErr != nil {
		return false, g.storeErr
	}
	g.setup = g.setup.WithKeyStore(keys, modelcheck.DefaultTimeout)
	return true, nil
}

// StoreFault explains why a key that came with a command cannot be kept. There is no
// profile yet, so the same command is repeated with another store. provider is the prefix
// of the model's name; "" if it is not known.
func StoreFault(err error, provider string) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Credential {
		return err
	}
	again := *f
	again.Hint = "repeat the command with --key-store file, which stores the key in a private file"
	if p, ok := firstrun.ProviderNamed(provider); ok && len(p.Variables) > 0 {
		again.Hint += "; or set the variable " + p.Variables[0] + ", and leave out the key"
	}
	return &again
}

// variable is the environment variable for the key of the chosen provider.
func (g *guide) variable() string {
	if p, ok := firstrun.ProviderNamed(g.plan.Provider); ok && len(p.Variables) > 0 {
		return p.Variables[0]
	}
	return "OPENAI_API_KEY"
}
