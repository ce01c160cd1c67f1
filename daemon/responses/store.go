package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/recordfile"
)

// Record is a stored response.
type Record struct {
	ID           string    `json:"id"`
	Token        string    `json:"token"` // whose it is
	Conversation string    `json:"conversation"`
	Profile      string    `json:"profile"`
	Model        string    `json:"model"`            // as the client named it
	Routed       string    `json:"routed,omitempty"` // the model that was chosen; empty: Model answers
	Background   bool      `json:"background,omitempty"`
	Created      time.Time `json:"created"`
	Status       string    `json:"status"`
	Previous     string    `json:"previous,omitempty"`
	// Kept: the conversation was made for responses, and goes away with the last
	// of them.
	Kept bool `json:"kept,omitempty"`
	// Origin is the conversation that this one is a copy of, or a copy of a copy:
	// they share a workspace.
	Origin string `json:"origin,omitempty"`
	// System is the instructions that the conversation had last.
	System string `json:"system,omitempty"`
	// Text is what the user said.
	Text string `json:"text"`
	// Base is where the turn began.
	Base turn.Baseline `json:"base"`
	// Last is the last event of the turn; empty: not known.
	Last string `json:"last,omitempty"`
	// Next is the response that went on from this one in its conversation.
	Next   string            `json:"next,omitempty"`
	Object json.RawMessage   `json:"object"`
	Input  []json.RawMessage `json:"input"`
	Echo   openai.Echo       `json:"echo"`

	// Claims: the response has the place after the previous one, see [Store.Claim].
	Claims bool `json:"-"`
	// Unstored: the response has no file. It is known only to who goes on from it.
	Unstored bool `json:"-"`
	// Ended is when an unstored response ended.
	Ended time.Time `json:"-"`
}

// Answers is the model that makes the response.
func (r *Record) Answers() string { return cmp.Or(r.Routed, r.Model) }

// Root is the conversation whose workspace the response works in.
func (r *Record) Root() string {
	if r.Origin != "" {
		return r.Origin
	}
	return r.Conversation
}

// Answer reads the text of the response out of its stored object.
func (r *Record) Answer() string {
	var object struct {
		Output []struct {
			Type      string `json:"type"`
			Arguments string `json:"arguments"`
			Content   []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"output"`
	}
	if json.Unmarshal(r.Object, &object) != nil {
		return ""
	}
	text := ""
	for _, item := range object.Output {
		if item.Type == "function_call" {
			text += item.Arguments
		}
		for _, part := range item.Content {
			text += part.Text
		}
	}
	return text
}

// patch is a later line of a record's file. Fields that are absent stay as they are.
type patch struct {
	Status *string         `json:"status,omitempty"`
	Last   *string         `json:"last,omitempty"`
	Next   *string         `json:"next,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
}

// header says which form a file has.
type header struct {
	Version int `json:"version"`
	*Record
}

const version = 1

// Errors of the store.
var (
	ErrNotFound = errors.New("no such response")
	ErrNewer    = errors.New("written by a newer ohgw")
	ErrDamaged  = errors.New("the file of the response is damaged")
	ErrUnsaved  = errors.New("the run ended before the response was stored")
)

// Store keeps responses: one file each, named after its id, which is written
// before the run and grows by a line with each change. Nothing is read at the
// start. It is safe for concurrent use.
type Store struct {
	files *recordfile.Dir

	mu      sync.Mutex
	live    map[string]*Live // that are being made
	claimed map[string]bool  // that are gone on from

	words words
}

// Open makes a store in the state directory; without one it is in memory.
func Open(stateDir string) *Store {
	dir := ""
	if stateDir != "" {
		dir = filepath.Join(stateDir, "responses")
	}
	return &Store{files: recordfile.Open(dir), live: make(map[string]*Live), claimed: make(map[string]bool)}
}

// valid reports whether an id can be one of ours: it becomes the name of a file.
func valid(id string) bool {
	digits, ok := strings.CutPrefix(id, openai.ResponsePrefix)
	if !ok || len(digits) != 32 {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// The kinds of files of a response: the record, and the events of its stream.
const (
	recordKind = ".json"
	eventsKind = ".events"
)

// file is the name of a file of a response.
func file(id, kind string) string {
	return id[len(openai.ResponsePrefix):len(openai.ResponsePrefix)+2] + "/" + id + kind
}

func (s *Store) add(l *Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[l.res.ID] = l
}

// Live is a response that is being made; nil: it is not.
func (s *Store) Live(id string) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// Claim reserves the place after a response. It is false where another request
// has it: then the conversation has to be copied.
func (s *Store) Claim(rec *Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec.Next != "" || s.claimed[rec.ID] {
		return false
	}
	s.claimed[rec.ID] = true
	return true
}

// Release gives a claim back.
func (s *Store) Release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claimed, id)
}

// Save stores a response that waits for its run, unless that has begun or has ended.
// It returns ErrUnsaved where the run came to nothing before anything was stored.
func (s *Store) Save(l *Live) error {
	l.disk.Lock()
	defer l.disk.Unlock()
	if l.saved || !l.isStored() {
		return nil
	}
	if l.begun {
		return ErrUnsaved
	}
	l.mu.Lock()
	rec := *l.cfg.Record
	rec.Status, rec.Object = openai.ResponseQueued, l.object()
	l.mu.Unlock()
	err := s.write(rec)
	l.saved = err == nil
	return err
}

// begin stores a response whose run is about to start, and notes in the previous
// one that it is gone on from.
func (s *Store) begin(rec Record) error {
	if !rec.Unstored {
		if err := s.write(rec); err != nil {
			return err
		}
	}
	if rec.Previous == "" || s.words.follow(rec) {
		return nil
	}
	prev, err := s.Load(rec.Previous)
	if errors.Is(err, ErrNotFound) || err == nil && prev.Conversation != rec.Conversation {
		return nil // deleted meanwhile, or copied
	}
	if err == nil {
		err = s.change(rec.Previous, patch{Next: &rec.ID})
	}
	if err != nil {
		return fmt.Errorf("store response: %w", err)
	}
	s.Release(rec.Previous)
	return nil
}

// end stores the end of a response.
func (s *Store) end(rec *Record, status string, object []byte, last string, frames []openai.StreamEvent, began bool) error {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, rec.ID)
		if rec.Claims {
			delete(s.claimed, rec.Previous)
		}
	}()
	if !began {
		if _, err := s.Load(rec.ID); err != nil { // it was never stored
			return nil
		}
	}
	// The events first: a response that has ended has them all.
	eventsErr := s.writeEvents(rec.ID, frames)
	err := s.change(rec.ID, patch{Status: &status, Last: &last, Object: object})
	if errors.Is(err, ErrNotFound) {
		return s.Delete(rec.ID) // deleted meanwhile
	}
	return errors.Join(err, eventsErr)
}

func (s *Store) writeEvents(id string, frames []openai.StreamEvent) error {
	var b bytes.Buffer
	for _, f := range frames {
		b.Write(f.Data)
		b.WriteByte('\n')
	}
	if err := s.files.WriteUnsynced(file(id, eventsKind), b.Bytes()); err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	return nil
}

// Events reads the events of the stream of a response that has ended, from one number
// on.
func (s *Store) Events(id string, from int) ([]openai.StreamEvent, error) {
	data, err := s.read(id, eventsKind)
	if err != nil {
		return nil, err
	}
	if last, ok := openai.ReadEvent(lastLine(data)); !ok || !last.Ends() {
		return nil, ErrNotFound // the process died while it wrote them
	}
	var events []openai.StreamEvent
	number := -1
	for line := range bytes.Lines(data) {
		if number++; number < from {
			continue
		}
		e, ok := openai.ReadEvent(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			return nil, ErrDamaged
		}
		events = append(events, e)
	}
	return events, nil
}

// lastLine is the last line of a file whose lines all end in a newline.
func lastLine(data []byte) []byte {
	data = bytes.TrimSuffix(data, []byte("\n"))
	return data[bytes.LastIndexByte(data, '\n')+1:]
}

// write puts a whole record on the disk.
func (s *Store) write(rec Record) error {
	data, err := json.Marshal(header{version, &rec})
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	if err := s.files.Write(file(rec.ID, recordKind), append(data, '\n')); err != nil {
		return fmt.Errorf("store response: %w", err)
	}
	return nil
}

// change adds a line to a record.
func (s *Store) change(id string, p patch) error {
	line, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	err = s.files.Append(file(id, recordKind), line)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store response: %w", err)
	}
	return nil
}

func (s *Store) read(id, kind string) ([]byte, error) {
	if !valid(id) {
		return nil, ErrNotFound
	}
	return found(s.files.Read(file(id, kind)))
}

// found is what was read of a file, with an error of the store.
func found(data []byte, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	return data, nil
}

// unknownOwner stands for the owner of a response whose file does not say it. No
// token has this id.
const unknownOwner = "?"

// LoadFor reads a stored response for a client that may enter those of some owners.
// For all others, damaged ones too, it returns ErrNotFound, and reads no more of
// them than their owner.
func (s *Store) LoadFor(id string, enters func(owner string) bool) (*Record, error) {
	head, err := s.head(id)
	if err != nil {
		return nil, err
	}
	if !enters(ownerIn(head)) {
		return nil, ErrNotFound
	}
	return s.Load(id)
}

// headSize is how much of a file says whose response it is: the fields before its
// text.
const headSize = 512

// head is the beginning of the file of a response.
func (s *Store) head(id string) ([]byte, error) {
	if !valid(id) {
		return nil, ErrNotFound
	}
	return found(s.files.Head(file(id, recordKind), headSize))
}

// ownerIn reads the token in the first fields of a record.
func ownerIn(head []byte) string {
	in := json.NewDecoder(bytes.NewReader(head))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return unknownOwner
	}
	for {
		name, err := in.Token()
		if err != nil {
			return unknownOwner
		}
		value, err := in.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return unknownOwner
		}
		if token, ok := value.(string); ok && name == "token" {
			return token
		}
	}
}

// Load reads a stored response.
func (s *Store) Load(id string) (*Record, error) {
	data, err := s.read(id, recordKind)
	if err != nil {
		return nil, err
	}
	return decode(id, data)
}

func decode(id string, data []byte) (*Record, error) {
	first, changes := recordfile.Lines(data)
	h := header{Record: &Record{}}
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if h.Version > version {
		return nil, ErrNewer
	}
	if h.Version != version || h.ID != id {
		return nil, ErrDamaged
	}
	for line := range changes {
		var p patch
		if json.Unmarshal(line, &p) == nil { // else it was cut off
			h.apply(p)
		}
	}
	return h.Record, nil
}

func (r *Record) apply(p patch) {
	if p.Status != nil {
		r.Status = *p.Status
	}
	if p.Last != nil {
		r.Last = *p.Last
	}
	if p.Next != nil {
		r.Next = *p.Next
	}
	if p.Object != nil {
		r.Object = p.Object
	}
}

// Settle stores how a response ended that an earlier process has begun.
func (s *Store) Settle(rec *Record, status string, object []byte) error {
	rec.Status, rec.Object = status, object
	return s.change(rec.ID, patch{Status: &status, Object: object})
}

// Delete forgets a response.
func (s *Store) Delete(id string) error {
	if !valid(id) {
		return ErrNotFound
	}
	if err := s.files.Remove(file(id, eventsKind), file(id, recordKind)); err != nil {
		return fmt.Errorf("delete response: %w", err)
	}
	return nil
}
