// Package document reads and changes the files of OpenHands that hold LLM
// entries: profiles, the settings of the agent-server, the settings of the
// OpenHands CLI.
//
// It knows where entries are in a file, when OpenHands refuses to load one, and
// which lock belongs to which file. It does not know what is wrong with an
// entry; that is canon's. Invariants: a file is changed under its lock, after
// it was read again there; never through a link; never when OpenHands could not
// read the outcome.
package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/storage"
)

// Kind is what a file is for.
type Kind byte

// The kinds of files.
const (
	Profile Kind = iota + 1
	Settings
	CLI          // agent_settings.json of the OpenHands CLI
	AgentProfile // has no entries, but names a profile
	Secrets      // the user's secrets by name
	Connections  // keys and URLs that profiles share
	MetaProfile  // names profiles for kinds of tasks
)

// The names in a base directory.
const (
	profilesDir  = "profiles"
	profilesLock = ".profiles.lock"
	agentsDir    = "agent-profiles"
	agentsLock   = ".agent-profiles.lock"
	metaDir      = "meta-profiles"
	metaLock     = ".meta-profiles.lock"
	settingsName = "settings.json"
	settingsLock = ".settings.lock"
	cliName      = "agent_settings.json"
	secretsName  = "secrets.json"
	secretsLock  = ".secrets.lock"
	linksDir     = "provider-connections"
	linksName    = "provider_connections.json"
	linksLock    = ".provider-connections.lock"
	suffix       = ".json"
)

// maxSize bounds what is read. OpenHands' own files have some kilobytes.
const maxSize = 32 << 20

// ListDir returns the entries of a directory of profiles that OpenHands takes for
// profiles, in the order of their names without the suffix. A missing directory
// has none.
func ListDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), suffix) })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(Stem(a), Stem(b)) })
	return entries, nil
}

// Stem is the name of the profile that an entry of ListDir is.
func Stem(e fs.DirEntry) string { return strings.TrimSuffix(e.Name(), suffix) }

// File is one of these files.
type File struct {
	Kind Kind
	Path string
	Lock string // lock file; "" when OpenHands itself takes no lock
}

// ProfileFile is the file of a profile in a base directory.
func ProfileFile(base, name string) File {
	dir := ProfilesDir(base)
	return File{Profile, filepath.Join(dir, name+suffix), filepath.Join(dir, profilesLock)}
}

// AgentProfileFile is the file of an agent profile in a base directory.
func AgentProfileFile(base, name string) File {
	dir := AgentProfilesDir(base)
	return File{AgentProfile, filepath.Join(dir, name+suffix), filepath.Join(dir, agentsLock)}
}

// ProfilesDir is where the profiles of a base directory are.
func ProfilesDir(base string) string { return filepath.Join(base, profilesDir) }

// AgentProfilesDir is where its agent profiles are.
func AgentProfilesDir(base string) string { return filepath.Join(base, agentsDir) }

// MetaProfilesDir is where its meta-profiles are: which profile is for which kind of task.
func MetaProfilesDir(base string) string { return filepath.Join(base, metaDir) }

// MetaProfileFile is the file of a meta-profile in a base directory.
func MetaProfileFile(base, name string) File {
	dir := MetaProfilesDir(base)
	return File{MetaProfile, filepath.Join(dir, name+suffix), filepath.Join(dir, metaLock)}
}

// SettingsFile is the file with the settings of an agent-server.
func SettingsFile(base string) File {
	return File{Settings, filepath.Join(base, settingsName), filepath.Join(base, settingsLock)}
}

// SecretsFile is the file with the user's secrets.
func SecretsFile(base string) File {
	return File{Secrets, filepath.Join(base, secretsName), filepath.Join(base, secretsLock)}
}

// ConnectionsFile is the file with the provider connections.
func ConnectionsFile(base string) File {
	dir := filepath.Join(base, linksDir)
	return File{Connections, filepath.Join(dir, linksName), filepath.Join(dir, linksLock)}
}

// CLIFile is the file with the settings of the OpenHands CLI. Nothing locks it.
func CLIFile(base string) File {
	return File{Kind: CLI, Path: filepath.Join(base, cliName)}
}

// Name is the name of the profile, or that of the file when it is not a profile.
func (f File) Name() string {
	if f.Kind == Profile || f.Kind == AgentProfile || f.Kind == MetaProfile {
		return strings.TrimSuffix(filepath.Base(f.Path), suffix)
	}
	return filepath.Base(f.Path)
}

var validName = pattern.Of(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// ValidName reports whether OpenHands can see a profile of this name.
func ValidName(name string) bool { return validName().MatchString(name) }

// GateError says why OpenHands does not load a file, or why it has no entries.
type GateError struct {
	Action canon.Action
	Msg    string // never quotes the file
	Err    error  // may be nil
}

func (e *GateError) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

func (e *GateError) Unwrap() error { return e.Err }

func gate(action canon.Action, err error, format string, args ...any) *GateError {
	return &GateError{Action: action, Msg: fmt.Sprintf(format, args...), Err: err}
}

// Snapshot is a file as it was when it was read.
type Snapshot struct {
	File    File
	Doc     *jsonedit.Doc // nil when it could not be read or is not JSON
	Mode    fs.FileMode
	ModTime time.Time

	// Gate is why there are no entries to look at; nil when there may be some.
	Gate *GateError

	// Sealed is why the file must not be written although it can be read; nil
	// when it may be.
	Sealed *GateError
}

// Err returns the Gate as an error.
func (s Snapshot) Err() error {
	if s.Gate == nil {
		return nil
	}
	return s.Gate
}

// Missing reports whether there is no such file.
func (s Snapshot) Missing() bool { return errors.Is(s.Err(), fs.ErrNotExist) && s.Sealed == nil }

// Newer reports whether an OpenHands newer than all known ones wrote a file that can be
// read: members may mean what ohgw does not know.
func (s Snapshot) Newer() bool {
	return s.Gate == nil && s.Sealed != nil && s.Sealed.Action == canon.ErrorNewer
}

// Read reads the file. What is wrong is in the Snapshot.
func (f File) Read() Snapshot {
	info, err := os.Lstat(f.Path)
	if err != nil {
		return Snapshot{File: f, Gate: gate(canon.ErrorUnreadable, storage.Cause(err), "cannot be read")}
	}
	return f.ReadAs(info.Mode().Type())
}

// ReadAs does what Read does, for callers that know the type of the file from its
// directory.
func (f File) ReadAs(typ fs.FileMode) Snapshot {
	s := Snapshot{File: f}
	if typ != 0 && typ != fs.ModeSymlink {
		s.Gate = gate(canon.ErrorUnreadable, nil, "is not a file")
		return s
	}
	if typ == fs.ModeSymlink {
		s.Sealed = gate(canon.ErrorSymlink, nil, "is a symbolic link")
	}
	src, info, err := readAll(f.Path)
	if err != nil {
		s.Gate = gate(canon.ErrorUnreadable, storage.Cause(err), "cannot be read")
		return s
	}
	s.Mode, s.ModTime = info.Mode(), info.ModTime()
	if n := links(info); n > 1 && s.Sealed == nil {
		s.Sealed = gate(canon.ErrorHardlink, nil, "has %d names (hard links)", n)
	}
	if f.Kind == Profile && !ValidName(f.Name()) {
		s.Gate = gate(canon.ErrorName, nil, "OpenHands ignores files with this name")
	}
	doc, err := jsonedit.Parse(src)
	if err != nil {
		s.keepFirst(gate(canon.ErrorCorrupt, err, "is not JSON"))
		return s
	}
	s.Doc = doc
	s.keepFirst(f.Kind.Gate(doc.Root()))
	if s.Gate == nil && s.Sealed == nil {
		s.Sealed = f.Kind.seal(doc.Root())
	}
	return s
}

func (s *Snapshot) keepFirst(g *GateError) {
	if s.Gate == nil {
		s.Gate = g
	}
}

func readAll(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("not a file")
	}
	if info.Size() > maxSize {
		return nil, nil, errors.New("too large")
	}
	src := make([]byte, info.Size())
	n, err := io.ReadFull(f, src)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return src[:n], info, err
}
