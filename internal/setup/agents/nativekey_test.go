package agents

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestSecretsForClientsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "native")
	quiet := slog.New(slog.DiscardHandler)
	sealed, err := wireKey(dir, quiet).Encrypt([]byte("sk-1"), time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := wireKey(dir, quiet).Decrypt(sealed); err != nil || string(plain) != "sk-1" {
		t.Errorf("after a restart: %q, %v", plain, err)
	}
	file := filepath.Join(dir, "client.key")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A file that is torn is made again.
	if err := os.WriteFile(file, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if sealed, err = wireKey(dir, quiet).Encrypt([]byte("sk-2"), time.Now(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if plain, err := wireKey(dir, quiet).Decrypt(sealed); err != nil || string(plain) != "sk-2" {
		t.Errorf("after a torn file: %q, %v", plain, err)
	}
	// Without a place for it there is a key all the same.
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wireKey(filepath.Join(dir, "taken"), quiet).Encrypt([]byte("sk-3"), time.Now(), rand.Reader); err != nil {
		t.Error(err)
	}
}
