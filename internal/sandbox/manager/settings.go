// Package manager makes the boxes of conversations from what the user chose and
// granted, and knows what each of them refused.
package manager

import "github.com/ohgw/ohgw/internal/sandbox"

// Settings are what the user chose: the section [sandbox] of the config file, with
// the flags. Paths are absolute and exist.
type Settings struct {
	// Mode is On, or what the user says instead.
	Mode Mode
	// Minimum is the lowest level that is good enough: Full or Reduced.
	Minimum sandbox.Level
	OnBlock Reaction
	// GitOpen leaves the git files of workspaces without guards.
	GitOpen bool
	// Strict refuses what can carry data out: Encrypted ClientHello, and the presets
	// that say so.
	Strict bool

	Write   []string // more writable trees
	Read    []string // shown read-only, also in the home directory
	Hide    []string // shown as empty
	Protect []string // read-only in writable trees

	Network NetworkMode
	Allow   []string // entries as in `ohgw sandbox run --network`
	Deny    []string
	Local   []string // ports of this machine's loopback addresses

	Sockets   []string // ssh-agent, gpg-agent, docker, or a path
	Pass      []string // names of variables that programs get beside the usual ones
	Processes int      // at most; 0: 4096
	// For are the settings of single workspaces, by path: their lists are added, and
	// what else is set replaces.
	For map[string]Settings
}

// Mode says whether the agent is in a box.
type Mode string

// The modes.
const (
	On       Mode = "on"
	External Mode = "external" // the user vouches for a container or a virtual machine around ohgw
	Off      Mode = "off"
)

// Reaction is what happens when something is refused.
type Reaction string

// The reactions.
const (
	Report Reaction = "report" // the model and the person are told
	Ask    Reaction = "ask"    // the program waits for a grant, up to 60 s
	Silent Reaction = "silent" // only the model is told
)

// NetworkMode says how much of the network there is.
type NetworkMode string

// The modes of the network.
const (
	AllowList  NetworkMode = "allow-list"
	NoNetwork  NetworkMode = "off"
	AllNetwork NetworkMode = "open" // every public host
)
