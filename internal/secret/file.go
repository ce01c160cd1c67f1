package secret

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fernet"
)

// FileConfig is what a File needs to know.
type FileConfig struct {
	Path string

	// Key encrypts what is stored. With the zero Key it is stored as it is:
	// whoever makes such a File has asked the user before.
	Key fernet.Key

	// Now is the time that goes into encrypted values.
	Now func() time.Time
}

// File is the Store for machines without a keyring: one private file, chosen
// explicitly. It is not the file of another program.
type File struct {
	cfg FileConfig
}

// NewFile does not touch the file yet.
func NewFile(cfg FileConfig) *File { return &File{cfg} }

// keyFile is the content of the file.
type keyFile struct {
	Version int               `json:"version"`
	Keys    map[string]stored `json:"keys"`
}

// stored is one secret: one of the two members is there. They are apart so
// that a plain key can never be mistaken for an encrypted one.
type stored struct {
	Plain  string `json:"plain,omitempty"`
	Fernet string `json:"fernet,omitempty"`
}

const keyFileVersion = 1

// Get reads a secret. A secret that was encrypted under another key is an
// error that is fernet.ErrWrongKey or fernet.ErrNoKey, never ErrNotFound.
func (f *File) Get(_ context.Context, name string) (Value, error) {
	file, err := f.read()
	if err != nil {
		return Value{}, err
	}
	s, ok := file.Keys[name]
	if !ok {
		return Value{}, ErrNotFound
	}
	if s.Fernet == "" {
		return New(s.Plain), nil
	}
	plain, err := f.cfg.Key.Decrypt(s.Fernet)
	if err != nil {
		return Value{}, fmt.Errorf("decrypt key in %s: %w", f.cfg.Path, err)
	}
	return New(string(plain)), nil
}

// Set stores a secret.
func (f *File) Set(ctx context.Context, name string, v Value) error {
	s := stored{Plain: v.Reveal()}
	if !f.cfg.Key.IsZero() {
		token, err := f.cfg.Key.Encrypt([]byte(v.Reveal()), f.cfg.Now(), rand.Reader)
		if err != nil {
			return fmt.Errorf("encrypt key: %w", err)
		}
		s = stored{Fernet: token}
	}
	return f.change(ctx, func(keys map[string]stored) error {
		keys[name] = s
		return nil
	})
}

// Delete removes a secret.
func (f *File) Delete(ctx context.Context, name string) error {
	return f.change(ctx, func(keys map[string]stored) error {
		if _, ok := keys[name]; !ok {
			return ErrNotFound
		}
		delete(keys, name)
		return nil
	})
}

// List returns the names.
func (f *File) List(context.Context) ([]string, error) {
	file, err := f.read()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(file.Keys)), nil
}

// FileState is what a person should know about a File.
type FileState struct {
	Exists  bool `json:"exists"`
	Exposed bool `json:"exposed"` // others may read it
	Plain   int  `json:"plain"`   // secrets that are not encrypted
}

// State looks at the file.
func (f *File) State() (FileState, error) {
	info, err := os.Stat(f.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return FileState{}, nil
	}
	if err != nil {
		return FileState{}, err
	}
	file, err := f.read()
	state := FileState{Exists: true, Exposed: runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0}
	for _, s := range file.Keys {
		if s.Fernet == "" {
			state.Plain++
		}
	}
	return state, err
}

func (f *File) read() (keyFile, error) {
	empty := keyFile{Version: keyFileVersion, Keys: map[string]stored{}}
	src, err := os.ReadFile(f.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read keys: %w", err)
	}
	defer clear(src)
	var file keyFile
	if err := json.Unmarshal(src, &file); err != nil {
		// The error of encoding/json can quote what it read.
		return empty, fmt.Errorf("read keys: %s is damaged", f.cfg.Path)
	}
	if file.Version != keyFileVersion {
		return empty, fmt.Errorf("read keys: version %d of %s is not known", file.Version, f.cfg.Path)
	}
	if file.Keys == nil {
		file.Keys = empty.Keys
	}
	return file, nil
}

func (f *File) change(ctx context.Context, edit func(map[string]stored) error) error {
	release, err := lockFile(ctx, f.cfg.Path)
	if err != nil {
		return err
	}
	defer release()
	file, err := f.read()
	if err != nil {
		return err
	}
	if err := edit(file.Keys); err != nil {
		return err
	}
	src, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	defer clear(src)
	return atomicfile.Write(f.cfg.Path, append(src, '\n'), atomicfile.Options{MaxMode: 0o600})
}
