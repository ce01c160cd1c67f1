package secrettest

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"
)

// FileKeyring is a secret.Backend for tests of whole programs: it keeps keys in
// files of a directory, in the clear. With a file "locked" in it,
// it does not answer; with one "absent", it says that there is no keyring; with
// one "refuses", it stores nothing.
type FileKeyring string

func (k FileKeyring) file(service, user string) string {
	return filepath.Join(string(k), base64.RawURLEncoding.EncodeToString([]byte(service+"\x00"+user)))
}

func (k FileKeyring) has(name string) bool {
	_, err := os.Stat(filepath.Join(string(k), name))
	return err == nil
}

func (k FileKeyring) ready() error {
	if k.has("locked") {
		select {} // until the program ends
	}
	if k.has("absent") {
		return keyring.ErrUnsupportedPlatform
	}
	return os.MkdirAll(string(k), 0o700)
}

// Get implements secret.Backend.
func (k FileKeyring) Get(service, user string) (string, error) {
	if err := k.ready(); err != nil {
		return "", err
	}
	key, err := os.ReadFile(k.file(service, user))
	if errors.Is(err, fs.ErrNotExist) {
		return "", keyring.ErrNotFound
	}
	return string(key), err
}

// Set implements secret.Backend.
func (k FileKeyring) Set(service, user, password string) error {
	if err := k.ready(); err != nil {
		return err
	}
	if k.has("refuses") {
		return keyring.ErrSetDataTooBig
	}
	return os.WriteFile(k.file(service, user), []byte(password), 0o600)
}

// Delete implements secret.Backend.
func (k FileKeyring) Delete(service, user string) error {
	if err := k.ready(); err != nil {
		return err
	}
	if err := os.Remove(k.file(service, user)); errors.Is(err, fs.ErrNotExist) {
		return keyring.ErrNotFound
	}
	return nil
}
