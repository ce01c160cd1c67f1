package pg_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/state/pg"
)

func TestNoStatementTakesForEver(t *testing.T) {
	t.Parallel()
	db := dial(t, server.Database(t))
	db.Hurry(200 * time.Millisecond)
	if _, err := db.Query(t.Context(), "SELECT pg_sleep(600)"); !errors.Is(err, pg.ErrUnavailable) {
		t.Errorf("statement that takes ten minutes: %v, want ErrUnavailable", err)
	}
	db.Hurry(time.Minute)
	if _, err := db.Query(t.Context(), "SELECT 1"); err != nil { // on another connection
		t.Errorf("next statement: %v", err)
	}
}

// Nothing of a batch stays after an error, its connection goes on, and only its own commit waits
// for the disk, or does not.
func TestABatchIsOneTransaction(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		db := database(t)
		if pooled {
			db.Pooled()
		}
		insert := "INSERT INTO servers (id, url, slots) VALUES ($1, '', 1)"
		if _, err := db.Batch(t.Context(), false, insert, "first", insert, "first"); err == nil {
			t.Error("two equal rows were inserted without an error")
		}
		found, err := db.Batch(t.Context(), false, insert, "second", "SELECT count(*), current_setting('synchronous_commit'), $1", "")
		if err != nil || found[0][0] != "1" || found[0][1] != "off" {
			t.Errorf("rows and setting within (pooled %v) = %q, %v", pooled, found, err)
		}
		found, err = db.Query(t.Context(), "SELECT count(*), current_setting('synchronous_commit') FROM servers")
		if err != nil || found[0][0] != "1" || found[0][1] != "on" {
			t.Errorf("rows and setting afterwards (pooled %v) = %q, %v", pooled, found, err)
		}
	}
}

// connections lets db have so many.
func connections(t *testing.T, db *pg.DB, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := db.Query(t.Context(), "SELECT pg_sleep(0.2)"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// While there is little to do, no other connection has to be tried first.
func TestTheConnectionUsedLastIsUsedNext(t *testing.T) {
	t.Parallel()
	db := database(t)
	connections(t, db, 8)
	used := map[string]bool{}
	for range 20 {
		used[rows(t, db, "SELECT pg_backend_pid()")[0][0]] = true
	}
	if len(used) != 1 {
		t.Errorf("connections used one after the other = %d, want 1", len(used))
	}
}

// A database that was restarted costs one statement, and not one for each connection.
func TestABrokenConnectionHasTheOthersTried(t *testing.T) {
	t.Parallel()
	target := server.Database(t)
	db, other := dial(t, target), dial(t, target)
	connections(t, db, 3)
	rows(t, other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	failed := 0
	for range 3 {
		if _, err := db.Query(t.Context(), "SELECT 1"); err != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("failed statements = %d of 3, want at most 1", failed)
	}
}

func TestErrorsHaveNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", "postgres://u:hunter2@[::bad/db", "mysql://u:hunter2@h/db"} {
		db, err := pg.Open(url, time.Now)
		if err == nil {
			if at := db.Address(); strings.Contains(at, "hunter2") {
				t.Errorf("address = %q", at)
			}
			_, err = db.Check(t.Context())
			db.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error = %v", err)
		}
	}
}
