package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/suggest"
)

// FileName is the name of the file, in the config directory.
const FileName = "servers.json"

// version is the form of the file.
const version = 1

// List is the stored servers, in the order of their names.
type List struct {
	Version int      `json:"version"`
	Default string   `json:"default"` // a name; "" if there are no servers
	Servers []Server `json:"servers"`
}

// Get returns the server of a name. For an unknown name the error has a hint with the
// nearest one.
func (l List) Get(name string) (Server, error) {
	var names []string
	for _, s := range l.Servers {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := "ohgw server list shows the servers"
	switch near := suggest.Nearest(name, names); {
	case near != "":
		hint = "did you mean " + near + "?"
	case len(names) == 0:
		hint = "add it: ohgw server add"
	}
	return Server{}, fault.New(fmt.Sprintf("there is no server %q", name), hint, nil)
}

// At is the server with a root; the default one if several have it.
func (l List) At(root string) (Server, bool) {
	found := Server{}
	for _, s := range l.Servers {
		if s.URL == root && (found.Name == "" || s.Name == l.Default) {
			found = s
		}
	}
	return found, found.Name != ""
}

func (l List) index(name string) int {
	return slices.IndexFunc(l.Servers, func(s Server) bool { return s.Name == name })
}

// Store is the file with the list. Several processes may change it.
type Store struct{ path string }

// NewStore keeps the list in a directory. It touches nothing yet.
func NewStore(dir string) *Store { return &Store{path: filepath.Join(dir, FileName)} }

// Path is the file.
func (s *Store) Path() string { return s.path }

// List reads the list. Without a file it is empty.
func (s *Store) List() (List, error) {
	src, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return List{Version: version}, nil
	}
	if err != nil {
		return List{}, fault.New("the list of servers cannot be read: "+s.path, "check its permissions: ls -l "+shellword.Of(s.path), err)
	}
	var l List
	if err := json.Unmarshal(src, &l); err != nil {
		return List{}, fault.New("the list of servers is damaged: "+s.path, "repair it, or remove it and add the servers again: rm "+shellword.Of(s.path), err)
	}
	if l.Version != version {
		return List{}, fault.New(fmt.Sprintf("the list of servers has version %d, which this version of ohgw cannot read: %s", l.Version, s.path), "update ohgw", nil)
	}
	if err := l.check(); err != nil {
		return List{}, fault.New("the list of servers is damaged: "+s.path, "repair it, or remove it and add the servers again: rm "+shellword.Of(s.path), err)
	}
	return l.withDefault(), nil
}

// check refuses what a person broke by hand.
func (l List) check() error {
	for i, s := range l.Servers {
		root, err := Root(s.URL)
		switch {
		case CheckName(s.Name) != nil:
			return fmt.Errorf("servers[%d].name is not valid", i)
		case l.index(s.Name) != i:
			return fmt.Errorf("servers[%d].name is there twice", i)
		case err != nil || root != s.URL:
			return fmt.Errorf("servers[%d].url is not the root of a server", i)
		case !slices.Contains(Kinds(), string(s.Kind)):
			return fmt.Errorf("servers[%d].kind is not valid", i)
		}
	}
	return nil
}

// withDefault is the list with a default server, if it has a server.
func (l List) withDefault() List {
	if l.index(l.Default) < 0 {
		l.Default = ""
		if len(l.Servers) > 0 {
			l.Default = l.Servers[0].Name
		}
	}
	return l
}

// Put stores a server. One of this name is replaced only with replace. The first
// server is the default one.
func (s *Store) Put(ctx context.Context, server Server, replace bool) error {
	return s.change(ctx, func(l *List) error {
		at := l.index(server.Name)
		switch {
		case at >= 0 && !replace:
			return Taken(server.Name)
		case at >= 0:
			l.Servers[at] = server
		default:
			l.Servers = append(l.Servers, server)
		}
		return nil
	})
}

// Taken says that a name is in use.
func Taken(name string) error {
	return &fault.Error{
		Msg: fmt.Sprintf("a server %q is stored already", name), Hint: "choose another name, or replace it with --replace", Code: fault.Conflict,
	}
}

// Update changes what is known of a server, if it is there and has still this URL.
func (s *Store) Update(ctx context.Context, server Server) error {
	return s.change(ctx, func(l *List) error {
		if at := l.index(server.Name); at >= 0 && l.Servers[at].URL == server.URL {
			l.Servers[at] = server
		}
		return nil
	})
}

// Use makes a server the default one.
func (s *Store) Use(ctx context.Context, name string) error {
	return s.change(ctx, func(l *List) error {
		if _, err := l.Get(name); err != nil {
			return err
		}
		l.Default = name
		return nil
	})
}

// Remove removes a server from the list. If it was the default one, the first of the
// others is.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.change(ctx, func(l *List) error {
		if _, err := l.Get(name); err != nil {
			return err
		}
		l.Servers = slices.Delete(l.Servers, l.index(name), l.index(name)+1)
		return nil
	})
}

func (s *Store) change(ctx context.Context, edit func(*List) error) error {
	if err := paths.MakePrivate(filepath.Dir(s.path)); err != nil {
		return s.unwritable(err)
	}
	lock, err := filelock.Acquire(ctx, s.path+".lock", filelock.Options{Mode: 0o600})
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{Msg: "another process is changing the list of servers: " + busy.Holder.String(), Hint: "try again when it is done", Code: fault.Conflict, Err: err}
	}
	if err != nil {
		return s.unwritable(err)
	}
	defer func() { _ = lock.Release() }() // The list is written already.
	l, err := s.List()
	if err != nil {
		return err
	}
	if err := edit(&l); err != nil {
		return err
	}
	slices.SortFunc(l.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	src, err := json.MarshalIndent(l.withDefault(), "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.path, append(src, '\n'), atomicfile.Options{MaxMode: 0o600}); err != nil {
		return s.unwritable(err)
	}
	return nil
}

func (s *Store) unwritable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New("the list of servers cannot be written: "+s.path, "check the permissions of its directory: ls -ld "+shellword.Of(filepath.Dir(s.path)), err)
}
