package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// The children of a conversation are those whose meta.json names it, whoever wrote
// that, in the order in which they were made.
func TestChildrenOfAConversation(t *testing.T) {
	t.Parallel()
	const (
		parent = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
		early  = "ffffffff-5a3b-4d51-9c43-0a7d5c2f8b12"
		late   = "00000000-5a3b-4d51-9c43-0a7d5c2f8b13"
		bare   = `"7f1c0f7e5a3b4d519c430a7d5c2f8b11"` // as another writer may have it
	)
	root := filepath.Join(t.TempDir(), "conversations")
	children := store.NewChildren(root, time.Now)
	are := func(want ...string) {
		t.Helper()
		got, err := children.Of(parent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	are()
	write := func(id, meta string) {
		t.Helper()
		if err := os.MkdirAll(store.Path(root, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if meta == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(store.Path(root, id), "meta.json"), []byte(meta), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(parent, `{"parent_conversation_id":null}`)
	write(late, "") // in the middle of being made
	write("11111111-5a3b-4d51-9c43-0a7d5c2f8b14", `{"parent_conversation_id":5}`)
	write("22222222-5a3b-4d51-9c43-0a7d5c2f8b15", `torn "parent_conversation_id"`)
	are()
	write(late, `{"created_at":"2026-11-02T00:00:00Z","parent_conversation_id":`+bare+`}`)
	are(late)
	write(early, `{"created_at":"2026-11-01T00:00:00","parent_conversation_id":"`+parent+`"}`)
	are(early, late)
	all, err := children.All()
	if diff := cmp.Diff(map[string][]string{parent: {early, late}}, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := os.RemoveAll(store.Path(root, late)); err != nil {
		t.Fatal(err)
	}
	are(early)
}
