package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
)

// heads are what filters ask of the events of a log, by their index: each event is read
// once for it. An event never changes, so they stay true as long as the names do.
type heads struct {
	mu    sync.Mutex
	known []event.Head // without an id: not yet, or it cannot be read
	count int
	names map[string]string // of kinds and sources: each is in memory once
	kept  bool              // in the file
}

func newHeads(n int) *heads { return &heads{known: make([]event.Head, n), names: map[string]string{}} }

// of is what is known of an event.
func (h *heads) of(i int) (event.Head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[i], h.known[i].ID != ""
}

// learn notes what an event is.
func (h *heads) learn(i int, e event.Head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[i].ID != "" || e.ID == "" {
		return
	}
	e.Kind, e.Source = h.name(e.Kind), h.name(e.Source)
	h.known[i] = e
	h.count++
}

func (h *heads) name(s string) string {
	if known, ok := h.names[s]; ok {
		return known
	}
	s = strings.Clone(s)
	h.names[s] = s
	return s
}

const (
	// headsFile has the heads of a log that no process had open when it was searched.
	// Other programs do not know it. A file that does not fit the log is rewritten.
	headsFile = "ohgw_heads"
	headsForm = "ohgw heads 1"
	// minHeads is how many events a log has whose heads are worth a file.
	minHeads = 1000
)

// read takes from the file of a conversation what is about the events of its log.
func (h *heads) read(dir string, entries []entry) {
	if len(entries) < minHeads {
		return
	}
	data, err := os.ReadFile(filepath.Join(dir, headsFile))
	if err != nil {
		return // there is none, or it is made again
	}
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(first) != headsForm {
		return
	}
	i := 0
	for line := range bytes.Lines(rest) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		if len(fields) != 4 || line[len(line)-1] != '\n' || i == len(entries) || fields[0] != entries[i].name {
			return
		}
		h.learn(i, event.Head{ID: entries[i].id, Kind: fields[1], Source: fields[2], Timestamp: fields[3]})
		i++
	}
	h.kept = i == len(entries)
}

// keep writes the file, once all heads are known. A failure is ignored: without the file
// only the next search takes longer.
func (h *heads) keep(dir string, entries []entry) {
	h.mu.Lock()
	if h.kept || h.count < len(entries) || len(entries) < minHeads {
		h.mu.Unlock()
		return
	}
	h.kept = true
	h.mu.Unlock()
	var out bytes.Buffer
	fmt.Fprintln(&out, headsForm)
	for i, e := range entries {
		head, _ := h.of(i)
		if strings.ContainsAny(head.Kind+head.Source+head.Timestamp, "\t\n") {
			return
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\n", e.name, head.Kind, head.Source, head.Timestamp)
	}
	_ = atomicfile.Write(filepath.Join(dir, headsFile), out.Bytes(), atomicfile.Options{})
}
