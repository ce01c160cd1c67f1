package sandboxes

import (
	"context"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
	"github.com/ohgw/ohgw/setup"
)

// checkNetwork reports an entry of a table that can never have an effect, or that
// strict mode refuses. For the general table, one and workspace are empty.
func (r *sandboxReader) checkNetwork(all, one config.Sandbox, workspace string) error {
	here := one
	if workspace == "" {
		here = all
	}
	for _, list := range []struct {
		key   string
		items []string
		as    func(item string) netpolicy.Config
	}{
		{"sandbox.network.allow", here.Allow, func(item string) netpolicy.Config { return netpolicy.Config{Allow: []string{item}} }},
		{"sandbox.network.deny", here.Deny, func(item string) netpolicy.Config { return netpolicy.Config{Deny: []string{item}} }},
		{"sandbox.network.local", here.Local, func(item string) netpolicy.Config { return netpolicy.Config{Local: []string{item}} }},
	} {
		for _, item := range list.items {
			c := list.as(item)
			c.Reserved = setup.ReservedPorts(r.settings)
			c.Expand = func(context.Context, string) ([]netpolicy.Entry, error) { return nil, nil } // no look-up yet
			if _, err := netpolicy.New(context.Background(), c); err != nil {
				return invalidSandbox(r.name(workspace, list.key, item), err.Error())
			}
		}
	}
	if all.Strict || one.Strict {
		return r.checkStrict(all, one, workspace)
	}
	return nil
}

// checkStrict refuses what strict mode excludes.
func (r *sandboxReader) checkStrict(all, one config.Sandbox, workspace string) error {
	for _, table := range []struct {
		config.Sandbox
		workspace string
	}{{all, ""}, {one, workspace}} {
		if table.Network == "open" {
			return invalidSandbox(r.name(table.workspace, "sandbox.network.mode", "")+` is "open", and sandbox.strict is true`, `use "allow-list" or "off"`)
		}
		for _, item := range table.Allow {
			preset, _ := strings.CutPrefix(item, "@")
			if why := presets.Leak(preset); why != "" && preset != item && slices.Contains(netpolicy.Presets(), preset) {
				return invalidSandbox(r.name(table.workspace, "sandbox.network.allow", item)+" has "+item+", which sandbox.strict refuses: "+why, "write single hosts")
			}
		}
	}
	return nil
}
