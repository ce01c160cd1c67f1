package pg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a connection and the statements that it knows.
type conn struct {
	*pgconn.PgConn

	known map[string]string // nil: each statement is parsed when it is run
	begin []statement       // of a transaction that is to begin with the next statement
	most  time.Duration     // that a statement may take
	used  time.Time
}

func (c *conn) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // nothing in it could be lost
}

// simple runs statements without parameters.
func (c *conn) simple(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	return c.patiently(ctx, sql)
}

// patiently runs statements as simple does, for as long as they take.
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

// batch runs statements in one round trip, each prepared once for the connection if that is
// possible. Outside of a transaction they are one. It returns the rows of each.
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
		err = closed // a commit that fails is reported at the end
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
		return nil, err
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

// prepared returns the name of a statement, and prepares it at its first use. It is empty
// where statements have no names.
func (c *conn) prepared(ctx context.Context, sql string) (string, error) {
	if c.known == nil {
		return "", nil
	}
	name := c.known[sql]
	if name == "" {
		ctx, cancel := context.WithTimeout(ctx, c.most)
		defer cancel()
		name = "s" + strconv.Itoa(len(c.known))
		if _, err := c.Prepare(ctx, name, sql, nil); err != nil {
			return "", explain(err)
		}
		c.known[sql] = name
	}
	return name, nil
}
