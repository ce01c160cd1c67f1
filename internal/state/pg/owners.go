package pg

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// noteTime bounds a note that has no context of its own.
const noteTime = 10 * time.Second

// Owners are which token began a conversation, as daemon/owners keeps it in files.
type Owners struct{ db *DB }

// Owners returns the owners of conversations.
func (r *Replica) Owners() *Owners { return &Owners{r.db} }

// Owner returns the id of the token that owns a conversation; empty for none.
func (o *Owners) Owner(conversation string) (token string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	rows, err := o.db.query(ctx, "SELECT token FROM owners WHERE conv = $1", conversation)
	if err != nil {
		return "", fmt.Errorf("look up owner: %w", err)
	}
	if len(rows) == 0 {
		return "", nil
	}
	return rows[0].text(0), nil
}

// Claim notes who owns a conversation.
func (o *Owners) Claim(conversation, token string) error {
	if token == "" || strings.ContainsAny(token, " \n;") {
		return fmt.Errorf("record owner: %q is not a token id", token)
	}
	return o.note("INSERT INTO owners (conv, token) VALUES ($1, $2) ON CONFLICT (conv) DO UPDATE SET token = excluded.token", conversation, token)
}

// Forget notes that a conversation is gone, and with it its owner.
func (o *Owners) Forget(conversation string) error {
	return o.note("DELETE FROM owners WHERE conv = $1", conversation)
}

func (o *Owners) note(sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	if _, err := o.db.set(ctx, lazy, sql, args...); err != nil { // the files of owners are not synced either
		return fmt.Errorf("record owner: %w", err)
	}
	return nil
}
