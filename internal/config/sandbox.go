package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/suggest"
)

// Sandbox is what the embedded agent's programs may do. Its paths are absolute, or
// begin with "~/"; whether they exist is not known here. In the table of a
// workspace, what is empty is not set.
type Sandbox struct {
	Mode    string // on, external, off
	Minimum string // full, reduced
	OnBlock string // report, ask, silent
	Git     string // guarded, open
	Strict  bool

	Write   []string // more writable directories
	Read    []string // shown read-only
	Hide    []string // shown as empty
	Protect []string // read-only in writable directories

	Network string   // allow-list, off, open
	Allow   []string // entries of internal/sandbox/netpolicy, in their canonical form
	Deny    []string
	Local   []string // ports of this machine's loopback addresses, in decimal

	Sockets   []string // ssh-agent, gpg-agent, docker, or a path
	Pass      []string // names of variables
	Processes int
}

// sandboxPrefix begins the key of each setting of the sandbox.
const sandboxPrefix = "sandbox."

// Words of settings of the sandbox.
const (
	networkFlag   = "sandbox-net"
	noNetwork     = "off"
	anyNetwork    = "open"
	networkKey    = "sandbox.network.mode"
	networkEnv    = "OHGW_SANDBOX_NETWORK_MODE"
	allowList     = "allow-list"
	homeDirectory = "~"
)

// sockets are those that have a name.
var sockets = []string{"ssh-agent", "gpg-agent", "docker"}

// sandboxFields lists the settings of the sandbox. All but the whole ones can also be
// set for one workspace. The flags of lists add to what the other sources say.
func sandboxFields() []Field { //nolint:funlen // A table is as long as it is.
	return []Field{
		{
			Flag: "sandbox", Env: "OHGW_SANDBOX_MODE", Key: "sandbox.mode", Section: SandboxSection,
			Help: "run the embedded agent's programs in a sandbox; external says that ohgw itself runs in a container or a virtual machine", Choices: []string{"on", "external", "off"}, whole: true,
			at: func(c *Config) any { return &c.Sandbox.Mode },
		},
		{
			Flag: "sandbox-require", Env: "OHGW_SANDBOX_REQUIRE", Key: "sandbox.minimum", Section: SandboxSection,
			Help: "refuse to run agents in a weaker sandbox than this", Choices: []string{"full", "reduced"}, whole: true,
			at: func(c *Config) any { return &c.Sandbox.Minimum },
		},
		{
			Env: "OHGW_SANDBOX_ON_BLOCK", Key: "sandbox.on_block", Section: SandboxSection,
			Help: "who learns of a refused access: report tells you and the agent, ask waits for your answer, silent tells the agent only", Choices: []string{"report", "ask", "silent"},
			at: func(c *Config) any { return &c.Sandbox.OnBlock },
		},
		{
			Env: "OHGW_SANDBOX_GIT", Key: "sandbox.git", Section: SandboxSection,
			Help: "whether the agent may change the hooks and settings of git repositories", Choices: []string{"guarded", "open"},
			at: func(c *Config) any { return &c.Sandbox.Git },
		},
		{
			Env: "OHGW_SANDBOX_STRICT", Key: "sandbox.strict", Section: SandboxSection,
			Help: "refuse encrypted server names and the presets by which data can leave",
			at:   func(c *Config) any { return &c.Sandbox.Strict },
		},
		{
			Flag: "sandbox-write", Env: "OHGW_SANDBOX_WRITE", Key: "sandbox.files.write", Arg: "DIR", Section: SandboxSection,
			Help: "also let agents write in this directory", adds: true, path: true, tilde: true, check: checkPlace,
			at: func(c *Config) any { return &c.Sandbox.Write },
		},
		{
			Flag: "sandbox-read", Env: "OHGW_SANDBOX_READ", Key: "sandbox.files.read", Arg: "PATH", Section: SandboxSection,
			Help: "also show agents this file or directory of your home directory, read-only", adds: true, path: true, tilde: true, check: checkPlace,
			at: func(c *Config) any { return &c.Sandbox.Read },
		},
		{
			Env: "OHGW_SANDBOX_HIDE", Key: "sandbox.files.hide", Arg: "PATH", Section: SandboxSection,
			Help: "do not show agents what is in this file or directory", path: true, tilde: true, check: checkPlace,
			at: func(c *Config) any { return &c.Sandbox.Hide },
		},
		{
			Env: "OHGW_SANDBOX_PROTECT", Key: "sandbox.files.protect", Arg: "PATH", Section: SandboxSection,
			Help: "keep this file or directory read-only, also in a writable directory", path: true, tilde: true, check: checkPlace,
			at: func(c *Config) any { return &c.Sandbox.Protect },
		},
		{
			Env: networkEnv, Key: networkKey, Section: SandboxSection,
			Help: "what the sandbox reaches: the allowed hosts, nothing, or every public host", Choices: []string{allowList, noNetwork, anyNetwork},
			shared: networkFlag, takes: isNetworkMode,
			at: func(c *Config) any { return &c.Sandbox.Network },
		},
		{
			Flag: networkFlag, Env: "OHGW_SANDBOX_NET", Key: "sandbox.network.allow", Arg: "HOST", Section: SandboxSection, Words: networkWords(),
			Help: "also let agents reach this host: NAME, *.NAME, NAME:PORT or @PRESET; as a flag also off or open, for nothing or every public host", adds: true, check: checkEntry,
			takes: func(text string) bool { return !isNetworkMode(text) },
			at:    func(c *Config) any { return &c.Sandbox.Allow },
		},
		{
			Env: "OHGW_SANDBOX_DENY", Key: "sandbox.network.deny", Arg: "HOST", Section: SandboxSection,
			Help: "never let agents reach this host", check: checkEntry,
			at: func(c *Config) any { return &c.Sandbox.Deny },
		},
		{
			Env: "OHGW_SANDBOX_LOCAL", Key: "sandbox.network.local", Arg: "PORT", Section: SandboxSection,
			Help: "let agents reach this port of this machine, such as 5432 of a database", check: checkPort,
			at: func(c *Config) any { return &c.Sandbox.Local },
		},
		{
			Flag: "sandbox-socket", Env: "OHGW_SANDBOX_SOCKET", Key: "sandbox.sockets.allow", Arg: "NAME", Section: SandboxSection, Words: sockets,
			Help: "let agents use this Unix socket: ssh-agent, gpg-agent, docker or a path; docker gives them your rights", adds: true, check: checkSocket,
			at: func(c *Config) any { return &c.Sandbox.Sockets },
		},
		{
			Env: "OHGW_SANDBOX_PASS", Key: "sandbox.env.pass", Arg: "NAME", Section: SandboxSection,
			Help: "pass this environment variable to the agent's programs", check: checkVariable,
			at: func(c *Config) any { return &c.Sandbox.Pass },
		},
		{
			Env: "OHGW_SANDBOX_PROCESSES", Key: "sandbox.limits.processes", Arg: "N", Section: SandboxSection,
			Help: "how many processes and threads a conversation may have", min: 1,
			at: func(c *Config) any { return &c.Sandbox.Processes },
		},
	}
}

// errSaid marks an error that shows of the value what may be shown.
var errSaid = errors.New("see above")

// saidError is an error for which the value is not shown again.
type saidError struct{ text string }

func (e saidError) Error() string        { return e.text }
func (e saidError) Is(target error) bool { return target == errSaid }

// networkWords are values of --sandbox-net that need no knowledge of hosts.
func networkWords() []string {
	words := []string{noNetwork, anyNetwork}
	for _, name := range netpolicy.Presets() {
		words = append(words, "@"+name)
	}
	return words
}

func isNetworkMode(text string) bool { return text == noNetwork || text == anyNetwork }

// checkEntry takes an entry of the allow list or the deny list.
func checkEntry(s string) (string, error) {
	if word := strings.ToLower(s); isNetworkMode(word) || word == allowList || word == "on" {
		return "", saidError{fmt.Sprintf("%q is not a host; the mode of the network is %s", s, networkKey)}
	}
	e, err := netpolicy.ParseEntry(s)
	if err != nil {
		return "", saidError{err.Error()}
	}
	return e.String(), nil
}

// checkPort takes a port as it is written in an entry.
func checkPort(s string) (string, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return "", saidError{netpolicy.Quote(s) + ` is not a port: write a number from 1 to 65535 in quotes, such as "5432"`}
	}
	return s, nil
}

// checkPlace takes a path that is absolute or begins with "~/".
func checkPlace(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", saidError{netpolicy.Quote(s) + " is not a path: write one such as /srv/data or ~/notes"}
	}
	return s, nil
}

// checkSocket takes the name of a socket, or a path that is absolute or begins
// with "~/".
func checkSocket(s string) (string, error) {
	if slices.Contains(sockets, s) {
		return s, nil
	}
	if filepath.IsAbs(s) || strings.HasPrefix(s, homeDirectory+"/") {
		return checkPlace(s)
	}
	hint := "write " + oneOf(append(slices.Clone(sockets), "the full path of a socket"))
	if near := suggest.Nearest(s, sockets); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return "", saidError{netpolicy.Quote(s) + " is not a socket: " + hint}
}

// checkVariable takes the name of a variable.
func checkVariable(s string) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	name, _, value := strings.Cut(s, "=")
	switch {
	case value && name != "":
		return "", saidError{"an entry has a value: write the name of the variable alone, without ="}
	case s == "" || strings.Trim(s, letters+"0123456789") != "" || !strings.ContainsAny(s[:1], letters):
		return "", saidError{netpolicy.Quote(s) + " is not the name of a variable: write one such as NODE_OPTIONS"}
	case strings.HasPrefix(s, "OHGW_") || strings.HasPrefix(s, "OH_"):
		return "", saidError{s + " is a variable of ohgw or OpenHands, which can have their keys: pass another one"}
	}
	return s, nil
}

// checkNetworkFlag refuses values of --sandbox-net that would have no effect.
func (s *Settings) checkNetworkFlag(given []string) error {
	hosts := slices.DeleteFunc(slices.Clone(given), isNetworkMode)
	switch {
	case slices.Contains(given, noNetwork) && len(slices.Compact(slices.Sorted(slices.Values(given)))) > 1:
		return usage("--"+networkFlag+" off excludes all hosts", "remove --"+networkFlag+" off, or the others")
	case len(hosts) > 0 && s.Sandbox.Network == noNetwork:
		return usage("--"+networkFlag+" "+hosts[0]+" has no effect: "+s.SourceOf(networkKey, "")+" is off",
			"set "+networkKey+" to "+allowList+", or remove --"+networkFlag)
	}
	return nil
}
