package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/browser"
)

// The limits of downloads.
const (
	maxDownload  = 100 << 20 // bytes of one
	maxDownloads = 10        // at a time
	maxName      = 100       // characters
	downloadWait = 20 * time.Second
)

// download is a file that Chromium downloads.
type download struct {
	name, url string
	over      bool
	why       string // it failed
	told      bool
}

// downloadBegins takes that a download begins. Chromium tells that for all
// conversations: it is this one's if the file is in its directory later.
func (s *Session) downloadBegins(e *browser.EventDownloadWillBegin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := false
	for _, t := range s.tabs {
		mine = mine || string(t.id) == string(e.FrameID)
	}
	if !mine && !s.has(e.GUID) || s.downloads == nil {
		return
	}
	d := &download{name: safeName(e.SuggestedFilename), url: e.URL}
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
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
		defer cancel()
		_ = c.do(ctx, browser.CancelDownload(guid).WithBrowserContextID(id))
	}()
}

// downloadGoesOn takes how far a download is.
func (s *Session) downloadGoesOn(e *browser.EventDownloadProgress) {
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
	case max(e.ReceivedBytes, e.TotalBytes) > maxDownload:
		s.cancel(e.GUID, d, fmt.Sprintf("it has more than %d MB", maxDownload>>20))
	case e.State == browser.DownloadProgressStateCompleted:
		d.over = true
	case e.State == browser.DownloadProgressStateCanceled:
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
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
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

// stillRunning tells once of downloads that take longer.
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

// save puts a file into the workspace, and says so.
func (s *Session) save(guid string, d *download) string {
	at := filepath.Join(s.dir, guid)
	defer func() { _ = os.Remove(at) }()
	if d.why != "" {
		return fmt.Sprintf("The download of %s failed: %s.", d.name, d.why)
	}
	file, err := os.Open(at)
	if err != nil {
		return fmt.Sprintf("The download of %s failed: Chromium has left no file.", d.name)
	}
	defer file.Close()
	path, err := s.cfg.Save(d.name, file)
	if err != nil {
		return fmt.Sprintf("The download of %s cannot be saved in the workspace: %v.", d.name, err)
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	return fmt.Sprintf("Downloaded %s (%d bytes).", path, size)
}

// safeName is the name that a server suggests, as a plain name of a file.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`<>:"|?*`, r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(strings.TrimLeft(name, ".-~ "), ". ")
	if r := []rune(name); len(r) > maxName {
		ext := []rune(filepath.Ext(name))
		if len(ext) > 12 {
			ext = nil
		}
		name = string(r[:maxName-len(ext)]) + string(ext)
	}
	if name == "" {
		return "download"
	}
	return name
}
