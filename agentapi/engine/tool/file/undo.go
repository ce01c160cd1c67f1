package file

import (
	"bytes"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

const (
	// maxVersions is how many edits of one file can be taken back.
	maxVersions = 10
	// maxHistory bounds the memory for all of them.
	maxHistory = 64 << 20
)

// version is a file as it was before an edit, and as the edit left it.
type version struct {
	path        string
	before, now []byte
}

// history is the edits that can be taken back, oldest first.
type history struct {
	versions []version
	size     int
}

func (v version) size() int { return len(v.before) + len(v.now) }

// remember keeps what a file was before an edit.
func (e *Editor) remember(path string, before, now []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := &e.history
	h.versions = append(h.versions, version{path, before, now})
	h.size += h.versions[len(h.versions)-1].size()
	count := 0
	for _, v := range h.versions {
		if v.path == path {
			count++
		}
	}
	for i := 0; i < len(h.versions) && count > maxVersions; i++ {
		if h.versions[i].path == path {
			h.drop(i)
			count--
			i--
		}
	}
	for h.size > maxHistory && len(h.versions) > 1 {
		h.drop(0)
	}
	e.held.Store(int64(h.size))
}

// Held is how many bytes the edits take that can be taken back.
func (e *Editor) Held() int64 { return e.held.Load() }

func (h *history) drop(i int) {
	h.size -= h.versions[i].size()
	h.versions = append(h.versions[:i], h.versions[i+1:]...)
}

// last is where the last edit of a file is in the history, or -1.
func (h *history) last(path string) int {
	for i := len(h.versions) - 1; i >= 0; i-- {
		if h.versions[i].path == path {
			return i
		}
	}
	return -1
}

// undo takes back the last edit of a file. It keeps what another program has changed since.
func (e *Editor) undo(p *place) (outcome, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.history.last(p.real)
	if i < 0 {
		return outcome{}, refusef("There is no edit of %s by this tool to take back.", p.path)
	}
	f, err := readText(p)
	if err != nil {
		return outcome{}, err
	}
	v := e.history.versions[i]
	if !bytes.Equal(f.data, v.now) {
		return outcome{}, refusef("%s was changed by something else since this tool edited it. Nothing was taken back.", p.path)
	}
	before, _, err := decode(v.before)
	if err != nil {
		return outcome{}, fmt.Errorf("decode the version before: %w", err)
	}
	if err := p.replace(v.before, f); err != nil {
		return outcome{}, err
	}
	e.history.drop(i)
	e.held.Store(int64(e.history.size))
	out := says(fmt.Sprintf("Took back the last edit of %s. It now reads:\n%s", p.path, numbered(splitLines(before), 1, tool.LimitFile-1000)))
	out.old, out.now = &f.content, &before
	return out, nil
}
