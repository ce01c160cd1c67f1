package grants

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/storage"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// InvalidError says why something cannot be granted.
type InvalidError struct {
	Why  string // a sentence without its full stop
	Hint string // what to type instead; may be empty
}

func (e *InvalidError) Error() string {
	if e.Hint == "" {
		return e.Why
	}
	return e.Why + ": " + e.Hint
}

// Canonical brings a grant into its one spelling, from what a person or an agent's
// request says. Paths are absolute. It fails with an *InvalidError if that cannot be
// granted.
func (s *Store) Canonical(g Grant) (Grant, error) {
	if g.Workspace != "" && g.Conversation != "" {
		return g, &InvalidError{"a grant is for a workspace or for a conversation, not for both", "name one of them"}
	}
	var err error
	if g.Workspace != "" {
		if g.Workspace, err = Existing(g.Workspace); err != nil {
			return g, err
		}
	}
	if g.Conversation != "" {
		id, err := uuid.Parse(g.Conversation)
		if err != nil {
			return g, &InvalidError{netpolicy.Quote(g.Conversation) + " is not the ID of a conversation", "write its UUID"}
		}
		g.Conversation = id
	}
	switch g.Access {
	case sandbox.Network:
		e, err := netpolicy.ParseGrant(g.Target)
		if err != nil {
			return g, &InvalidError{Why: err.Error()}
		}
		g.Target = e.String()
		return g, nil
	case sandbox.Socket:
		g.Target, err = s.socket(g.Target)
	case sandbox.Read, sandbox.Write:
		g.Target, err = s.path(g.Access, g.Target)
	default:
		return g, &InvalidError{fmt.Sprintf("%q is not an access", g.Access), "write read, write, net or socket"}
	}
	if err == nil {
		if wrong := g.check(); wrong != nil {
			err = &InvalidError{Why: wrong.Error()}
		}
	}
	return g, err
}

// path resolves a path, and refuses one that cannot be granted.
func (s *Store) path(access sandbox.Access, text string) (string, error) {
	at, err := Existing(text)
	if err != nil {
		return at, err
	}
	if at == filepath.Dir(at) {
		return at, &InvalidError{"the root directory would open everything", "name the directories that are needed"}
	}
	if home := resolved(s.cfg.Home); home != "" && subpath.Within(at, home) {
		why := at + " contains your home directory"
		if at == home {
			why = at + " is your home directory"
		}
		return at, &InvalidError{why, "name the directories in it that are needed"}
	}
	if own := s.own(at); own != "" {
		return at, &InvalidError{Why: at + " cannot be granted, because " + own + " belongs to ohgw or OpenHands"}
	}
	switch {
	case access == sandbox.Write && policy.OfSystem(at):
		return at, &InvalidError{at + " belongs to the system and cannot be writable", "name a directory of yours"}
	case access == sandbox.Read && slices.ContainsFunc(live, func(dir string) bool { return subpath.Within(dir, at) }):
		return at, &InvalidError{at + " cannot be shown, because it has devices, processes or sockets", "see ohgw sandbox allow socket --help"}
	case access == sandbox.Read && at == "/tmp":
		return at, &InvalidError{"the sandbox has a /tmp of its own", "name the directory in it that is needed"}
	}
	return at, nil
}

// live are the trees with devices, processes and sockets: what is shown of them works.
var live = []string{"/dev", "/proc", "/run", "/sys"}

// own is the directory of ohgw or OpenHands that is in a path, or has it; "" if there
// is none.
func (s *Store) own(at string) string {
	for _, dir := range append([]string{s.cfg.State}, s.cfg.Private...) {
		if dir = resolved(dir); dir != "" && (subpath.Within(dir, at) || subpath.Within(at, dir)) {
			return dir
		}
	}
	return ""
}

// socket resolves a socket, and refuses one that cannot be granted.
func (s *Store) socket(text string) (string, error) {
	if slices.Contains(sockets, strings.ToLower(text)) {
		return strings.ToLower(text), nil
	}
	if !filepath.IsAbs(text) {
		hint := "write " + strings.Join(sockets, ", ") + " or the absolute path of a socket"
		if near := suggest.Nearest(text, sockets); near != "" {
			hint = "did you mean " + near + "?"
		}
		return text, &InvalidError{netpolicy.Quote(text) + " is not a known socket", hint}
	}
	at, err := Existing(text)
	if err != nil {
		return at, err
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return at, unreadable(at, err)
	case info.Mode()&fs.ModeSocket == 0:
		return at, &InvalidError{at + " is not a socket", "allow a file with: ohgw sandbox allow read PATH"}
	}
	if own := s.own(at); own != "" {
		return at, &InvalidError{Why: at + " cannot be granted, because " + own + " belongs to ohgw or OpenHands"}
	}
	return at, nil
}

// Existing is an absolute path without symbolic links. If it does not exist, the
// error is an *InvalidError with the nearest name that does.
func Existing(text string) (string, error) {
	if !filepath.IsAbs(text) || strings.ContainsRune(text, 0) {
		return text, &InvalidError{Why: netpolicy.Quote(text) + " is not an absolute path"}
	}
	at, err := filepath.EvalSymlinks(text)
	if err != nil {
		return filepath.Clean(text), unreadable(filepath.Clean(text), err)
	}
	return at, nil
}

func unreadable(at string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return &InvalidError{Why: "cannot use " + at + ": " + storage.Cause(err).Error()}
	}
	return &InvalidError{at + " does not exist", nearest(at)}
}

// nearest returns a hint with the name that a path which does not exist was meant to
// be.
func nearest(at string) string {
	for dir, name := filepath.Dir(at), filepath.Base(at); ; dir, name = filepath.Dir(dir), filepath.Base(dir) {
		entries, err := os.ReadDir(dir)
		if err == nil {
			names := make([]string, 0, len(entries))
			for _, entry := range entries {
				names = append(names, entry.Name())
			}
			if near := suggest.Nearest(name, names); near != "" {
				return "did you mean " + filepath.Join(dir, near) + "?"
			}
			return dir + " exists"
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// resolved is a path without symbolic links, as far as it exists; "" if there is
// none. What does not exist yet may be made later.
func resolved(at string) string {
	if !filepath.IsAbs(at) {
		return ""
	}
	at = filepath.Clean(at)
	if real, err := filepath.EvalSymlinks(at); err == nil {
		return real
	}
	dir := filepath.Dir(at)
	if dir == at {
		return at
	}
	return filepath.Join(resolved(dir), filepath.Base(at))
}
