package acp

import (
	"context"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/setup"
)

// workspace resolves the directory that a session names, as the gateway takes it, or
// refuses one in which its agent cannot work. It is empty for a gateway on another
// machine, which has files of its own.
func (g *opener) workspace(ctx context.Context, dir string) (string, error) {
	resolved, err := workdir.Resolve(dir)
	if err != nil {
		return "", fault.New("the directory of the editor cannot be used", "", err)
	}
	switch {
	case g.own != nil && !g.own.Backend.Status.SharesFiles, g.own == nil && !g.daemon.Local():
		g.log.Warn("the agent is on another machine, and works in a directory there", "editor", dir)
		return "", nil
	case g.own != nil && g.settings.Workspace == "":
		return resolved, nil
	case g.own != nil:
		return within(resolved, []string{g.settings.Workspace})
	}
	h := g.daemon.Health(ctx)
	if h.Workspace == nil {
		return "", fault.New("the daemon does not let this editor choose a directory", "restart it with ohgw stop and ohgw serve", nil)
	}
	if h.Workspace.Reason != "" {
		return "", fault.New("the agent cannot work in "+setup.Clean(dir)+": "+setup.Clean(h.Workspace.Reason), "", nil)
	}
	return within(resolved, h.Workspace.Choose)
}

// within returns dir if it is below one of the directories, and refuses it otherwise.
func within(dir string, roots []string) (string, error) {
	below := func(root string) bool {
		if root == workdir.Any {
			return true
		}
		if resolved, err := workdir.Resolve(root); err == nil {
			root = resolved
		}
		return subpath.Within(root, dir)
	}
	if slices.ContainsFunc(roots, below) {
		return dir, nil
	}
	return "", fault.New(fmt.Sprintf("this ohgw works in %s only, and not in %s", setup.Clean(roots[0]), setup.Clean(dir)), "restart it without --workspace", nil)
}

// confirmation is the confirmation mode of new conversations, and whether the
// editor may choose a lower one.
func (g *opener) confirmation(ctx context.Context) (mode gateway.Confirmation, lower bool) {
	if g.own == nil {
		h := g.daemon.Health(ctx)
		if h.Confirmation == nil {
			return "", true
		}
		return gateway.Confirmation(h.Confirmation.Mode), h.Confirmation.Lower || h.Confirmation.Mode == ""
	}
	if g.settings.Origin("confirm").Kind == config.FromDefault {
		return "", true
	}
	return gateway.Confirmation(g.settings.Confirm), true
}
