package several

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

const (
	// listAge is how long a list of profiles is good for, and failAge how long a
	// server that did not answer is left alone: a service limits requests, and the
	// lists of a gateway are read often.
	listAge = 30 * time.Second
	failAge = 10 * time.Second
	// youngAge is the age of a list in which a profile that is asked for must be.
	youngAge = 2 * time.Second
	// patience is how long a list waits for servers that were never asked.
	patience = 300 * time.Millisecond
	// askTimeout bounds one question.
	askTimeout = 20 * time.Second
)

// server is a further server, with the backend over it once that is needed.
type server struct {
	Server

	log  *slog.Logger
	now  func() time.Time
	life context.Context //nolint:containedctx // ends with the Backend
	work *sync.WaitGroup

	opening sync.Mutex // held while Open is under way

	mu       sync.Mutex
	backend  agentapi.Backend // nil: not opened yet, or its key was rejected
	earlier  []agentapi.Backend
	profiles []agentapi.Profile
	at       time.Time // of the last answer or failure; zero: never asked
	err      error     // why the last question failed
	flight   chan struct{}
}

// full is the name of a profile of the server.
func (s *server) full(profile string) string {
	if profile == "" {
		return ""
	}
	return profile + mark + s.Name
}

// open is the backend over the server. Its error is an *agentapi.Error, or ctx's.
func (s *server) open(ctx context.Context) (agentapi.Backend, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if b := s.opened(); b != nil {
		return b, nil
	}
	b, err := s.Open(ctx)
	if err != nil {
		return nil, s.closed(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = b
	return b, nil
}

func (s *server) opened() agentapi.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backend
}

// closed is why the server cannot be opened.
func (s *server) closed(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*agentapi.Error](err); ok || ctx.Err() != nil {
		return err
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Err: err, Msg: fmt.Sprintf("The server %s cannot be used: %v. Check it with ohgw server test %s.", s.Name, err, s.Name)}
}

// use does f with the backend over the server. After a rejected key it is opened anew
// at the next use: the key may be another one then.
func (s *server) use(ctx context.Context, f func(agentapi.Backend) error) error {
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	err = f(b)
	if errors.Is(err, agentapi.ErrUnauthorized) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.backend == b {
			// Conversations may still have it.
			s.backend, s.earlier = nil, append(s.earlier, b)
		}
	}
	return err
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.earlier
	if s.backend != nil {
		all = append(all, s.backend)
	}
	var errs []error
	for _, b := range all {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// status is what is known of the server.
func (s *server) status() agentapi.ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return agentapi.ServerStatus{Name: s.Name, Address: s.Address, Profiles: len(s.profiles), Asked: s.at, Err: s.err}
}

// ask asks for the profiles unless they are known for less than age. It does not
// wait.
func (s *server) ask(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		age = min(age, failAge)
	}
	if s.flight != nil || !s.at.IsZero() && s.now().Sub(s.at) < age || s.life.Err() != nil {
		return
	}
	done := make(chan struct{})
	s.flight = done
	s.work.Go(func() { // ends with the question, at the latest after askTimeout
		ctx, cancel := context.WithTimeout(s.life, askTimeout)
		defer cancel()
		var list []agentapi.Profile
		err := s.use(ctx, func(to agentapi.Backend) (err error) {
			list, err = to.Profiles(ctx)
			return err
		})
		if err != nil && s.life.Err() == nil && ctx.Err() != nil {
			err = &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: s.Address + " does not answer in time."}
		}
		s.learn(list, err)
		close(done)
	})
}

// learn takes over an answer.
func (s *server) learn(list []agentapi.Profile, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.life.Err() != nil:
	case err != nil && (s.err == nil || agentapi.PublicMessage(err, "") != agentapi.PublicMessage(s.err, "")):
		s.log.Warn("the models of a server are left out", "server", s.Name, "why", agentapi.PublicMessage(err, "It does not answer."), "err", err)
	case err == nil && s.err != nil:
		s.log.Info("the models of a server are back", "server", s.Name)
	}
	s.profiles = nil
	for _, p := range list {
		p.Name, p.Active, p.Server = s.full(p.Name), false, s.Name
		s.profiles = append(s.profiles, p)
	}
	s.at, s.err, s.flight = s.now(), err, nil
}

// list is the profiles that are known. It waits for the first answer only.
func (s *server) list(ctx context.Context) []agentapi.Profile {
	s.mu.Lock()
	list, never, flight := s.profiles, s.at.IsZero(), s.flight
	s.mu.Unlock()
	if !never || flight == nil {
		return list
	}
	select {
	case <-flight:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profiles
}

// profile is one profile by its full name. It waits for an answer that is young.
func (s *server) profile(ctx context.Context, name string) (agentapi.Profile, error) {
	for _, age := range []time.Duration{listAge, youngAge} {
		s.ask(age)
		s.mu.Lock()
		flight := s.flight
		s.mu.Unlock()
		if flight != nil {
			select {
			case <-flight:
			case <-ctx.Done():
				return agentapi.Profile{}, fmt.Errorf("wait for the server %s: %w", s.Name, ctx.Err())
			}
		}
		s.mu.Lock()
		list, err := s.profiles, s.err
		s.mu.Unlock()
		if err != nil {
			return agentapi.Profile{}, s.unusable(err)
		}
		if i := slices.IndexFunc(list, func(p agentapi.Profile) bool { return p.Name == name }); i >= 0 {
			return list[i], nil
		}
	}
	return agentapi.Profile{}, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: fmt.Sprintf("The server %s has no such LLM profile.", s.Name)}
}

// unusable names the server in the reason why it cannot be used.
func (s *server) unusable(err error) error {
	kind := agentapi.ErrUnavailable
	if e, ok := errors.AsType[*agentapi.Error](err); ok {
		kind = e.Kind
	}
	return &agentapi.Error{Kind: kind, Err: err, Msg: fmt.Sprintf("The server %s of this model cannot be used now. %s", s.Name, agentapi.PublicMessage(err, "It does not answer."))}
}
