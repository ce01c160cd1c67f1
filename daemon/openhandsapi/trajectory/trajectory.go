// Package trajectory serves a conversation as an archive, for people and for tools that
// look at what agents do.
package trajectory

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Config is what the route needs. Engine is required.
type Config struct {
	Engine control.Engine
	Logger *slog.Logger
}

// Routes are those of the archive.
func Routes(cfg Config) []wire.Route {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg}
	return []wire.Route{{
		Method: http.MethodGet, Path: "/api/file/download-trajectory/{id}", Summary: "A conversation as a zip archive, without its secrets", Handle: s.download,
	}}
}

type server struct{ Config }

// download writes the archive as it is read: nothing of it is kept.
func (s *server) download(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	dir, err := s.Engine.Log(id)
	if err != nil {
		if errors.Is(err, agentapi.ErrConversationNotFound) {
			return &wire.Error{Status: http.StatusNotFound, Detail: "Conversation not found", Err: err}
		}
		return err
	}
	// Nothing outside of the directory is read, whatever links are in it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the conversation's directory: %w", err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	files, err := list(root)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(id, "-", "")
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.zip"`)
	out := zip.NewWriter(w)
	for _, file := range files {
		if err := add(out, root, name, file); err != nil {
			if r.Context().Err() == nil {
				s.Logger.ErrorContext(r.Context(), "an archive of a conversation is not whole", "conversation", id, "file", file, "err", err)
			}
			panic(http.ErrAbortHandler) // the client sees that it is not whole
		}
	}
	if err := out.Close(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// list names the files of the archive in their order: what is known about the
// conversation, its state, and its events.
func list(root *os.Root) ([]string, error) {
	files := make([]string, 0, 2)
	for _, name := range []string{"base_state.json", "meta.json"} {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	events, err := root.Open("events")
	if errors.Is(err, os.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the events: %w", err)
	}
	defer func() { _ = events.Close() }() // It was only read.
	entries, err := events.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("list the events: %w", err)
	}
	first := len(files)
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") {
			files = append(files, path.Join("events", e.Name()))
		}
	}
	slices.Sort(files[first:])
	return files, nil
}

// add puts a file into the archive.
func add(out *zip.Writer, root *os.Root, under, name string) error {
	file, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("open a file: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read a file: %w", err)
	}
	var modified time.Time
	if info, err := file.Stat(); err == nil {
		modified = info.ModTime()
	}
	entry, err := out.CreateHeader(&zip.FileHeader{Name: path.Join(under, name), Method: zip.Deflate, Modified: modified})
	if err != nil {
		return fmt.Errorf("begin a file of the archive: %w", err)
	}
	if _, err := entry.Write(redact(shape.Event(data))); err != nil {
		return fmt.Errorf("write a file of the archive: %w", err)
	}
	return nil
}

// redact returns a file without what may be a secret. A file that is not JSON stays as
// it is: the engine masked it when it wrote it.
func redact(data []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil || !hide(v) {
		return data
	}
	clean, err := json.Marshal(v)
	if err != nil {
		return nil // it was JSON
	}
	return clean
}
