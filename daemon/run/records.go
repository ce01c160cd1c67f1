package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// records are the idempotency keys of the last 24 hours, one file each, named
// after a hash of the key. A record is on the disk before its run starts and is
// completed when the run ends: after a crash a key is answered from its record
// or rejoins its run, and never starts a second one.
//
// Only runs that go on are in memory; every other record is read when its key
// comes. recordsweep.go says when a record is over, and removes it.
type records struct {
	dir     string // empty: in memory only
	now     func() time.Time
	log     *slog.Logger
	began   time.Time // of this process
	process string    // names it in the records that it makes
	backend string    // as in Config

	// files is held for reading while a record is written, and for writing while
	// one is removed: what is removed is what was found to be over.
	files sync.RWMutex

	mu   sync.Mutex
	runs map[string]record // that go on; without a directory, all there are
}

// record is one key.
type record struct {
	key          string
	readable     bool // false: a file that says nothing any more
	fingerprint  Fingerprint
	conversation string
	answer       string    // see Attachment.AnswerID; empty in records of an earlier version
	created      time.Time // likewise
	backend      string
	baseline     turn.Baseline
	process      string
	started      time.Time     // by the wall clock
	up           time.Duration // how old its process was then
	done         bool          // the run is known to be over
	end          *ending       // how; nil while it is not done
}

// ending is how the run of a record ended.
type ending struct {
	Result turn.Result `json:"result"`
	// Kind and Message are the error, if there was one: see errorKinds.
	Kind    string        `json:"error_kind,omitempty"`
	Message string        `json:"error_message,omitempty"`
	After   time.Duration `json:"timeout,omitempty"`
}

// recordJSON is the first line of a record on disk. The others, if there are
// any, are endJSON; the last one that can be read counts.
type recordJSON struct {
	Version      int           `json:"version"`
	Fingerprint  string        `json:"fingerprint"`
	Conversation string        `json:"conversation_id"`
	Answer       string        `json:"answer_id,omitempty"`
	Created      time.Time     `json:"created,omitzero"`
	Backend      string        `json:"backend,omitempty"`
	Baseline     turn.Baseline `json:"baseline"`
	Started      time.Time     `json:"started"`
	Process      string        `json:"process,omitempty"`
	Up           time.Duration `json:"up,omitempty"`
	End          *ending       `json:"end,omitempty"`
}

type endJSON struct {
	End *ending `json:"end"`
}

// recordVersion is the version of the files this package reads and writes.
const recordVersion = 1

// errorKinds are the names under which errors are stored.
var errorKinds = []struct {
	name string
	err  error
}{
	{"lost", agentapi.ErrLost},
	{"uncertain", agentapi.ErrUncertain},
	{"interrupted", ErrInterrupted},
	{"form", ErrForm},
}

// recordKey names the record of a token's key. It is a hash, because a key may
// hold what its client would rather not see on a disk.
func recordKey(token, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

func openRecords(cfg Config) *records {
	r := &records{now: cfg.Now, log: cfg.Logger, began: cfg.Now(), process: uuid.New(), backend: cfg.BackendID, runs: make(map[string]record)}
	if cfg.StateDir == "" {
		return r
	}
	r.dir = filepath.Join(cfg.StateDir, "idempotency")
	if err := os.MkdirAll(r.dir, 0o700); err != nil { // tried again with the first record
		cfg.Logger.Warn("cannot create the directory of idempotency records", "err", err)
	}
	return r
}

func (r *records) path(key string) string { return filepath.Join(r.dir, key+".json") }

// read reads a record. An empty or damaged file does not show what its key ran,
// so the key is as good as one whose run was cut off.
func (r *records) read(key string) (record, error) {
	data, err := os.ReadFile(r.path(key))
	if err != nil {
		return record{}, err
	}
	rec, err := decodeRecord(data)
	if err != nil {
		rec = record{started: r.now(), done: true, end: &ending{Kind: "interrupted"}}
		if info, err := os.Stat(r.path(key)); err == nil {
			rec.started = info.ModTime()
		}
	}
	rec.key = key
	return rec, nil
}

func decodeRecord(data []byte) (record, error) {
	first, rest, _ := bytes.Cut(data, []byte{'\n'})
	var j recordJSON
	if err := json.Unmarshal(first, &j); err != nil {
		return record{}, err
	}
	for line := range bytes.Lines(rest) {
		var e endJSON
		if json.Unmarshal(line, &e) == nil && e.End != nil {
			j.End = e.End
		}
	}
	rec := record{
		readable: true, conversation: j.Conversation, answer: j.Answer, created: j.Created, backend: j.Backend, baseline: j.Baseline,
		process: j.Process, started: j.Started, up: j.Up, done: j.End != nil, end: j.End,
	}
	sum, err := hex.DecodeString(j.Fingerprint)
	if err != nil || len(sum) != len(rec.fingerprint) || j.Version != recordVersion {
		return record{}, errors.New("not a record of this version")
	}
	copy(rec.fingerprint[:], sum)
	return rec, nil
}

// find reads the record of a key that no job in memory has; nil: there is none.
func (r *records) find(key string) (*record, error) {
	r.mu.Lock()
	rec, ok := r.runs[key]
	r.mu.Unlock()
	if !ok && r.dir != "" {
		var err error
		rec, err = r.read(key)
		// ENOTDIR: there is no directory of records, and so no record.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("%w: %w", ErrState, err)
		}
		ok = err == nil
	}
	if !ok || r.over(rec) {
		return nil, nil
	}
	if !rec.done && rec.backend != "" && rec.backend != r.backend {
		// Its run is at a backend that is not asked now. The file stays as it is.
		rec.done, rec.end = true, &ending{Kind: "interrupted"}
	}
	return &rec, nil
}

// begin stores that j's run is about to start. An error means that it must not.
func (r *records) begin(j *job, b turn.Baseline) error {
	if j.req.IdempotencyKey == "" || j.follow != nil {
		return nil
	}
	rec := record{
		key: recordKey(j.req.Token, j.req.IdempotencyKey), readable: true,
		fingerprint: j.req.Fingerprint, conversation: j.id, answer: j.answerID, created: j.created, backend: r.backend, baseline: b, process: r.process, started: r.now(), up: r.up(),
	}
	if err := r.store(rec); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[rec.key] = rec
	return nil
}

// end completes the record of j. A run that did not start leaves none.
func (r *records) end(j *job, res turn.Result, err error) error {
	if j.req.IdempotencyKey == "" {
		return nil
	}
	key := recordKey(j.req.Token, j.req.IdempotencyKey)
	rec, known := r.removeRunning(key)
	if j.follow != nil {
		rec, known = *j.follow, true
	}
	switch {
	case !known || rec.done:
		return nil
	case isEarly(err) && j.follow != nil: // it could not be looked up now; it still ran once
		return nil
	case isEarly(err):
		return r.drop(key)
	}
	rec.done, rec.end = true, newEnding(res, err)
	return r.complete(rec)
}

// removeRunning takes a run out of those that go on.
func (r *records) removeRunning(key string) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.runs[key]
	if r.dir != "" {
		delete(r.runs, key)
	}
	return rec, ok
}

func newEnding(res turn.Result, err error) *ending {
	e := &ending{Result: res}
	if err == nil {
		return e
	}
	e.Kind, e.Message = "interrupted", agentapi.PublicMessage(err, "")
	for _, k := range errorKinds {
		if errors.Is(err, k.err) {
			e.Kind = k.name
		}
	}
	if timeout, ok := errors.AsType[*TimeoutError](err); ok {
		e.Kind, e.After = "timeout", timeout.After
	}
	return e
}

// outcome returns how the run of a record ended.
func (rec *record) outcome() (turn.Result, error) {
	e := rec.end
	switch e.Kind {
	case "":
		return e.Result, nil
	case "timeout":
		return e.Result, &TimeoutError{After: e.After}
	}
	for _, k := range errorKinds {
		if k.name == e.Kind && k.name != "interrupted" {
			return e.Result, &agentapi.Error{Kind: k.err, Msg: e.Message}
		}
	}
	return e.Result, ErrInterrupted
}

// store puts a new record on the disk. The calls for one key come one after
// the other.
func (r *records) store(rec record) error {
	if r.dir == "" {
		return nil
	}
	data, err := json.Marshal(recordJSON{
		Version: recordVersion, Fingerprint: hex.EncodeToString(rec.fingerprint[:]), Conversation: rec.conversation, Answer: rec.answer, Created: rec.created, Backend: rec.backend,
		Baseline: rec.baseline, Started: rec.started, Process: rec.process, Up: rec.up, End: rec.end,
	})
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	r.files.RLock()
	defer r.files.RUnlock()
	err = atomicfile.Write(r.path(rec.key), append(data, '\n'), atomicfile.Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("create directory of records: %w", err)
	}
	return atomicfile.Write(r.path(rec.key), append(data, '\n'), atomicfile.Options{})
}

// complete adds the end to a record. It is not synced: where it is lost with
// the machine, the key follows its run and finds the end in the conversation.
func (r *records) complete(rec record) error {
	if r.dir == "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.runs[rec.key] = rec
		return nil
	}
	line, err := json.Marshal(endJSON{rec.end})
	if err != nil {
		return fmt.Errorf("encode end of record: %w", err)
	}
	r.files.RLock()
	f, err := os.OpenFile(r.path(rec.key), os.O_APPEND|os.O_WRONLY, 0)
	r.files.RUnlock()
	if errors.Is(err, fs.ErrNotExist) {
		return r.store(rec)
	}
	if err != nil {
		return err
	}
	// A line of its own, also after one that was cut off.
	_, err = f.Write(append(append([]byte{'\n'}, line...), '\n'))
	return errors.Join(err, f.Close())
}

// drop forgets a key.
func (r *records) drop(key string) error {
	if r.dir == "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, key)
		return nil
	}
	if err := os.Remove(r.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}
