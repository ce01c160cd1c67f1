package sandbox

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
	"github.com/ohgw/ohgw/internal/shellword"
)

// hostJSON is what can be said of a host.
type hostJSON struct {
	Kind  string     `json:"kind"`
	Host  string     `json:"host"`
	Ports []portJSON `json:"ports"`
	Leak  string     `json:"leak"`
	Allow []string   `json:"allow"`
}

// portJSON is what can be said of a port of a host.
type portJSON struct {
	Port    uint16 `json:"port"`
	Allowed bool   `json:"allowed"`
	Entry   string `json:"entry"` // that allows it
	From    string `json:"from"`  // who wrote the entry; empty: the user
	Why     string `json:"why"`   // of a refusal
}

func (h hostJSON) table() *kit.Table {
	var t kit.Table
	t.Add("host", h.Host)
	for _, p := range h.Ports {
		text := "refused: " + p.Why
		if p.Allowed {
			text = "allowed"
			switch {
			case p.Entry != "" && p.From != "":
				text += " by " + p.Entry + " (" + p.From + ")"
			case p.Entry != "":
				text += " by " + p.Entry
			}
		}
		t.Add("port "+strconv.Itoa(int(p.Port)), text)
	}
	if h.Leak != "" {
		t.Add("leak", h.Leak)
	}
	addCommands(&t, h.Allow)
	return &t
}

// explainHost says whether agents may connect to a host.
func (r *rules) explainHost(ctx context.Context, o *explainOptions) (explanation, error) {
	e, err := hostArg(o.What)
	if err != nil {
		return nil, err
	}
	tools, err := r.tools(o.App)
	if err != nil {
		return nil, err
	}
	defer tools.Asker.Close()
	done := o.TellLate("Asking the package managers of this machine for their hosts …")
	defer done()
	p, err := r.hosts(ctx, o.App, tools)
	if err != nil {
		return nil, err
	}
	h := hostJSON{Kind: "host", Host: e.Host.String(), Allow: []string{}}
	ports := []uint16{443, 80}
	if e.Port != 0 {
		ports = []uint16{e.Port}
	}
	for _, port := range ports {
		h.Ports = append(h.Ports, r.port(ctx, p, e.Host, port))
	}
	allowed := slices.ContainsFunc(h.Ports, func(p portJSON) bool { return p.Allowed })
	_, private := netpolicy.ParseGrant(e.String())
	switch {
	case allowed:
		h.Leak, err = r.leak(ctx, tools, e.Host, ports)
	case private == nil && r.settings.Network != manager.NoNetwork && !p.Decide(ctx, e.Host, ports[0]).Final:
		h.Allow = []string{"ohgw sandbox allow net " + shellword.Of(e.String())}
	}
	return h, err
}

// port says whether agents may connect to a port.
func (r *rules) port(ctx context.Context, p *netpolicy.Policy, h netpolicy.Host, port uint16) portJSON {
	out := portJSON{Port: port}
	if r.settings.Network == manager.NoNetwork {
		out.Why = "the network is off (sandbox.network.mode)"
		return out
	}
	d := p.Decide(ctx, h, port)
	_, err := netpolicy.ParseGrant(h.String())
	switch {
	case d.Allowed && (err == nil || len(d.Only) > 0):
		out.Allowed = true
		if e, ok := p.Match(h, port); ok {
			out.Entry, out.From = e.String(), e.From
		} else {
			out.From = "sandbox.network.mode"
		}
	case err != nil:
		out.Why = strings.TrimSuffix(err.Error(), ": write the address of a public host")
	default:
		out.Why = d.Why
	}
	return out
}

// leak says how data can leave through a host that a preset allows.
func (r *rules) leak(ctx context.Context, tools presets.Workspace, h netpolicy.Host, ports []uint16) (string, error) {
	var ways []string
	for _, name := range netpolicy.Presets() {
		why := presets.Leak(name)
		if why == "" || !r.presetAllowed(name) {
			continue
		}
		only, err := netpolicy.New(ctx, netpolicy.Config{Allow: []string{"@" + name}, Expand: tools.Expand})
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(ports, func(port uint16) bool { return only.Decide(ctx, h, port).Allowed }) {
			ways = append(ways, "@"+name+": "+why)
		}
	}
	return strings.Join(ways, "; "), nil
}

// presetAllowed reports whether the settings allow a preset, by itself or with others.
func (r *rules) presetAllowed(name string) bool {
	return slices.Contains(r.settings.Allow, "@"+name) ||
		name != "github" && (slices.Contains(r.settings.Allow, "@packages") || slices.Contains(r.settings.Allow, "@auto"))
}

// presetJSON is what can be said of a preset.
type presetJSON struct {
	Kind    string   `json:"kind"`
	Preset  string   `json:"preset"`
	Allowed bool     `json:"allowed"`
	Hosts   []string `json:"hosts"`
	Leak    string   `json:"leak"`
	Allow   []string `json:"allow"`
}

func (p presetJSON) table() *kit.Table {
	var t kit.Table
	t.Add("preset", p.Preset)
	t.Add("allowed", yesNo(p.Allowed))
	hosts := strings.Join(p.Hosts, " ")
	if hosts == "" {
		hosts = "none: its tools are not on this machine"
	}
	t.Add("hosts", hosts)
	if p.Leak != "" {
		t.Add("leak", p.Leak)
	}
	addCommands(&t, p.Allow)
	return &t
}

// explainPreset lists the hosts of a preset.
func (r *rules) explainPreset(ctx context.Context, o *explainOptions) (explanation, error) {
	e, err := netpolicy.ParseEntry(o.What)
	if err != nil {
		return nil, fault.NewUsage(err.Error(), "see ohgw sandbox explain --help")
	}
	tools, err := r.tools(o.App)
	if err != nil {
		return nil, err
	}
	defer tools.Asker.Close()
	done := o.TellLate("Asking the package managers of this machine for their hosts …")
	defer done()
	name := strings.TrimPrefix(e.Preset, "@")
	found, err := tools.Ask(ctx, name)
	if err != nil {
		return nil, fault.New("the hosts of "+e.Preset+" cannot be listed", "check the settings: ohgw config show", err)
	}
	for _, problem := range found.Problems {
		o.Note("warning: %s: %v", e.Preset, problem)
	}
	p := presetJSON{
		Kind: "preset", Preset: e.Preset, Hosts: []string{}, Allow: []string{}, Leak: presets.Leak(name),
		Allowed: r.settings.Network != manager.NoNetwork && (slices.Contains(r.settings.Allow, e.Preset) || r.presetAllowed(name)),
	}
	for _, entry := range found.Entries {
		p.Hosts = append(p.Hosts, entry.String())
	}
	slices.Sort(p.Hosts)
	p.Hosts = slices.Compact(p.Hosts)
	if !p.Allowed {
		p.Allow = []string{"ohgw serve --sandbox-net " + e.Preset}
	}
	return p, nil
}
