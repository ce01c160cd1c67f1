package sandbox

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// rules are what holds for agents in the current directory: the settings, and what
// was granted everywhere or for this workspace.
type rules struct {
	workspace string
	all       *config.Settings
	settings  manager.Settings
	store     *grants.Store
	granted   []grants.Grant
	notes     string // the directory of the user's notes, which agents see; "" for none
}

func newRules(a *kit.App) (r rules, err error) {
	if r.workspace, err = a.Getwd(); err == nil {
		r.workspace, err = workdir.Resolve(r.workspace)
	}
	if err != nil {
		return r, fault.New("the current directory is unknown", "go to the directory of one project: cd DIRECTORY", err)
	}
	if r.all, err = a.Settings(nil); err != nil {
		return r, err
	}
	if r.settings, err = sandboxes.Settings(a.Setup(), r.all, r.workspace); err != nil {
		return r, err
	}
	if r.store, err = store(a); err != nil {
		return r, err
	}
	r.granted, err = r.store.For(r.workspace, "")
	return r, grantFault(err)
}

// grantOf is the grant of a target, if there is one.
func (r *rules) grantOf(access sandbox.Access, target string) (grants.Grant, bool) {
	i := slices.IndexFunc(r.granted, func(g grants.Grant) bool { return g.Access == access && g.Target == target })
	if i < 0 {
		return grants.Grant{}, false
	}
	return r.granted[i], true
}

// plan makes the policy for files, and the environment that goes with it.
func (r *rules) plan(ctx context.Context, a *kit.App) (policy.Policy, []string, error) {
	p, env, err := plan(ctx, a, r.workspace)
	if err != nil {
		return p, nil, err
	}
	p.Write = slices.Concat(p.Write, r.settings.Write, grants.Targets(r.granted, sandbox.Write))
	p.Read = slices.Concat(p.Read, r.settings.Read, grants.Targets(r.granted, sandbox.Read))
	p.Hide = append(p.Hide, r.settings.Hide...)
	for _, at := range r.settings.Protect {
		if _, ok := p.Tree(at); ok { // the others are read-only anyway
			p.Protect = append(p.Protect, at)
		}
	}
	return p, env, nil
}

// files adds to the policy what every box has, and the notes of agents.
func (r *rules) files(ctx context.Context, a *kit.App) (policy.Policy, error) {
	p, _, err := r.plan(ctx, a)
	if err != nil {
		return p, err
	}
	if r.notes = sandboxes.Notes(a.Setup()); r.notes != "" {
		p.Write = append(p.Write, r.notes)
	}
	p, err = boxes.Complete(boxes.Config{Policy: p, GitOpen: r.settings.GitOpen})
	if err != nil {
		return p, fault.New("the sandbox cannot be set up", "check the settings: ohgw config show", err)
	}
	return p, nil
}

// tools asks the package managers. Close its Asker.
func (r *rules) tools(a *kit.App) (presets.Workspace, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return presets.Workspace{}, err
	}
	if err := os.MkdirAll(dirs.State, 0o700); err != nil {
		return presets.Workspace{}, fmt.Errorf("make the state directory: %w", err)
	}
	asker := presets.New(presets.Config{Getenv: a.Getenv, Home: dirs.Home, Dir: dirs.State})
	return presets.Workspace{Asker: asker, Dirs: []string{r.workspace}, Strict: r.settings.Strict}, nil
}

// hosts makes the policy for the network.
func (r *rules) hosts(ctx context.Context, a *kit.App, tools presets.Workspace) (*netpolicy.Policy, error) {
	expand := func(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
		found, err := tools.Ask(ctx, preset)
		for _, problem := range found.Problems {
			a.Note("warning: @%s: %v", preset, problem)
		}
		return found.Entries, err
	}
	p, err := netpolicy.New(ctx, netpolicy.Config{
		Allow: r.settings.Allow, Deny: r.settings.Deny, Local: r.settings.Local, Reserved: setup.ReservedPorts(r.all),
		Open: r.settings.Network == manager.AllNetwork, Expand: expand,
	})
	if err != nil {
		return nil, fault.New("the hosts of the settings cannot be listed", "check the settings: ohgw config show", err)
	}
	for _, target := range grants.Targets(r.granted, sandbox.Network) {
		if err := p.Grant(target); err != nil {
			return nil, err
		}
	}
	return p, nil
}
