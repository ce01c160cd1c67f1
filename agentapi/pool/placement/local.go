package placement

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/recordfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Local keeps the notes of one gateway in small files. Another process may drain a
// server while the gateway runs: that is a file of its own. How servers answered is in
// memory.
type Local struct {
	servers, drains, placed *recordfile.Dir

	now func() time.Time

	mu   sync.Mutex // held while a note is made or replaced
	seen map[string]*answers
}

// answers are how a server answered.
type answers struct {
	misses int
	at     time.Time
	failed string
}

// maxNote bounds what is read of a note.
const maxNote = 1024

var _ Placer = (*Local)(nil)

// NewLocal makes a placer over a directory; "" keeps all in memory. It reads nothing
// yet.
func NewLocal(dir string, now func() time.Time) *Local {
	sub := func(name string) *recordfile.Dir {
		if dir == "" {
			return recordfile.Open("")
		}
		return recordfile.Open(filepath.Join(dir, name))
	}
	return &Local{servers: sub("servers"), drains: sub("drain"), placed: sub("conversations"), now: now, seen: make(map[string]*answers)}
}

// known is the file of a server.
type known struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Slots int    `json:"slots"`
}

// fileOf is the file of a server, a hash of its name.
func fileOf(server string) string {
	sum := sha256.Sum256([]byte(server))
	return hex.EncodeToString(sum[:16])
}

// Join makes servers known.
func (l *Local) Join(_ context.Context, servers []Server) error {
	for _, s := range servers {
		data, err := json.Marshal(known{s.Name, s.URL, s.Slots})
		if err != nil {
			return fmt.Errorf("note the server %s: %w", s.Name, err)
		}
		name := fileOf(s.Name)
		if old, err := l.servers.Read(name); err == nil && string(old) == string(data) {
			continue
		}
		if err := l.servers.Write(name, data); err != nil {
			return fmt.Errorf("note the server %s: %w", s.Name, err)
		}
	}
	return nil
}

// Servers lists what is known.
func (l *Local) Servers(ctx context.Context) ([]Server, error) {
	var list []Server
	err := l.servers.Each(ctx, func(name string, _ time.Time) error {
		s, err := l.server(name)
		if err == nil {
			list = append(list, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the servers of the pool: %w", err)
	}
	slices.SortFunc(list, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (l *Local) server(file string) (Server, error) {
	data, err := l.servers.Read(file)
	if err != nil {
		return Server{}, err
	}
	var k known
	if err := json.Unmarshal(data, &k); err != nil {
		return Server{}, fmt.Errorf("read %s: %w", file, err)
	}
	s := Server{Name: k.Name, URL: k.URL, Slots: k.Slots}
	s.State, err = l.state(k.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.seen[k.Name]; a != nil {
		s.Checked, s.Err = a.at, a.failed
	}
	return s, err
}

// state reads that of a server. The caller does not hold l.mu.
func (l *Local) state(server string) (agentapi.MemberState, error) {
	_, err := l.drains.Head(fileOf(server), 1)
	switch {
	case err == nil:
		return agentapi.MemberDraining, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read whether %s drains: %w", server, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.seen[server]; a != nil && a.misses >= MaxMisses {
		return agentapi.MemberLost, nil
	}
	return agentapi.MemberUp, nil
}

// Drain stops new conversations for a server, or lets it have them again.
func (l *Local) Drain(_ context.Context, server string, on bool) error {
	if _, err := l.servers.Head(fileOf(server), 1); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrUnknown
		}
		return fmt.Errorf("drain %s: %w", server, err)
	}
	var err error
	if on {
		err = l.drains.Write(fileOf(server), []byte(server+"\n"))
	} else {
		err = l.drains.Remove(fileOf(server))
	}
	if err != nil {
		return fmt.Errorf("drain %s: %w", server, err)
	}
	return nil
}

// Place gives the server of a conversation, and notes one where none is.
func (l *Local) Place(ctx context.Context, conversation string, among []Candidate) (string, error) {
	type free struct {
		Candidate

		slots int
	}
	var up []free
	for _, c := range among {
		s, err := l.server(fileOf(c.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case s.State == agentapi.MemberUp:
			slots := max(s.Slots, 1)
			if c.Room > 0 {
				slots = min(slots, c.Room)
			}
			up = append(up, free{c, slots})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.Find(ctx, conversation)
	if err != nil || at != "" {
		return at, err
	}
	if len(up) == 0 {
		return "", ErrNone
	}
	best := slices.MaxFunc(up, func(a, b free) int {
		if fa, fb := a.slots-a.Runs, b.slots-b.Runs; fa > 0 || fb > 0 {
			return fa - fb
		}
		return b.Runs*a.slots - a.Runs*b.slots // all full: by the load
	})
	return best.Name, l.put(conversation, best.Name)
}

// noteOf is the file of a conversation; "" for an id that can have none.
func noteOf(conversation string) string {
	if canonical, err := uuid.Parse(conversation); err != nil || canonical != conversation {
		return ""
	}
	return conversation[:2] + "/" + conversation
}

// Put notes where a conversation is.
func (l *Local) Put(_ context.Context, conversation, server string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.put(conversation, server)
}

func (l *Local) put(conversation, server string) error {
	file := noteOf(conversation)
	if file == "" {
		return fmt.Errorf("note where conversation %q is: not a UUID", conversation)
	}
	if err := l.placed.Write(file, []byte(server+"\n")); err != nil {
		return fmt.Errorf("note where conversation %s is: %w", conversation, err)
	}
	return nil
}

// Find is the server of a conversation.
func (l *Local) Find(_ context.Context, conversation string) (string, error) {
	file := noteOf(conversation)
	if file == "" {
		return "", nil
	}
	data, err := l.placed.Head(file, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read where conversation %s is: %w", conversation, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Remove drops the note of a conversation.
func (l *Local) Remove(ctx context.Context, conversation, server string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.Find(ctx, conversation)
	if err != nil || at != server || at == "" {
		return err
	}
	if err := l.placed.Remove(noteOf(conversation)); err != nil {
		return fmt.Errorf("forget where conversation %s was: %w", conversation, err)
	}
	return nil
}

// Due is true: no other gateway looks.
func (l *Local) Due(context.Context, string) (bool, error) { return true, nil }

// Seen notes how a server answered.
func (l *Local) Seen(_ context.Context, server, failed string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.seen[server]
	if a == nil {
		a = &answers{}
		l.seen[server] = a
	}
	a.at, a.failed = l.now(), failed
	if a.misses++; failed == "" {
		a.misses = 0
	}
	return nil
}
