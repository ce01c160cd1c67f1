package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/atomicfile"
)

// keepRecords is how long an idempotency key is remembered.
const keepRecords = 24 * time.Hour

// records are the idempotency keys of the last 24 hours, one file each. A
// record is on the disk before its run starts and is completed when the run
// ends: after a crash a key is answered from its record or rejoins its run,
// and never starts a second one.
type records struct {
	dir string // empty: in memory only
	now func() time.Time

	mu    sync.Mutex
	known map[string]record
	swept time.Time
}

// record is one key.
type record struct {
	key          string
	readable     bool // false: a file that says nothing any more
	fingerprint  Fingerprint
	conversation string
	baseline     turn.Baseline
	started      time.Time
	done         bool    // the run is known to be over
	end          *ending // how, where it is not on the disk
}

// ending is how the run of a record ended.
type ending struct {
	Result turn.Result `json:"result"`
	// Kind and Message are the error, if there was one: see errorKinds.
	Kind    string        `json:"error_kind,omitempty"`
	Message string        `json:"error_message,omitempty"`
	After   time.Duration `json:"timeout,omitempty"`
}

// recordJSON is a record on disk.
type recordJSON struct {
	Version      int           `json:"version"`
	Fingerprint  string        `json:"fingerprint"`
	Conversation string        `json:"conversation_id"`
	Baseline     turn.Baseline `json:"baseline"`
	Started      time.Time     `json:"started"`
	End          *ending       `json:"end,omitempty"`
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

func openRecords(stateDir string, now func() time.Time) (*records, error) {
	r := &records{now: now, known: make(map[string]record), swept: now()}
	if stateDir == "" {
		return r, nil
	}
	r.dir = filepath.Join(stateDir, "idempotency")
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make idempotency records: %w", err)
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("list idempotency records: %w", err)
	}
	for _, e := range entries {
		if key, isRecord := strings.CutSuffix(e.Name(), ".json"); isRecord {
			r.known[key] = r.load(key, e)
		}
	}
	r.sweep()
	return r, nil
}

func (r *records) path(key string) string { return filepath.Join(r.dir, key+".json") }

// load reads a record when the manager starts. From a file that cannot be read
// nobody can tell what its key ran, so the key is as good as one whose run was
// cut off.
func (r *records) load(key string, e fs.DirEntry) record {
	rec, err := r.read(key)
	if err == nil {
		rec.end = nil // answers may be large; they stay on the disk
		return rec
	}
	rec = record{key: key, started: r.now(), done: true, end: &ending{Kind: "interrupted"}}
	if info, err := e.Info(); err == nil {
		rec.started = info.ModTime()
	}
	return rec
}

func (r *records) read(key string) (record, error) {
	data, err := os.ReadFile(r.path(key))
	if err != nil {
		return record{}, err
	}
	var j recordJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return record{}, err
	}
	rec := record{
		key: key, readable: true, conversation: j.Conversation, baseline: j.Baseline,
		started: j.Started, done: j.End != nil, end: j.End,
	}
	sum, err := hex.DecodeString(j.Fingerprint)
	if err != nil || len(sum) != len(rec.fingerprint) || j.Version != recordVersion {
		return record{}, errors.New("not a record of this version")
	}
	copy(rec.fingerprint[:], sum)
	return rec, nil
}

// find is the record of a key that no job in memory has.
func (r *records) find(key string) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.known[key]
	if ok && r.now().Sub(rec.started) >= keepRecords {
		return record{}, false
	}
	return rec, ok
}

// begin stores that j's run is about to start. An error means that it must not.
func (r *records) begin(j *job, b turn.Baseline) error {
	if j.req.IdempotencyKey == "" || j.follow != nil {
		return nil
	}
	rec := record{
		key: recordKey(j.req.Token, j.req.IdempotencyKey), readable: true,
		fingerprint: j.req.Fingerprint, conversation: j.id, baseline: b, started: r.now(),
	}
	if err := r.store(rec); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return nil
}

// end completes the record of j. A run that did not start leaves none.
func (r *records) end(j *job, res turn.Result, err error) error {
	if j.req.IdempotencyKey == "" {
		return nil
	}
	key := recordKey(j.req.Token, j.req.IdempotencyKey)
	rec, ok := r.find(key)
	if !ok || rec.done {
		return nil
	}
	if isEarly(err) {
		if j.follow != nil { // it could not be looked up now; it still ran once
			return nil
		}
		return r.drop(key)
	}
	rec.done, rec.end = true, newEnding(res, err)
	return r.store(rec)
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

// outcome is how the run of a record ended.
func (r *records) outcome(rec *record) (turn.Result, error) {
	e := rec.end
	if e == nil {
		stored, err := r.read(rec.key)
		if err != nil || stored.end == nil {
			return turn.Result{}, ErrInterrupted
		}
		e = stored.end
	}
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

// store puts a record on the disk, then in memory. The calls for one key come
// one after the other.
func (r *records) store(rec record) error {
	if r.dir != "" {
		data, err := json.Marshal(recordJSON{
			Version: recordVersion, Fingerprint: hex.EncodeToString(rec.fingerprint[:]),
			Conversation: rec.conversation, Baseline: rec.baseline, Started: rec.started, End: rec.end,
		})
		if err != nil {
			return fmt.Errorf("encode record: %w", err)
		}
		if err := atomicfile.Write(r.path(rec.key), data, atomicfile.Options{}); err != nil {
			return err
		}
		rec.end = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[rec.key] = rec
	if r.now().Sub(r.swept) > time.Hour {
		r.sweep()
	}
	return nil
}

func (r *records) drop(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropLocked(key)
}

func (r *records) dropLocked(key string) error {
	delete(r.known, key)
	if r.dir == "" {
		return nil
	}
	if err := os.Remove(r.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

// sweep forgets what is older than a day.
func (r *records) sweep() {
	r.swept = r.now()
	for key, rec := range r.known {
		if r.now().Sub(rec.started) >= keepRecords {
			_ = r.dropLocked(key) // the next sweep tries again after a restart
		}
	}
}
