package files

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
)

func (s *server) download(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	files, at, release, err := s.Boxes.Files(r.Context(), path)
	if err != nil {
		return failure(err, "File not found")
	}
	defer release()
	real, err := files.Real(at)
	if err != nil {
		return failure(err, "File not found")
	}
	name := filepath.Base(path)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", wire.Attachment(name))
	if err := s.send(w, r, files, real); err != nil {
		w.Header().Del("Content-Disposition")
		return failure(err, "File not found")
	}
	return nil
}

// send answers with a file, or a part of it. The error is from before the answer.
func (s *server) send(w http.ResponseWriter, r *http.Request, files sandbox.Streams, real string) error {
	file, info, err := files.Open(real)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was read
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	content := &ahead{section: io.NewSectionReader(file, 0, info.Size())}
	content.pieces = bufio.NewReaderSize(content.section, piece)
	http.ServeContent(w, r, "", info.ModTime(), content)
	return nil
}

// ahead reads a file in large pieces.
type ahead struct {
	section *io.SectionReader
	pieces  *bufio.Reader
}

func (a *ahead) Read(p []byte) (int, error) { return a.pieces.Read(p) }

// Seek is from the start or the end: from the current place it would be wrong.
func (a *ahead) Seek(offset int64, whence int) (int64, error) {
	a.pieces.Reset(a.section)
	return a.section.Seek(offset, whence)
}

// page answers with a file of the workspace of a conversation, or the index.html of a
// directory. Nothing leads out of the workspace.
func (s *server) page(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	name, err := nameOf(r.PathValue("file_path"))
	if err != nil {
		return err
	}
	dir, err := s.Workspace(r.Context(), id)
	if err != nil {
		return err
	}
	files, root, release, err := s.Boxes.Below(r.Context(), dir)
	if err != nil {
		return failure(err, "Workspace directory does not exist")
	}
	defer release()
	real, err := pageFile(r.Context(), files, filepath.Join(root, name))
	if err != nil {
		return pageFailure(err)
	}
	kind := mime.TypeByExtension(filepath.Ext(real))
	if kind == "" {
		kind = "text/plain; charset=utf-8" // as an agent-server says of what it does not know
	}
	w.Header().Set("Content-Type", kind)
	// What an agent wrote is not a page of ohgw's: it gets an origin of its own.
	w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads")
	if err := s.send(w, r, files, real); err != nil {
		return pageFailure(err)
	}
	return nil
}

// nameOf is a path below a workspace in this system's form.
func nameOf(path string) (string, error) {
	name := filepath.FromSlash(strings.TrimRight(path, "/"))
	if name == "" {
		return ".", nil
	}
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) || len(name) > maxPath {
		return "", wire.Refuse(http.StatusBadRequest, "Path is outside the workspace")
	}
	return name, nil
}

// noIndex says that a directory has no page.
type noIndex struct{}

func (noIndex) Error() string { return "No index.html in directory" }

// pageFile is the file for a path.
func pageFile(ctx context.Context, files sandbox.Files, at string) (string, error) {
	real, info, err := look(files, at)
	if err != nil || !info.IsDir() {
		return real, err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	real, info, err = look(files, filepath.Join(real, "index.html"))
	if err != nil || !info.Mode().IsRegular() {
		return "", noIndex{}
	}
	return real, nil
}

func look(files sandbox.Files, at string) (real string, info fs.FileInfo, err error) {
	if real, err = files.Real(at); err == nil {
		info, err = files.Stat(real)
	}
	return real, info, err
}

func pageFailure(err error) error {
	if none, ok := err.(noIndex); ok { //nolint:errorlint // it is not wrapped
		return wire.Refuse(http.StatusNotFound, "%s", none.Error())
	}
	answer := failure(err, "File not found")
	if e, ok := answer.(*wire.Error); ok { //nolint:errorlint // of failure
		switch {
		case isOutside(err):
			e.Status, e.Detail = http.StatusBadRequest, "Path is outside the workspace"
		case e.Status == http.StatusBadRequest:
			e.Status, e.Detail = http.StatusNotFound, "File not found"
		}
	}
	return answer
}
