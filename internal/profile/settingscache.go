package profile

import (
	"crypto/sha256"
	"sync"

	"github.com/ohgw/ohgw/internal/openhands/document"
)

// fingerprint stands for all of a file of which its meaning depends. The zero one is that of
// a file that cannot be read.
type fingerprint [sha256.Size]byte

// settingsCache is what the settings said when they were understood last. An engine asks for
// each conversation, and the file changes once a month. The text, which may have keys in it,
// is not kept.
type settingsCache struct {
	mu    sync.Mutex
	of    fingerprint // zero: nothing was understood yet
	found ConversationSettings
}

// get returns what settings with this fingerprint say, if they are those of the last time.
func (c *settingsCache) get(of fingerprint) (found ConversationSettings, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found, of != fingerprint{} && of == c.of
}

// keep remembers what settings with this fingerprint say.
func (c *settingsCache) keep(of fingerprint, found ConversationSettings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of, c.found = of, found
}

// fingerprintOf is that of a file as it was read.
func fingerprintOf(snap document.Snapshot) fingerprint {
	switch {
	case snap.Missing():
		return sha256.Sum256([]byte("missing")) // which is not JSON
	case snap.Gate != nil || snap.Doc == nil:
		return fingerprint{}
	case snap.Sealed != nil:
		return sha256.Sum256(append([]byte(snap.Sealed.Error()+"\n"), snap.Doc.Bytes()...))
	}
	return sha256.Sum256(snap.Doc.Bytes())
}
