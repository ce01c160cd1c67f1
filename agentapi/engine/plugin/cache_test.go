//go:build unix

package plugin_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// used makes a checkout for a conversation, a directory that is made.
func used(t *testing.T, cache plugin.Cache, repository, ref, conversation string) string {
	t.Helper()
	if conversation != "" {
		if err := os.MkdirAll(conversation, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cache.For = conversation
	place, err := cache.Checkout(t.Context(), repository, ref)
	if err != nil {
		t.Fatal(err)
	}
	return place.Dir
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func TestACheckoutGoesWithTheLastConversationThatUsesIt(t *testing.T) {
	t.Parallel()
	repository, _ := repository(t)
	dir, conversations := filepath.Join(t.TempDir(), "cache"), t.TempDir()
	cache := cacheIn(dir)
	one, two, fork := filepath.Join(conversations, "1"), filepath.Join(conversations, "2"), filepath.Join(conversations, "3")
	at := used(t, cache, repository, "v1", one)
	other := used(t, cache, repository, "main", one)
	if again := used(t, cache, repository, "v1", two); again != at {
		t.Fatalf("checkout = %s, then %s", at, again)
	}
	if err := cache.Share(t.Context(), two, fork); err != nil {
		t.Fatal(err)
	}
	for i, gone := range []string{one, two, fork} {
		if !isThere(at) || isThere(other) != (i == 0) {
			t.Errorf("before %s goes: %t, %t", gone, isThere(at), isThere(other))
		}
		if err := cache.Release(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".ohgw.lock" {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A checkout that OpenHands has made has no directory of users beside it.
func TestACheckoutOfOpenHandsStays(t *testing.T) {
	t.Parallel()
	repository, _ := repository(t)
	cache := cacheIn(t.TempDir())
	conversation := filepath.Join(t.TempDir(), "1")
	at := used(t, cache, repository, "v1", conversation)
	if err := os.RemoveAll(at + ".ohgw-users"); err != nil {
		t.Fatal(err)
	}
	if again := used(t, cache, repository, "v1", conversation); again != at {
		t.Fatalf("checkout = %s, then %s", at, again)
	}
	if err := cache.Release(t.Context(), conversation); err != nil || !isThere(at) {
		t.Errorf("a release: %v, and the checkout is there: %t", err, isThere(at))
	}
}

// Conversations that were removed by hand, and checkouts for none, are found later.
func TestTheNumberOfCheckoutsThatNobodyUsesIsBounded(t *testing.T) {
	t.Parallel()
	repository, _ := repository(t)
	var commits []string
	for i := range 20 {
		write(t, repository, "version", fmt.Sprint(i))
		gitIn(t, repository, "commit", "--quiet", "--all", "--message", "next")
		commits = append(commits, gitIn(t, repository, "rev-parse", "HEAD"))
	}
	now := time.Now()
	cache := cacheIn(t.TempDir())
	cache.Now = func() time.Time { return now }
	kept, gone := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "gone")
	first, second := used(t, cache, repository, commits[0], kept), used(t, cache, repository, commits[1], gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, commit := range commits[2:] {
		now = now.Add(time.Hour)
		all = append(all, used(t, cache, repository, commit, ""))
	}
	if !isThere(first) || isThere(second) {
		t.Errorf("in use: %t, of a conversation that is gone: %t", isThere(first), isThere(second))
	}
	for i, at := range all {
		if want := i >= len(all)-16; isThere(at) != want || isThere(at+".ohgw-users") != want {
			t.Errorf("%d of %d: %t, want %t", i, len(all), isThere(at), want)
		}
	}
}
