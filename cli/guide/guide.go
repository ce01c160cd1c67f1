// Package guide leads a person to an LLM profile that works: it offers what is
// on this machine and the providers, asks for the key and the model, tries them,
// and stores the profile. The commands that need a profile share it.
//
// What it asks for and a flag has given is not asked. Without a terminal,
// nothing is asked, and what is missing is an error. What it offers, checks and
// stores is in setup/firstrun.
package guide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// Options are what is known of the profile, and how it is stored. The zero value
// of a field is: not given.
type Options struct {
	*kit.App

	KeyFlags    kit.SettingFlags // which key store
	LockTimeout time.Duration

	Name     string // of the profile; without one, one is proposed
	Provider string
	Model    string
	BaseURL  string
	KeyFrom  string // "env:NAME", "stdin", or a file

	NoCheck bool // do not ask the model
	Use     bool // make it the active profile, whatever is active
	Replace bool // there may be a profile of that name
	Chat    bool // a chat follows: an agent-server and the demo are offers, too
}

// Outcome is what came of the questions.
type Outcome struct {
	Name string // of the profile that was stored; "" if none was needed
	firstrun.Saved

	Store *setup.KeyStore
	Demo  bool // the demo was chosen
}

// guide is one run of the questions.
type guide struct {
	*Options

	setup    *firstrun.Setup
	store    *profile.Store
	storeErr error // why the key store cannot be used
	found    firstrun.Found

	plan       firstrun.Plan
	compatible bool // the provider is a server that only the user knows
	agents     bool // an agent-server was chosen
	demo       bool
	keyDone    bool // the key is there, or there is none
	ownKey     bool // another key than the one that is found is to be typed
	models     []string
	abilities  map[string]firstrun.Ability
	listed     bool // models were asked for
	asked      bool // for the model
	tried      bool // the model was asked, or is not to be asked
}

// Run asks for what the options do not say, tries the model, and stores the
// profile.
func Run(ctx context.Context, o *Options) (Outcome, error) {
	g := &guide{Options: o}
	if err := g.open(ctx); err != nil {
		return Outcome{}, err
	}
	if o.CanAsk() {
		if err := g.ask(ctx); err != nil {
			return Outcome{}, err
		}
	} else if err := g.fill(ctx); err != nil {
		return Outcome{}, err
	}
	if g.agents {
		if err := firstrun.ChooseServer(ctx, g.Setup(), g.found.AgentServer); err != nil {
			g.Note("warning: your choice was not stored, so you will be asked again: %v", err)
		}
		return Outcome{}, nil
	}
	if g.demo {
		return Outcome{Demo: true}, nil
	}
	return g.save(ctx)
}

// open opens the stores, and looks whether keys can be kept, before anything is
// asked.
func (g *guide) open(ctx context.Context) (err error) {
	if err := g.check(); err != nil {
		return err
	}
	if g.store, err = g.Setup().ProfileStore(g.LockTimeout); err != nil {
		return err
	}
	if g.Name != "" {
		if _, err := profile.CleanName(g.Name); err != nil {
			return g.Setup().ProfileFault(ctx, profile.ErrName, g.Name)
		}
		names, err := g.store.Names()
		g.plan.Stored = err == nil && slices.Contains(names, g.Name)
		if g.plan.Stored && !g.Replace {
			return g.Setup().ProfileFault(ctx, profile.ErrExists, g.Name)
		}
	}
	keys, err := g.KeyStore(g.KeyFlags)
	if err != nil {
		return err
	}
	g.setup = firstrun.New(g.Setup(), g.store, keys, modelcheck.DefaultTimeout)
	if g.CanAsk() {
		g.storeErr = g.Setup().Reach(ctx, keys)
	}
	return ctx.Err()
}

// check looks at what the flags say, and begins the plan with it.
func (g *guide) check() error {
	g.plan = firstrun.Plan{Name: g.Name, Provider: g.Provider, Model: g.Model, BaseURL: g.BaseURL}
	if err := firstrun.CheckBaseURL(g.BaseURL); err != nil {
		return err
	}
	if g.Provider != "" {
		if err := firstrun.CheckProvider(g.Provider); err != nil {
			return err
		}
	}
	if g.Model != "" {
		if err := firstrun.CheckModel(g.plan.FullModel(), g.BaseURL); err != nil {
			return err
		}
	}
	if prefix, rest, found := strings.Cut(g.Model, "/"); found && g.Provider == "" {
		if _, known := firstrun.ProviderNamed(prefix); known {
			g.plan.Provider, g.plan.Model = prefix, rest
		}
	}
	g.tried = g.NoCheck
	return nil
}

// fill completes the plan without a person.
func (g *guide) fill(ctx context.Context) error {
	if g.plan.Model == "" {
		return g.noModel(ctx)
	}
	if err := g.baseOfEnvironment(); err != nil {
		return err
	}
	key, err := g.readKey(ctx)
	if err != nil {
		return err
	}
	if g.plan.Key = key; !key.IsZero() {
		if err := g.Setup().Reach(ctx, g.setup.KeyStore()); err != nil {
			return StoreFault(err, g.plan.Provider)
		}
	}
	if err := g.setup.PlanElsewhere(ctx, g.plan); err != nil {
		return err
	}
	if g.tried || !g.canTry(ctx) {
		return nil
	}
	done := g.TellLate(fmt.Sprintf("asking %s for one word, for up to %s", setup.Clean(g.plan.FullModel()), patience(g.setup.Patience(g.plan))))
	r, err := g.setup.Try(ctx, g.plan, g.loads)
	done()
	if err != nil {
		return g.fault(ctx, err)
	}
	if r.Outcome == modelcheck.Answered || r.Outcome == modelcheck.NotAsked {
		return ctx.Err()
	}
	return &fault.Error{
		Msg:  "the profile was not added: " + r.Model + " does not answer: " + r.Text,
		Hint: "correct the flags, or add the profile without asking the model: --no-check", Code: r.Outcome.Code(),
	}
}

// noModel says that the model is missing. A key in the environment is named, if no
// provider was chosen.
func (g *guide) noModel(ctx context.Context) error {
	hint := "pass --model or --from-file"
	settings, err := g.Settings(g.KeyFlags)
	if err == nil && g.plan.Provider == "" && g.plan.BaseURL == "" {
		if variable, command := firstrun.FromEnvironment(ctx, g.Setup(), settings); command != "" {
			hint += "; or with the key in " + variable + ": " + command
		}
	}
	return fault.NewUsage("the model is missing, and there is no terminal to ask on", hint)
}

// baseOfEnvironment gives the plan the base URL that a variable has for its provider. It is
// stored with the profile, whose key is for its host only.
func (g *guide) baseOfEnvironment() error {
	if g.plan.BaseURL != "" || g.plan.From != nil || g.compatible {
		return nil
	}
	variable, base := firstrun.BaseFromEnvironment(g.Setup(), g.plan)
	if base == "" {
		return nil
	}
	settings, err := g.Settings(g.KeyFlags)
	if err != nil {
		return err
	}
	if err := firstrun.CheckEnvironmentBase(settings, variable, base); err != nil {
		return err
	}
	g.plan.BaseURL = base
	g.Note("Base URL: %s, from the variable %s", setup.Clean(base), variable)
	return nil
}

// hasKey reports whether the model can be asked: there is a key, or none is
// needed.
func (g *guide) hasKey(ctx context.Context) bool {
	return !g.plan.Key.IsZero() || g.setup.KeyOrigin(ctx, g.plan).Kind != secret.FromNowhere
}

// canTry reports whether the model can be asked now.
func (g *guide) canTry(ctx context.Context) bool {
	provider, _ := firstrun.ProviderNamed(g.plan.Provider)
	return provider.Keyless || setup.OnThisMachine(g.plan.BaseURL) || g.hasKey(ctx)
}

// save stores the plan.
func (g *guide) save(ctx context.Context) (Outcome, error) {
	if g.plan.Name == "" {
		g.plan.Name = g.setup.FreeName(g.proposedName())
	}
	out := Outcome{Name: g.plan.Name, Store: g.setup.KeyStore()}
	var err error
	out.Saved, err = g.setup.Save(ctx, g.plan.Name, g.plan.Draft(), firstrun.SaveOptions{Replace: g.Replace, Use: g.Use})
	return out, SaveFault(ctx, g.App, out, err)
}

// SaveFault explains why a profile was not stored, or not all of it.
func SaveFault(ctx context.Context, a *kit.App, out Outcome, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !out.Added:
		return AddFault(ctx, a, err, out.Name)
	}
	code, cause := fault.Partly, err
	hint := "ohgw profiles use " + out.Name
	msg := "the profile \"" + out.Name + "\" was added, but it is not the active one"
	if f, ok := errors.AsType[*fault.Error](err); ok {
		cause, code = f, f.Code
		msg, hint = "the profile \""+out.Name+"\" was added, but its key was not stored", "ohgw keys set "+out.Name
	}
	return &fault.Error{Msg: msg, Hint: hint, Code: code, Err: cause}
}

// AddFault says why a profile was not added.
func AddFault(ctx context.Context, a *kit.App, err error, name string) error {
	if e, ok := errors.AsType[*profile.EntryError](err); ok {
		return fault.NewUsage("OpenHands does not accept this profile: "+e.Error(), "correct the model or the base URL")
	}
	if e, ok := errors.AsType[*shape.FieldError](err); ok {
		return fault.NewUsage("OpenHands does not accept this profile: the value of "+e.Field+" is not valid", "correct or remove it")
	}
	return a.Setup().ProfileFault(ctx, err, name)
}

func (g *guide) fault(ctx context.Context, err error) error {
	return AddFault(ctx, g.App, err, g.plan.Name)
}

// Tell says what was stored, and what to type next.
func (o *Outcome) Tell(a *kit.App) {
	if o.Name == "" {
		return
	}
	if o.Active {
		a.Note("The profile %q was added and is active.", o.Name)
	} else {
		a.Note("The profile %q was added.", o.Name)
	}
	for _, k := range o.Keys {
		a.SayKept(o.Store, k.Entry, k.Key, k.Action)
	}
}
