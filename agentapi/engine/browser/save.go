package browser

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

const maxName = 100 // characters in the name of a file

// save puts a file into the workspace, and says so. Chromium has written it, which may be
// in a page's hands: only a regular file in its directory is read, and no more of it than
// is allowed.
func (s *Session) save(guid string, d *download) string {
	if d.why != "" {
		_ = os.Remove(filepath.Join(s.dir, guid))
		return fmt.Sprintf("The download of %s failed: %s.", d.name, d.why)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Sprintf("The download of %s failed: its directory is gone.", d.name)
	}
	defer root.Close()
	defer func() { _ = root.Remove(guid) }()
	file, info, err := sandbox.OpenRegular(root, guid)
	if err != nil {
		return fmt.Sprintf("The download of %s failed: the browser has left no file.", d.name)
	}
	defer file.Close()
	if info.Size() > maxDownload {
		return fmt.Sprintf("The download of %s failed: %s.", d.name, tooLarge())
	}
	path, err := s.cfg.Save(d.name, io.LimitReader(file, info.Size()))
	if err != nil {
		return fmt.Sprintf("The download of %s cannot be saved in the workspace: %v.", d.name, err)
	}
	return fmt.Sprintf("Downloaded %s (%d bytes).", path, info.Size())
}

func tooLarge() string { return fmt.Sprintf("it has more than %d MB", maxDownload>>20) }

// safeName makes a plain name of a file of the name that a server suggests.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`<>:"|?*`, r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(strings.TrimLeft(name, ".-~ "), ". ")
	if len([]rune(name)) > maxName {
		ext := filepath.Ext(name)
		if len(ext) > 12 {
			ext = ""
		}
		name = truncate.Head(name, maxName-len(ext)) + ext
	}
	if name == "" {
		return "download"
	}
	return name
}
