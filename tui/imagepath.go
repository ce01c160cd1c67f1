package tui

import (
	"strings"
)

// imagePath returns the path in a text that is nothing but the path of a picture, as
// terminals paste a file that is dropped on them; else "".
func imagePath(text string) string {
	path := strings.TrimSpace(text)
	if strings.ContainsAny(path, "\n\r") || len(path) > 4096 {
		return ""
	}
	if len(path) > 1 && (path[0] == '\'' || path[0] == '"') && path[len(path)-1] == path[0] {
		path = path[1 : len(path)-1]
	} else {
		path = strings.NewReplacer(`\ `, " ", `\(`, "(", `\)`, ")").Replace(path)
	}
	path = strings.TrimPrefix(path, "file://")
	lower := strings.ToLower(path)
	for _, ext := range []string{".png", ".jpg", ".jpeg", ".gif", ".webp"} {
		if strings.HasSuffix(lower, ext) {
			return path
		}
	}
	return ""
}
