// Package grants stores what the user has allowed agents in a sandbox beyond the
// settings: hosts, paths and sockets, each for everything, one workspace or one
// conversation.
//
// The grants are a file in ohgw's state directory, which no sandbox shows. Other
// processes change it while a daemon runs, and each decision reads the file as it
// is. Invariants: a file that cannot be read grants nothing and is an error; what
// can be granted never opens the whole file system, the home directory, or
// directories of ohgw and OpenHands.
package grants

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Grant is one thing that is allowed. Without a workspace and a conversation it is
// allowed everywhere; it has at most one of them.
type Grant struct {
	Access sandbox.Access `json:"access"`
	// Target is in its one canonical spelling: an absolute path without symbolic
	// links; a host as netpolicy.Entry writes it; the path of a socket or one of
	// Sockets.
	Target string `json:"target"`
	// Workspace is the absolute path of a directory without symbolic links.
	Workspace string `json:"workspace,omitempty"`
	// Conversation is a UUID.
	Conversation string    `json:"conversation,omitempty"`
	Created      time.Time `json:"created"`
}

// Scope is where a grant holds, in words.
func (g Grant) Scope() string {
	switch {
	case g.Conversation != "":
		return "conversation " + g.Conversation
	case g.Workspace != "":
		return g.Workspace
	}
	return "everywhere"
}

// Same reports whether two grants allow the same at the same place.
func (g Grant) Same(other Grant) bool {
	g.Created = other.Created
	return g == other
}

// holds reports whether a grant is for a conversation in a workspace.
func (g Grant) holds(workspace, conversation string) bool {
	return (g.Workspace == "" || g.Workspace == workspace) && (g.Conversation == "" || g.Conversation == conversation)
}

// sockets are the services whose sockets are granted by name.
var sockets = []string{"ssh-agent", "gpg-agent", "docker"}

// Sockets lists the services whose sockets are granted by name.
func Sockets() []string { return slices.Clone(sockets) }

// check reports what is wrong with a grant that was stored, as far as that does not
// depend on this machine.
func (g Grant) check() error {
	if g.Workspace != "" && g.Conversation != "" {
		return errors.New("it is for a workspace and for a conversation")
	}
	if g.Workspace != "" && !canonicalPath(g.Workspace) {
		return fmt.Errorf("workspace %q is not an absolute, clean path", g.Workspace)
	}
	if g.Conversation != "" {
		if id, err := uuid.Parse(g.Conversation); err != nil || id != g.Conversation {
			return fmt.Errorf("conversation %q is not a UUID", g.Conversation)
		}
	}
	switch g.Access {
	case sandbox.Network:
		e, err := netpolicy.ParseGrant(g.Target)
		if err != nil {
			return err
		}
		if e.String() != g.Target {
			return fmt.Errorf("%q is written %s", g.Target, e)
		}
		return nil
	case sandbox.Socket:
		if slices.Contains(sockets, g.Target) {
			return nil
		}
		fallthrough
	case sandbox.Read, sandbox.Write:
		if !canonicalPath(g.Target) {
			return fmt.Errorf("%q is not an absolute, clean path", g.Target)
		}
		return nil
	}
	return fmt.Errorf("the access %q is unknown", g.Access)
}

func canonicalPath(at string) bool {
	return filepath.IsAbs(at) && filepath.Clean(at) == at && !strings.ContainsRune(at, 0) && at != filepath.Dir(at)
}

// Targets are what some grants allow of one kind. Paths that are gone, or have been
// replaced by a symbolic link, are left out: the box could not show them.
func Targets(list []Grant, access sandbox.Access) []string {
	var targets []string
	for _, g := range list {
		if g.Access == access && (!filepath.IsAbs(g.Target) || unmoved(g.Target)) {
			targets = append(targets, g.Target)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// unmoved reports whether a path still exists and leads through no symbolic link.
func unmoved(at string) bool {
	real, err := filepath.EvalSymlinks(at)
	return err == nil && real == at
}
