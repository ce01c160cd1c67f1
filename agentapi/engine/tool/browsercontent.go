package tool

import (
	"crypto/sha256"
	"path/filepath"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/event"
)

// KindBrowserObservation is the one kind of all results of a browser.
const KindBrowserObservation = "BrowserObservation"

// BrowserFields are those of a BrowserObservation besides content.
type BrowserFields struct {
	Screenshot *string `json:"screenshot_data"` // base64
	SaveDir    *string `json:"full_output_save_dir"`
}

// seen returns what the model sees of a browser: a text, and a picture. It reads no file, as it
// is also for the observations of other machines.
func (f BrowserFields) seen(text string) []event.Content {
	dir := ""
	if f.SaveDir != nil {
		dir = *f.SaveDir
	}
	if utf8.RuneCountInString(text) > LimitBrowser {
		saved := ""
		if dir != "" {
			sum := sha256.Sum256([]byte(text))
			saved = filepath.Join(dir, OutputName("browser", sum[:]))
		}
		text = cut(text, LimitBrowser, saved)
	}
	list := []event.Content{event.Text(text)}
	if f.Screenshot == nil || *f.Screenshot == "" {
		return list
	}
	kind, _ := event.ScreenshotKind(*f.Screenshot)
	if dir != "" {
		list = append(list, event.Text("Screenshot saved to: "+filepath.Join(dir, event.ScreenshotName(*f.Screenshot))))
	}
	return append(list, event.Images("data:"+kind+";base64,"+*f.Screenshot))
}
