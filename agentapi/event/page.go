package event

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// PageTitle begins the line of a browser's observation that has the title of the page.
const PageTitle = "Page title: "

// PageOf reads the title of a page from the text of a browser's observation: the line that
// begins with [PageTitle], or the title in a listing of the page; "" for a text without one.
func PageOf(text string) string {
	if strings.HasPrefix(text, "{") {
		var listed struct {
			Title string `json:"title"`
		}
		// Remarks may follow the listing. Another text has no title.
		_ = json.NewDecoder(strings.NewReader(text)).Decode(&listed)
		return listed.Title
	}
	for line := range strings.SplitSeq(text, "\n") {
		if title, ok := strings.CutPrefix(line, PageTitle); ok {
			return title
		}
	}
	return ""
}

// ScreenshotName returns the name of the file for a picture in base64, which is that of
// OpenHands.
func ScreenshotName(data string) string {
	sum := sha256.Sum256([]byte(data))
	_, ext := ScreenshotKind(data)
	return "browser_screenshot_" + hex.EncodeToString(sum[:4]) + ext
}

// ScreenshotKind returns the media type of a picture in base64, and the end of its file's name.
func ScreenshotKind(data string) (kind, ext string) {
	switch {
	case strings.HasPrefix(data, "/9j/"):
		return "image/jpeg", ".jpg"
	case strings.HasPrefix(data, "R0lGODlh"):
		return "image/gif", ".gif"
	case strings.HasPrefix(data, "UklGR"):
		return "image/webp", ".webp"
	}
	return "image/png", ".png"
}
