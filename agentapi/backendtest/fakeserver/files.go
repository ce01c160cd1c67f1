package fakeserver

import (
	"net/http"
	"os"
	"path/filepath"
)

// download sends a file of this machine, unless the server is elsewhere.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	if s.opts.Elsewhere || !filepath.IsAbs(path) {
		refuse(w, 404, "File not found")
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		refuse(w, 404, "File not found")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
}
