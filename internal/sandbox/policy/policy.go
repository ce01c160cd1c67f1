// Package policy says which files a box shows to the agent's programs.
//
// A policy is data: the daemon makes it, and the helper inside the new namespaces
// reads it as JSON. The package does not touch the disk. Invariant: what Check
// accepts cannot open the whole file system or the user's home directory.
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/subpath"
)

// Limits of a policy: more than this is a mistake, or an attack on the helper.
const (
	MaxSize  = 1 << 20 // bytes of JSON
	maxPaths = 4096    // in each list
)

// MaxPorts limits Ports: each is a socket in the one message that hands them over.
const MaxPorts = 8

// Policy is what a box shows. Each path is absolute, clean and has no symbolic
// link in it.
type Policy struct {
	// Reduced is a box without namespaces: paths are what they are outside, HomeAt is
	// Home, Tmp is not empty, and what is neither of the system nor in Read or a
	// writable tree cannot be read. Protect is empty.
	Reduced bool `json:"reduced,omitempty"`
	// UID and GID are those of the user, who is the same inside as outside.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Workspace is where the agent works, at its own path. It is writable, unless Read
	// has it and Write does not.
	Workspace string `json:"workspace"`
	// Home is a directory of the box alone. It is shown at HomeAt, writable.
	Home   string `json:"home"`
	HomeAt string `json:"home_at"`
	// Tmp is shown as /tmp and as /var/tmp. If it is empty, these are in memory.
	Tmp string `json:"tmp,omitempty"`
	// Write are more writable trees, each at its own path.
	Write []string `json:"write,omitempty"`
	// Read are shown read-only at their own paths, also below what is hidden.
	Read []string `json:"read,omitempty"`
	// Links are symbolic links below /run, which the box has for itself.
	Links []Link `json:"links,omitempty"`
	// Hide are shown as empty. One that does not exist is ignored.
	Hide []string `json:"hide,omitempty"`
	// Protect are files and directories of a writable tree that are read-only, and
	// can neither be moved nor removed, nor can the directories above them.
	Protect []string `json:"protect,omitempty"`
	// Network makes the sockets by which the daemon answers for the network. There
	// is never a route out of the box.
	Network bool `json:"network,omitempty"`
	// Ports are more ports at which connections by name are taken, beside 22, 80 and
	// 443. Programs in the box cannot listen on them.
	Ports []int `json:"ports,omitempty"`
	// Processes limits how many processes and threads there are; 0 means that
	// there is no limit.
	Processes int `json:"processes,omitempty"`
	// GitConfig is the content of .gitconfig in the home directory.
	GitConfig string `json:"git_config,omitempty"`
}

// Link is a symbolic link.
type Link struct {
	At string `json:"at"`
	To string `json:"to"`
}

// Parse reads a policy and checks it. A field that is not known is an error: an
// older helper would not enforce it.
func Parse(data []byte) (*Policy, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("policy: %d bytes are more than %d", len(data), MaxSize)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	p := &Policy{}
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("policy: there is something after it")
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Check reports what is wrong with a policy.
func (p *Policy) Check() error {
	for _, required := range []struct{ name, path string }{{"workspace", p.Workspace}, {"home", p.Home}, {"home_at", p.HomeAt}} {
		if err := checkPath(required.name, required.path); err != nil {
			return err
		}
	}
	if p.Tmp != "" {
		if err := checkPath("tmp", p.Tmp); err != nil {
			return err
		}
	}
	for _, number := range []struct {
		name  string
		value int
	}{{"uid", p.UID}, {"gid", p.GID}, {"processes", p.Processes}} {
		if number.value < 0 || number.value > math.MaxInt32 {
			return fmt.Errorf("policy: %s: %d is out of range", number.name, number.value)
		}
	}
	if len(p.Ports) > MaxPorts {
		return fmt.Errorf("policy: ports: %d are more than %d", len(p.Ports), MaxPorts)
	}
	for _, port := range p.Ports {
		if port < 1 || port > math.MaxUint16 {
			return fmt.Errorf("policy: ports: %d is out of range", port)
		}
	}
	for _, list := range []struct {
		name  string
		paths []string
	}{{"write", p.Write}, {"read", p.Read}, {"hide", p.Hide}, {"protect", p.Protect}} {
		if err := checkPaths(list.name, list.paths); err != nil {
			return err
		}
	}
	return errors.Join(p.checkLinks(), p.checkReduced(), p.checkWritable())
}

func (p *Policy) checkLinks() error {
	if len(p.Links) > maxPaths {
		return fmt.Errorf("policy: links: %d are more than %d", len(p.Links), maxPaths)
	}
	for _, link := range p.Links {
		if err := checkPath("links", link.At); err != nil {
			return err
		}
		if link.At == "/run" || !subpath.Within("/run", link.At) || link.To == "" || strings.ContainsRune(link.To, 0) {
			return fmt.Errorf("policy: links: %q is not a link below /run", link.At)
		}
	}
	return nil
}

func (p *Policy) checkReduced() error {
	if p.Reduced && (p.HomeAt != p.Home || p.Tmp == "" || len(p.Protect) > 0) {
		return errors.New("policy: reduced: it needs its home directory where it is, a directory for temporary files, and no mounts")
	}
	return nil
}

func checkPaths(name string, paths []string) error {
	if len(paths) > maxPaths {
		return fmt.Errorf("policy: %s: %d paths are more than %d", name, len(paths), maxPaths)
	}
	for _, at := range paths {
		if err := checkPath(name, at); err != nil {
			return err
		}
	}
	return nil
}

func checkPath(name, at string) error {
	switch {
	case at == "":
		return fmt.Errorf("policy: %s is missing", name)
	case strings.ContainsRune(at, 0):
		return fmt.Errorf("policy: %s: %q has a zero byte", name, at)
	case !path.IsAbs(at) || path.Clean(at) != at:
		return fmt.Errorf("policy: %s: %q is not an absolute, clean path", name, at)
	case at == "/":
		return fmt.Errorf("policy: %s: the root directory would open everything", name)
	}
	return nil
}

// system are the trees that programs of the whole system are in: none of them may
// be written, and what the box has of its own is there.
var system = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/Library", "/System", "/private/etc",
}

// systemRoots are directories that hold the trees of everybody.
var systemRoots = []string{
	"/home", "/mnt", "/media", "/opt", "/srv", "/tmp", "/var", "/var/lib", "/var/tmp",
	"/Applications", "/Users", "/Volumes", "/private", "/private/tmp", "/private/var", "/private/var/tmp",
}

// OfSystem reports whether a directory or a file belongs to the whole system, so
// that no policy may make it writable.
func OfSystem(at string) bool {
	return at == "/" || slices.ContainsFunc(system, func(dir string) bool { return subpath.Within(dir, at) }) || slices.Contains(systemRoots, at)
}

func (p *Policy) checkWritable() error {
	for _, tree := range append([]string{p.Workspace, p.Home}, p.Write...) {
		if OfSystem(tree) {
			return fmt.Errorf("policy: %s belongs to the system and cannot be writable", tree)
		}
	}
	for _, tree := range append([]string{p.Workspace}, p.Write...) {
		if tree != p.Home && subpath.Within(tree, p.HomeAt) {
			return fmt.Errorf("policy: the writable directory %s contains the home directory %s", tree, p.HomeAt)
		}
		if subpath.Within(tree, p.Home) {
			return fmt.Errorf("policy: the writable directory %s contains the box's own files in %s", tree, p.Home)
		}
	}
	if slices.Contains(system, p.HomeAt) && p.HomeAt != "/run" || slices.Contains(systemRoots, p.HomeAt) {
		return fmt.Errorf("policy: %s cannot be a home directory", p.HomeAt)
	}
	for _, at := range p.Protect {
		if _, ok := p.Tree(at); !ok {
			return fmt.Errorf("policy: protect: %s is not in a writable directory", at)
		}
	}
	return nil
}

// Trees are the trees that programs in the box write to.
func (p *Policy) Trees() []string {
	trees := append([]string{p.Workspace, p.Home, p.Tmp}, p.Write...)
	if slices.Contains(p.Read, p.Workspace) && !slices.Contains(p.Write, p.Workspace) {
		return trees[1:]
	}
	return trees
}

// Tree is the innermost writable tree, other than the home directory, that has a
// path in it.
func (p *Policy) Tree(at string) (tree string, ok bool) {
	for _, candidate := range append([]string{p.Workspace}, p.Write...) {
		if subpath.Within(candidate, at) && len(candidate) > len(tree) {
			tree, ok = candidate, true
		}
	}
	return tree, ok
}

// Pins are the directories between the writable trees and what is protected in
// them, the outer ones first. Each has to be a mount: then none can be moved aside
// together with what is in it.
func (p *Policy) Pins() []string {
	var pins []string
	for _, at := range p.Protect {
		tree, ok := p.Tree(at)
		if !ok {
			continue // Check refuses it.
		}
		for dir := path.Dir(at); len(dir) > len(tree); dir = path.Dir(dir) {
			pins = append(pins, dir)
		}
	}
	slices.Sort(pins)
	return slices.Compact(pins)
}
