package kit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/paths"
)

// RecentFile is where chats keep which conversations they had, as JSON lines.
func RecentFile(dirs paths.Set) string { return filepath.Join(dirs.State, "chat", "recent.jsonl") }

// ChatTitles reads the titles that chats show of conversations, by their ids. What
// cannot be read has none.
func (a *App) ChatTitles() map[string]string {
	titles := map[string]string{}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return titles
	}
	data, err := os.ReadFile(RecentFile(dirs))
	if err != nil {
		return titles
	}
	for line := range bytes.Lines(data) {
		var c struct{ ID, Title string }
		if json.Unmarshal(line, &c) == nil {
			titles[c.ID] = c.Title
		}
	}
	return titles
}
