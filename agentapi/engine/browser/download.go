package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/pause"
)

// The limits of downloads.
const (
	maxDownload  = 100 << 20 // bytes of one
	maxDownloads = 10        // at a time
	downloadWait = 20 * time.Second
)

// downloadBegin is the event of a download that begins.
type downloadBegin struct {
	Frame string `json:"frameId"`
	GUID  string `json:"guid"`
	URL   string `json:"url"`
	Name  string `json:"suggestedFilename"`
}

// downloadProgress is the event of a download that goes on, or ends.
type downloadProgress struct {
	GUID     string  `json:"guid"`
	Total    float64 `json:"totalBytes"`
	Received float64 `json:"receivedBytes"`
	State    string  `json:"state"`
}

// download is a file that Chromium downloads.
type download struct {
	name, url string
	over      bool
	why       string // it failed
	told      bool
}

// downloadBegins takes that a download begins. Chromium reports it for all
// conversations: it is this one's if the file is in its directory later.
func (s *Session) downloadBegins(e downloadBegin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := false
	for _, t := range s.tabs {
		mine = mine || t.id == e.Frame
	}
	if !mine && !s.has(e.GUID) || s.downloads == nil {
		return
	}
	d := &download{name: safeName(e.Name), url: e.URL}
	s.downloads[e.GUID] = d
	if running(s.downloads) > maxDownloads {
		s.cancel(e.GUID, d, fmt.Sprintf("there are more than %d downloads at a time", maxDownloads))
	}
}

// has says whether a file is in the directory of this conversation. The lock is held.
func (s *Session) has(guid string) bool {
	if s.dir == "" || strings.ContainsAny(guid, `/\`) {
		return false
	}
	for _, name := range []string{guid, guid + ".crdownload"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			return true
		}
	}
	return false
}

func running(all map[string]*download) (n int) {
	for _, d := range all {
		if !d.over {
			n++
		}
	}
	return n
}

// cancel ends a download. The lock is held.
func (s *Session) cancel(guid string, d *download, why string) {
	d.over, d.why = true, why
	c, id := s.c, s.id
	c.later(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		defer cancel()
		_ = c.do(ctx, "Browser.cancelDownload", object{"guid": guid, "browserContextId": id}, nil)
	})
}

// downloadGoesOn takes how far a download is.
func (s *Session) downloadGoesOn(e downloadProgress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.downloads[e.GUID]
	if d == nil && s.has(e.GUID) {
		d = &download{name: "download"}
		s.downloads[e.GUID] = d
	}
	if d == nil || d.over {
		return
	}
	switch {
	case max(e.Received, e.Total) > maxDownload:
		s.cancel(e.GUID, d, tooLarge())
	case e.State == "completed":
		d.over = true
	case e.State == "canceled":
		d.over, d.why = true, "it was cancelled, or the server broke it off"
	}
}

// collect puts what was downloaded into the workspace, and waits a while for what is
// not complete.
func (s *Session) collect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, downloadWait)
	defer cancel()
	for {
		ended, left := s.ended()
		for guid, d := range ended {
			s.note(s.save(guid, d))
		}
		if left == 0 {
			return
		}
		if pause.For(ctx, 50*time.Millisecond) != nil {
			s.stillRunning()
			return
		}
	}
}

// ended takes the downloads that are over out of the list, and counts the others.
func (s *Session) ended() (over map[string]*download, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = map[string]*download{}
	for guid, d := range s.downloads {
		if d.over {
			over[guid] = d
			delete(s.downloads, guid)
		}
	}
	for _, d := range s.downloads {
		if !d.told {
			left++
		}
	}
	return over, left
}

// stillRunning notes once the downloads that take longer.
func (s *Session) stillRunning() {
	s.mu.Lock()
	var names []string
	for _, d := range s.downloads {
		if !d.told {
			d.told = true
			names = append(names, d.name)
		}
	}
	s.mu.Unlock()
	for _, name := range names {
		s.note("The download of " + name + " goes on; a later result says when it is complete.")
	}
}
