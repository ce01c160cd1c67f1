// Package pg is the state that several gateways share, in Postgres: which run
// answers a request, who looks after it, and when it may begin.
//
// It speaks Postgres' own protocol and nothing above it: statements with parameters
// as text. Nothing of an answer's text on its way to a client is here: agent-servers
// keep that.
//
// Invariants: what a run is, is decided by one row, and every write to that names
// its run and its epoch. No clock but the database's counts. No error and no log
// line has the password.
package pg

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxConns is how many connections a gateway has at most, beside that of its session.
const maxConns = 12

// dialTimeout bounds the making of a connection.
const dialTimeout = 5 * time.Second

// statementTime bounds the wait for a connection, and for each statement: a connection
// over which nothing comes any more is broken then. No client waits longer for what a
// dead network has swallowed.
const statementTime = 10 * time.Second

// idleCheck is after how long without use a connection is looked at before it is used.
const idleCheck = time.Second

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

// conn is a connection and the statements that it knows.
type conn struct {
	*pgconn.PgConn

	known map[string]string // nil: each statement is parsed when it is run
	begin []statement       // of a transaction that is to begin with the next statement
	most  time.Duration     // that a statement may take
	used  time.Time
}

// errMalformed stands for what the parsers say, who repeat what they were given.
var errMalformed = errors.New("not a URL of a database, such as postgres://user@host/name")

// errBusy is for a wait in vain for a connection.
var errBusy = fmt.Errorf("%w: all connections are in use", ErrUnavailable)

func isURL(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// Open makes a pool for a URL. It connects to nothing yet.
func Open(target string) (*DB, error) {
	if !isURL(target) {
		return nil, errMalformed
	}
	cfg, err := pgconn.ParseConfig(target)
	if err != nil {
		return nil, errMalformed
	}
	cfg.ConnectTimeout = dialTimeout
	cfg.RuntimeParams["application_name"] = "ohgw"
	return &DB{cfg: cfg, most: statementTime, room: make(chan struct{}, maxConns), now: time.Now}, nil //nolint:forbidigo // of a duration, see now
}

// Pooled says that connections go through a pooler in transaction mode: each
// transaction may be on another connection of the database. A PgBouncer before 1.21
// cannot have statements that are prepared by name. Call it before anything else.
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

// rested is the connection that was used last of those that are not in use; nil: there
// is none. While there is little to do, it is one that need not be looked at.
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

func (c *conn) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // there is nothing in it that could be lost
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

// take gives a connection, of those that are idle if one of them lives.
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

// suspect lets every connection that is not in use be looked at before it is used: what
// broke one of them, such as a restart of the database, has broken the others.
func (db *DB) suspect() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idle {
		c.used = time.Time{}
	}
}

// give takes a connection back. One that is in the middle of something is ended.
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

// query runs one statement on a connection of the pool.
func (db *DB) query(ctx context.Context, sql string, args ...any) (found []row, err error) {
	err = db.with(ctx, func(c *conn) error {
		found, err = c.query(ctx, sql, args...)
		return err
	})
	return found, err
}

// durability says whether a commit waits for the disk.
type durability bool

const (
	lazy    durability = false
	durable durability = true
)

// statement is one of several that are asked at once.
type statement struct {
	sql  string
	args []any
}

// plansSQL is for the rest of a transaction. A connection keeps its plans, and most are
// made when the tables are small or have not been counted: such a plan reads the whole
// table for each run long after it has grown. Every statement here has an index. Where
// one is not used all the same, its price looks so high that Postgres would compile it.
const plansSQL = "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"

// commits makes the transaction's commit wait for the disk, or not.
func (d durability) commits() statement {
	commit := "off"
	if d == durable {
		commit = "on"
	}
	return statement{"SELECT set_config('synchronous_commit', $1, true), " + plansSQL, []any{commit}}
}

// write runs statements in a transaction of their own, in one round trip: each sees
// what those before it have done. It gives the rows of each.
func (db *DB) write(ctx context.Context, d durability, list ...statement) (found [][]row, err error) {
	err = db.with(ctx, func(c *conn) error {
		found, err = c.batch(ctx, append([]statement{d.commits()}, list...))
		return err
	})
	if err != nil {
		return nil, err
	}
	return found[1:], nil
}

// set is write for one statement.
func (db *DB) set(ctx context.Context, d durability, sql string, args ...any) ([]row, error) {
	found, err := db.write(ctx, d, statement{sql, args})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// within runs f in a transaction, which begins with f's first statement. Its commit
// waits for the disk if d says so.
func (db *DB) within(ctx context.Context, d durability, f func(*conn) error) error {
	return db.with(ctx, func(c *conn) error {
		// What a gateway has locked that is frozen, others get before its lease is over.
		idle := strconv.FormatInt(db.most.Milliseconds(), 10)
		c.begin = []statement{{sql: "BEGIN"}, d.commits(), {"SELECT set_config('idle_in_transaction_session_timeout', $1, true)", []any{idle}}}
		err := f(c)
		begun := c.begin == nil
		c.begin = nil
		switch {
		case !begun:
			return err
		case err == nil:
			return c.simple(ctx, "COMMIT")
		case c.TxStatus() != 'I' && !c.IsClosed():
			err = errors.Join(err, c.simple(context.WithoutCancel(ctx), "ROLLBACK"))
		}
		return err
	})
}

// simple runs statements without parameters.
func (c *conn) simple(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	return c.patiently(ctx, sql)
}

// patiently is simple for what may take its time.
func (c *conn) patiently(ctx context.Context, sql string) error {
	if c.begin != nil {
		if _, err := c.batch(ctx, nil); err != nil {
			return err
		}
	}
	_, err := c.Exec(ctx, sql).ReadAll()
	return explain(err)
}

// query runs one statement.
func (c *conn) query(ctx context.Context, sql string, args ...any) ([]row, error) {
	list := []statement{{sql, args}}
	if c.begin == nil && c.TxStatus() == 'I' {
		list = []statement{{"SELECT " + plansSQL, nil}, list[0]}
	}
	found, err := c.batch(ctx, list)
	if err != nil {
		return nil, err
	}
	return found[len(found)-1], nil
}

// batch runs statements in one round trip, each prepared once for the connection if
// that can be. Without a transaction they are one. It gives the rows of each.
func (c *conn) batch(ctx context.Context, list []statement) (found [][]row, err error) {
	first := len(c.begin)
	list, c.begin = slices.Concat(c.begin, list), nil
	names := make([]string, len(list))
	for i, s := range list {
		if names[i], err = c.prepared(ctx, s.sql); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	p := c.StartPipeline(ctx)
	for i, s := range list {
		params := make([][]byte, len(s.args))
		for k, arg := range s.args {
			params[k] = text(arg)
		}
		if c.known == nil {
			p.SendQueryParams(s.sql, params, nil, nil, nil)
		} else {
			p.SendQueryPrepared(names[i], params, nil, nil)
		}
	}
	err = p.Sync()
	for range list {
		if err != nil {
			break
		}
		var rows []row
		if rows, err = next(p); err == nil {
			found = append(found, rows)
		}
	}
	if closed := p.Close(); err == nil {
		err = closed // what a commit says comes at the end
	}
	if err != nil {
		return nil, explain(err)
	}
	return found[first:], nil
}

// next reads the rows of the next statement of a pipeline.
func next(p *pgconn.Pipeline) ([]row, error) {
	results, err := p.GetResults()
	if err != nil {
		return nil, err //nolint:wrapcheck // explain does
	}
	reader, ok := results.(*pgconn.ResultReader)
	if !ok {
		return nil, fmt.Errorf("%w: it answers with %T", ErrUnavailable, results)
	}
	res := reader.Read()
	rows := make([]row, len(res.Rows))
	for i, r := range res.Rows {
		rows[i] = r
	}
	return rows, res.Err
}

// prepared is the name of a statement, empty where none has one.
func (c *conn) prepared(ctx context.Context, sql string) (string, error) {
	if c.known == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	name := c.known[sql]
	if name == "" {
		name = "s" + strconv.Itoa(len(c.known))
		if _, err := c.Prepare(ctx, name, sql, nil); err != nil {
			return "", explain(err)
		}
		c.known[sql] = name
	}
	return name, nil
}

// text is a parameter as Postgres reads it; nil: NULL.
func text(arg any) []byte {
	switch v := arg.(type) {
	case nil:
		return nil
	case []byte:
		if v == nil {
			return nil
		}
		return append([]byte(`\x`), hex.AppendEncode(nil, v)...)
	case string:
		return []byte(v)
	case time.Time:
		return []byte(v.UTC().Format("2006-01-02 15:04:05.999999Z"))
	case time.Duration:
		return []byte(strconv.FormatFloat(v.Seconds(), 'f', 6, 64))
	default:
		return fmt.Append(nil, v)
	}
}

// row is the columns of a row as text; nil: NULL.
type row [][]byte

func (r row) text(i int) string { return string(r[i]) }
func (r row) isNull(i int) bool { return r[i] == nil }
func (r row) isTrue(i int) bool { return string(r[i]) == "t" }

func (r row) number(i int) int64 {
	n, _ := strconv.ParseInt(string(r[i]), 10, 64) // the column is a number
	return n
}

func (r row) float(i int) float64 {
	f, _ := strconv.ParseFloat(string(r[i]), 64) // the column is a number
	return f
}

func (r row) bytes(i int) []byte {
	if r[i] == nil {
		return nil
	}
	data, _ := hex.DecodeString(strings.TrimPrefix(string(r[i]), `\x`)) // the column is bytea
	return data
}

// moment reads a column that is extract(epoch from …): seconds.
func (r row) moment(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	s, _ := strconv.ParseFloat(string(r[i]), 64) // the column is a number
	return time.UnixMicro(int64(s * 1e6))
}
