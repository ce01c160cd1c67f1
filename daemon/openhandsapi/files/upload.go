package files

import (
	"bufio"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path/filepath"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	// maxParts is how many other fields a form may have, maxField their size in bytes.
	maxParts = 16
	maxField = 1 << 20
	// piece is how much of a file is in memory, in bytes.
	piece = 256 << 10
)

// upload writes the file of a form. The file appears only when all of it is written.
func (s *server) upload(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return noFile()
	}
	part, err := fileIn(form)
	if err != nil {
		return err
	}
	files, at, release, err := s.Boxes.Files(r.Context(), path)
	if err != nil {
		return failure(err, "File not found")
	}
	defer release()
	file, err := begin(files, at)
	if err != nil {
		return failure(err, "File not found")
	}
	defer func() {
		if err := file.Abort(); err != nil {
			s.Logger.Error("what is left of an upload cannot be removed", "path", at, "err", err)
		}
	}()
	source := &source{r: part}
	pieces := bufio.NewWriterSize(file, piece) // a form arrives in small ones
	_, err = io.Copy(pieces, source)
	if err == nil {
		err = errors.Join(pieces.Flush(), source.finish(form))
	}
	if source.err != nil {
		return &wire.Error{Status: http.StatusBadRequest, Detail: "There was an error parsing the body", Err: source.err}
	}
	if err == nil {
		err = file.Commit()
	}
	if err != nil {
		return failure(err, "File not found")
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

// begin begins a file, with the directories above it; a link is followed.
func begin(files sandbox.Streams, at string) (sandbox.Writing, error) {
	if err := files.MakeDir(filepath.Dir(at)); err != nil {
		return nil, err
	}
	real, err := files.Real(at)
	if err != nil {
		return nil, err
	}
	return files.Put(real)
}

func noFile() error {
	return pydantic.Refuse(pydantic.Missing().At([]any{"body", "file"}, nil))
}

// fileIn reads a form up to the field with the file.
func fileIn(form *multipart.Reader) (*multipart.Part, error) {
	for range maxParts {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, noFile()
		case err != nil:
			return nil, &wire.Error{Status: http.StatusBadRequest, Detail: "There was an error parsing the body", Err: err}
		case part.FormName() != "file":
		case part.FileName() == "":
			return nil, pydantic.Refuse(pydantic.Value("Expected UploadFile, received: <class 'str'>").At([]any{"body", "file"}, nil))
		default:
			return part, nil
		}
		if n, err := io.CopyN(io.Discard, part, maxField+1); n > maxField || !errors.Is(err, io.EOF) {
			return nil, wire.Refuse(http.StatusBadRequest, "There was an error parsing the body")
		}
	}
	return nil, wire.Refuse(http.StatusBadRequest, "Too many fields. Maximum number of fields is %d.", maxParts)
}

// source is a file on its way; err says that it did not arrive.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// finish reads the form to its end: without that, something is missing.
func (s *source) finish(form *multipart.Reader) error {
	for range maxParts {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = io.CopyN(io.Discard, part, maxField)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			s.err = err
			return err
		}
	}
	s.err = errors.New("too many fields")
	return s.err
}

func (s *server) makeDir(w http.ResponseWriter, r *http.Request) error {
	path, err := pathIn(r)
	if err != nil {
		return err
	}
	if err := s.Boxes.MakeDir(r.Context(), path); err != nil {
		return failure(err, "Directory not found")
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}
