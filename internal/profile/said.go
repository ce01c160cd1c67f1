package profile

import (
	"sync"

	"github.com/ohgw/ohgw/internal/openhands/document"
)

// said is what the settings said when they were understood last. An engine asks for each
// conversation, and the file changes once a month.
type said struct {
	mu    sync.Mutex
	text  string // of the file, as textOf returns it; "": nothing was understood yet
	found ConversationSettings
}

// of is what settings say whose text is that of the last time.
func (s *said) of(snap document.Snapshot) (found ConversationSettings, known bool) {
	text := textOf(snap)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, text != "" && text == s.text
}

// keep remembers what settings say.
func (s *said) keep(snap document.Snapshot, found ConversationSettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.found = textOf(snap), found
}

// textOf has all of a file of which its meaning depends; "" for one that cannot be read.
func textOf(snap document.Snapshot) string {
	switch {
	case snap.Missing():
		return "missing" // which is not JSON
	case snap.Gate != nil || snap.Doc == nil:
		return ""
	case snap.Sealed != nil:
		return snap.Sealed.Error() + "\n" + string(snap.Doc.Bytes())
	}
	return string(snap.Doc.Bytes())
}
