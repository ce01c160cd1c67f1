package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// Whoever has come by the id of a conversation of another token can do nothing
// in it, whatever the token may do elsewhere.
func TestAConversationIsItsOwners(t *testing.T) {
	t.Parallel()
	for bearer, model := range apitest.Models() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default", "cheap", "secret")
			b.Script = func(prompt string) []daemontest.Step {
				if prompt == "clean up" {
					return []daemontest.Step{daemontest.Confirm("rm -rf build"), daemontest.Finish("deleted")}
				}
				return []daemontest.Step{daemontest.Finish("as you like")}
			}
			state := t.TempDir()
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour })
			waiting := apitest.Conversation
			oneShot := g.Chat(apitest.Ask("hi")).Header.Get(apitest.HeaderID)
			for _, profile := range []string{"openhands_default", "openhands_cheap", "openhands_secret", "openhands"} {
				g.As(apitest.Key, profile, "clean up", waiting)
				opened := len(b.Opened())
				for _, id := range []string{waiting, oneShot} {
					apitest.Refused(t, g.As(bearer, model, "what was said?", id))
					apitest.Refused(t, g.As(bearer, model, "yes", id))
					apitest.Refused(t, g.As(bearer, model, "go", id, "X-OpenHands-Confirm", "accept"))
					apitest.Refused(t, g.As(bearer, model, "go", id, "Idempotency-Key", "k-"+id+profile))
					apitest.Refused(t, g.As(bearer, model, "go", id, "X-OpenHands-Repeat", "run"))
				}
				if n := len(b.Opened()) - opened; n != 0 {
					t.Errorf("the backend was asked %d times", n)
				}
			}
			res := g.Do(http.MethodPost, "/v1/conversations/"+waiting+"/interrupt", "", "Authorization", "Bearer "+bearer)
			unknown := g.Do(http.MethodPost, "/v1/conversations/0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e/interrupt", "", "Authorization", "Bearer "+bearer)
			if strings.Replace(unknown.Body, "0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e", waiting, 1) != res.Body {
				t.Errorf("interrupt: %s, for an unknown one %s", res.Body, unknown.Body)
			}
			for _, d := range b.Decided() {
				if d.Accept {
					t.Error("somebody else said yes")
				}
			}
			apitest.Completed(t, g.As(apitest.Key, "openhands_secret", "yes", waiting))
			apitest.Completed(t, g.As(apitest.Key, "openhands_default", "hi", oneShot))
		})
	}
}

// It stays the owner's over a restart, and after its model was changed.
func TestOwnersAreKnownAfterARestart(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	withState := func(c *daemon.Config) { c.StateDir = state }
	first := apitest.Serve(t, b, withState)
	apitest.Completed(t, first.As(apitest.LimitedKey, "openhands_cheap", "hi", apitest.Conversation))
	apitest.Completed(t, first.As(apitest.ActiveKey, "openhands", "hi", "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Daemon.Close(); err != nil {
		t.Fatal(err)
	}
	b.SetProfiles(agentapi.Profile{Name: "default", Revision: "1"}, agentapi.Profile{Name: "cheap", Active: true, Revision: "1"})
	second := apitest.Serve(t, b, withState)
	apitest.Refused(t, second.As(apitest.Key, "openhands_cheap", "hi", apitest.Conversation))
	apitest.Refused(t, second.As(apitest.ActiveKey, "openhands", "hi", apitest.Conversation))
	apitest.Completed(t, second.As(apitest.LimitedKey, "openhands_cheap", "hi", apitest.Conversation))
	// Another profile is active now; the conversation is still the token's own.
	apitest.Completed(t, second.As(apitest.ActiveKey, "openhands", "hi", "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"))
}

// A conversation that was begun elsewhere, or without keys, has no owner:
// tokens for all models may enter it, tokens for some may not, on whatever
// model it is.
func TestConversationsOfNobodyAreForTokensForAllModels(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"default", "cheap"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default", "cheap")
			state := t.TempDir()
			open := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.Tokens, c.NoAuth = state, nil, true })
			const elsewhere = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d00"
			conv, err := b.Open(t.Context(), agentapi.OpenRequest{ID: elsewhere, Profile: profile})
			if err != nil {
				t.Fatal(err)
			}
			if err := conv.Close(); err != nil {
				t.Fatal(err)
			}
			apitest.Completed(t, open.As("", "openhands_"+profile, "hi", apitest.Conversation))
			if err := open.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := open.Daemon.Close(); err != nil {
				t.Fatal(err)
			}
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
			for _, id := range []string{apitest.Conversation, elsewhere} {
				apitest.Refused(t, g.As(apitest.LimitedKey, "openhands_cheap", "hi", id))
				apitest.Refused(t, g.As(apitest.ActiveKey, "openhands", "hi", id))
				apitest.Completed(t, g.As(apitest.Key, "openhands_default", "hi", id))
				apitest.Completed(t, g.As(apitest.OtherKey, "openhands_default", "hi", id))
			}
		})
	}
}

// Without keys everybody may enter everything, what tokens own too.
func TestWithoutKeysNobodyOwnsAnything(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	state := t.TempDir()
	first := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	apitest.Completed(t, first.As(apitest.Key, "openhands_default", "hi", apitest.Conversation))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Daemon.Close(); err != nil {
		t.Fatal(err)
	}
	open := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.Tokens, c.NoAuth = state, nil, true })
	apitest.Completed(t, open.As("", "openhands_default", "hi", apitest.Conversation))
}

// A token that was refused has not kept the conversation, and an owner goes
// with it.
func TestARefusedTokenKeepsNothingAlive(t *testing.T) {
	t.Parallel()
	for bearer, model := range apitest.Models() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := daemontest.New("default", "cheap")
				state := t.TempDir()
				g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Minute })
				id := g.Chat(apitest.Ask("hi")).Header.Get(apitest.HeaderID)
				time.Sleep(30 * time.Second)
				apitest.Refused(t, g.As(bearer, model, "go on", id))
				time.Sleep(40 * time.Second)
				synctest.Wait()
				if got := b.Removed(); len(got) != 1 || got[0] != id {
					t.Errorf("removed %v, want %s", got, id)
				}
				data, err := os.ReadFile(filepath.Join(state, "owners", id[:2]))
				if err != nil {
					t.Fatal(err)
				}
				apitest.Ends(t, "the file", strings.TrimSpace(string(data)), id+" ;")
			})
		})
	}
}

// A token for some models does not learn that another token is at work in a
// conversation without an owner: its request neither waits there nor counts.
func TestARefusedTokenDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := apitest.Script(daemontest.Until(gate), daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	conv, err := b.Open(t.Context(), agentapi.OpenRequest{ID: apitest.Conversation, Profile: "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	busy := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed), apitest.HeaderID, apitest.Conversation))
	apitest.Refused(t, g.As(apitest.LimitedKey, "openhands_cheap", "go", apitest.Conversation))
	close(gate)
	if f := apitest.Parse(t, g.Finish(busy)); f.Text() != "done" {
		t.Errorf(`the text = %q, want "done"`, f.Text())
	}
}

// Without a note of its owner no conversation is begun: later it would be
// anybody's.
func TestAConversationWithoutAnOwnerIsNotBegun(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	if err := os.MkdirAll(filepath.Join(state, "owners", apitest.Conversation[:2]), 0o700); err != nil { // where the file should be
		t.Fatal(err)
	}
	if res := g.As(apitest.Key, "openhands_default", "hi", apitest.Conversation); res.Status != http.StatusInsufficientStorage {
		t.Errorf("status = %d, want 507, body = %s", res.Status, res.Body)
	}
	if b.Runs() != 0 {
		t.Error("it ran")
	}
	if err := os.Remove(filepath.Join(state, "owners", apitest.Conversation[:2])); err != nil {
		t.Fatal(err)
	}
	apitest.Completed(t, g.As(apitest.LimitedKey, "openhands_cheap", "hi", apitest.Conversation, "X-OpenHands-Repeat", "run"))
	apitest.Refused(t, g.As(apitest.Key, "openhands_default", "hi", apitest.Conversation, "X-OpenHands-Repeat", "run"))
}

// The chat of a UI belongs to its token, also where no owner was noted.
func TestAChatGoesOnWhoeverKnewOfOwners(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	chat := func(g *apitest.Gateway, list string) apitest.Response {
		return g.Chat(strings.Replace(apitest.Messages(list), "openhands_default", "openhands_cheap", 1), "Authorization", "Bearer "+apitest.LimitedKey, "X-OpenWebUI-Chat-Id", "c-1")
	}
	first := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	id := chat(first, `{"role":"user","content":"hi"}`).Header.Get(apitest.HeaderID)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Daemon.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(state, "owners")); err != nil { // an ohgw that knew of none
		t.Fatal(err)
	}
	second := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	res := chat(second, fmt.Sprintf(`{"role":"user","content":"hi"},{"role":"assistant","content":%q},{"role":"user","content":"more"}`, "ok"))
	if got := res.Header.Get(apitest.HeaderID); res.Status != http.StatusOK || got != id || res.Header.Get("X-OpenHands-Reconciled") != "continued" {
		t.Errorf("%d, %s instead of %s: %s", res.Status, got, id, res.Body)
	}
}
