// Package pg is the state that several gateways share, in Postgres: which run answers a
// request, who looks after it, and when it may begin.
//
// It speaks Postgres' own protocol and nothing above it: statements with parameters as
// text. It does not have the text of answers on their way to clients: agent-servers keep
// that.
//
// Invariants: one row decides what a run is, and every step of the gateway that looks
// after it names the run and its epoch. Only the database's clock counts. No error and no
// log line has the password.
package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// maxConns is how many connections a gateway has at most, beside that of its session.
	maxConns = 12
	// dialTimeout bounds how long a connection is made.
	dialTimeout = 5 * time.Second
	// statementTime bounds the wait for a connection, and each statement. A connection over
	// which nothing comes for so long is broken: no client waits longer for what a dead
	// network has swallowed.
	statementTime = 10 * time.Second
	// idleCheck is after how long without use a connection is tried before it is used.
	idleCheck = time.Second
)

// DB is a pool of connections to one database. It is safe for concurrent use.
type DB struct {
	cfg    *pgconn.Config
	pooled bool             // statements are not prepared by name
	most   time.Duration    // that a statement may take: statementTime
	room   chan struct{}    // holds one for each connection in use
	now    func() time.Time // measures how long something took, and decides nothing else

	mu   sync.Mutex
	idle []*conn // the one used last at the end
}

var (
	// errMalformed stands for what parsers say of a URL: they repeat what they were given.
	errMalformed = errors.New("not the URL of a database, such as postgres://user@host/name")
	// errBusy is for a connection that did not come free in time.
	errBusy = fmt.Errorf("%w: all connections are in use", ErrUnavailable)
)

func isURL(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// Open makes a pool for a URL. It does not connect yet.
func Open(target string, now func() time.Time) (*DB, error) {
	if !isURL(target) {
		return nil, errMalformed
	}
	cfg, err := pgconn.ParseConfig(target)
	if err != nil {
		return nil, errMalformed
	}
	cfg.ConnectTimeout = dialTimeout
	cfg.RuntimeParams["application_name"] = "ohgw"
	return &DB{cfg: cfg, most: statementTime, room: make(chan struct{}, maxConns), now: now}, nil
}

// Pooled notes that connections go through a pooler in transaction mode, where each
// transaction may be on another connection of the database. A PgBouncer before 1.21 does
// not know statements that are prepared by name. Call it before anything else.
func (db *DB) Pooled() { db.pooled = true }

// Address is where the database is, without credentials.
func (db *DB) Address() string {
	if strings.HasPrefix(db.cfg.Host, "/") { // the directory of a socket
		return "postgres:///" + db.cfg.Database + "?host=" + db.cfg.Host
	}
	return fmt.Sprintf("postgres://%s:%d/%s", db.cfg.Host, db.cfg.Port, db.cfg.Database)
}

// Close ends the connections that are not in use.
func (db *DB) Close() {
	for c := db.rested(); c != nil; c = db.rested() {
		c.end()
	}
}

// rested takes the connection that was used last of those that are not in use; nil where
// all are in use. While there is little to do, it is one that need not be tried first.
func (db *DB) rested() *conn {
	db.mu.Lock()
	defer db.mu.Unlock()
	last := len(db.idle) - 1
	if last < 0 {
		return nil
	}
	c := db.idle[last]
	db.idle = db.idle[:last]
	return c
}

func (db *DB) dial(ctx context.Context) (*conn, error) {
	c, err := pgconn.ConnectConfig(ctx, db.cfg)
	if err != nil {
		return nil, explain(err)
	}
	if db.pooled {
		return &conn{PgConn: c, most: db.most}, nil
	}
	return &conn{PgConn: c, most: db.most, known: make(map[string]string)}, nil
}

// take returns a connection, one of the idle ones if any of them lives.
func (db *DB) take(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, db.most, errBusy)
	defer cancel()
	select {
	case db.room <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for c := db.rested(); c != nil; c = db.rested() {
		if !c.IsClosed() && (db.now().Sub(c.used) <= idleCheck || c.Ping(ctx) == nil) {
			return c, nil
		}
		c.end()
	}
	c, err := db.dial(ctx)
	if err != nil {
		<-db.room
	}
	return c, err
}

// suspect has every connection that is not in use tried before it is used: what broke one of
// them, such as a restart of the database, has broken the others.
func (db *DB) suspect() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idle {
		c.used = time.Time{}
	}
}

// give takes a connection back. One that is in the middle of a transaction is ended.
func (db *DB) give(c *conn) {
	defer func() { <-db.room }()
	if c.IsClosed() {
		db.suspect()
	}
	if c.IsClosed() || c.TxStatus() != 'I' {
		c.end()
		return
	}
	c.used = db.now()
	db.mu.Lock()
	defer db.mu.Unlock()
	db.idle = append(db.idle, c) // as many as there is room for at most
}

// with calls f with a connection.
func (db *DB) with(ctx context.Context, f func(*conn) error) error {
	c, err := db.take(ctx)
	if err != nil {
		return err
	}
	defer db.give(c)
	return f(c)
}
