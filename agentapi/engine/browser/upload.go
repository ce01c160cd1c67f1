package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// upload puts a file of the workspace into a field for files. Chromium gets a copy: it
// reads nothing of the workspace itself.
func (s *Session) upload(ctx context.Context, t *tab, index int, path string) error {
	if s.cfg.Load == nil {
		return errors.New("files cannot be uploaded here")
	}
	file, err := s.cfg.Load(strings.TrimSpace(path))
	if err != nil {
		return fmt.Errorf("read %s: %w", cut(path, 200), err)
	}
	defer file.Close()
	at, err := s.copied(filepath.Base(strings.TrimSpace(path)), file)
	if err != nil {
		return fmt.Errorf("copy %s for the browser: %w", cut(path, 200), err)
	}
	field, err := t.run(ctx, t.elements, "function(i) { return this[i] }", nil, []any{index})
	if err != nil {
		return err
	}
	return t.do(ctx, "DOM.setFileInputFiles", object{"files": []string{at}, "objectId": field}, nil)
}

// copied makes the copy, in a directory that is removed with the pages.
func (s *Session) copied(name string, from io.Reader) (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.c.place.dir, "uploads"), "u-")
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.uploads = append(s.uploads, dir)
	s.mu.Unlock()
	at := filepath.Join(dir, safeName(name))
	to, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(to, io.LimitReader(from, maxDownload+1))
	if err := errors.Join(err, to.Close(), give(at, s.c.as), give(dir, s.c.as)); err != nil {
		return "", err
	}
	if n > maxDownload {
		return "", errors.New(tooLarge())
	}
	return at, nil
}
