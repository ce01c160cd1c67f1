// Package profile is the store of LLM profiles that OpenHands has on this
// machine: it lists, reads, adds, activates, renames and removes them beside a
// running agent-server, as that server would.
//
// It knows what the files mean. How they are read, locked and written is
// document's; what old forms of entries become is canon's; bringing all files
// to the present form is migrate's. Keys are never part of an error or of a
// Summary; a loaded profile has them as secret.Value.
//
// Invariants: a member that an operation does not mean to change keeps every
// byte; no schema_version is raised; a file that OpenHands could not load is
// not touched.
package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
)

// MaxProfiles is how many profiles OpenHands lets people make. It reads more.
const MaxProfiles = 50

// Facts that callers branch on.
var (
	ErrNotFound = errors.New("there is no such profile")
	ErrExists   = errors.New("a profile of that name already exists")
	ErrName     = errors.New("invalid profile name: use 1 to 64 letters, digits, dots, dashes and underscores, the first one a letter or a digit")
	ErrLimit    = fmt.Errorf("there are already %d profiles, which is OpenHands' limit", MaxProfiles)
	ErrInUse    = errors.New("other profiles use it")
	ErrLegacy   = errors.New("settings.json is in the OpenHands 0.x format; start a current OpenHands once to import it")
)

// InUseError says which agent profiles and meta-profiles use a profile. It is ErrInUse.
type InUseError struct{ By, Meta []string }

func (e *InUseError) Error() string {
	return ErrInUse.Error() + ": " + strings.Join(slices.Concat(e.By, e.Meta), ", ")
}

// Is makes it ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// NewerFileError says that a newer OpenHands wrote a file that would have to change.
type NewerFileError struct {
	Path string
	Err  error
}

func (e *NewerFileError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

func (e *NewerFileError) Unwrap() error { return e.Err }

// Config is what a Store needs to know.
type Config struct {
	Base    string           // base directory, absolute
	Ciphers *Ciphers         // to read encrypted keys; may be nil
	Models  *canon.List      // names of models; nil means the embedded list
	Locking document.Locking // how to wait for other programs
}

// Store is the profiles and settings in one base directory. Each call reads the files. In
// memory it keeps only what the settings said last. It is safe for concurrent use.
type Store struct {
	cfg  Config
	last settingsCache
}

// Open does not touch the directory yet.
func Open(cfg Config) *Store {
	if cfg.Models == nil {
		cfg.Models = canon.Embedded()
	}
	return &Store{cfg: cfg}
}

// Base is the base directory.
func (s *Store) Base() string { return s.cfg.Base }

// CleanName is the name that OpenHands takes a given name for: without one
// ".json" at its end. The error is ErrName.
func CleanName(given string) (string, error) {
	name := strings.TrimSuffix(given, ".json")
	if !document.ValidName(name) {
		return "", fmt.Errorf("%.80q: %w", given, ErrName)
	}
	return name, nil
}

// newName is CleanName for names that are about to be used for the first time.
func newName(given string) (string, error) {
	name, err := CleanName(given)
	if err == nil && isDevice(name) {
		return "", fmt.Errorf("%q is a device on Windows: %w", given, ErrName)
	}
	return name, err
}

// isDevice reports whether Windows takes a file of this name for a device,
// whatever follows a dot.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, found := strings.CutPrefix(stem, "com")
	if !found {
		port, found = strings.CutPrefix(stem, "lpt")
	}
	return found && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}

func (s *Store) file(name string) document.File { return document.ProfileFile(s.cfg.Base, name) }

func (s *Store) settings() document.File { return document.SettingsFile(s.cfg.Base) }
