package event

import (
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
