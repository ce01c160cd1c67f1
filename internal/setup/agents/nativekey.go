package agents

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/paths"
)

// wireKeySize is the length of a key's text.
const wireKeySize = 52

// clientKey is the key of secrets for clients; if there are none, it is nobody's.
func clientKey(native bool, dir string, log *slog.Logger) fernet.Key {
	if !native {
		return fernet.NewKey(rand.Text() + rand.Text())
	}
	return wireKey(dir, log)
}

// wireKey is the key of secrets that are encrypted for clients where there is no
// OH_SECRET_KEY: a file, so that a page that is open in a browser outlives a restart.
// Nothing on this machine is encrypted with it. Where the file cannot be used the key
// is that of this process.
func wireKey(dir string, log *slog.Logger) fernet.Key {
	path := filepath.Join(dir, "client.key")
	text, err := os.ReadFile(path)
	if err == nil && len(text) == wireKeySize {
		return fernet.NewKey(string(text))
	}
	made := rand.Text() + rand.Text()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = writeWireKey(path, made)
	}
	if err != nil {
		log.Warn("the key of secrets for clients cannot be kept; pages have to be loaded again after a restart", "file", path, "err", err)
	}
	return fernet.NewKey(made)
}

func writeWireKey(path, text string) error {
	if err := paths.MakePrivate(filepath.Dir(path)); err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	return atomicfile.Write(path, []byte(text), atomicfile.Options{MaxMode: 0o600})
}
