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
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const headerID = "X-OpenHands-ServerConversation-ID"

// as asks with a key in a conversation.
func (g *gateway) as(bearer, model, prompt, id string, header ...string) response {
	g.t.Helper()
	body := strings.Replace(ask(prompt), "openhands_default", model, 1)
	return g.chat(body, append([]string{"Authorization", "Bearer " + bearer, headerID, id}, header...)...)
}

func refused(t *testing.T, res response) {
	t.Helper()
	envelope(t, res, http.StatusNotFound, "conversation_not_found", headerID)
}

// models are a model that each key may use.
func models() map[string]string {
	return map[string]string{otherKey: "openhands_default", limitedKey: "openhands_cheap", activeKey: "openhands"}
}

// Whoever has come by the id of a conversation of another token can do nothing
// in it, whatever the token may do elsewhere.
func TestAConversationIsItsOwners(t *testing.T) {
	t.Parallel()
	for bearer, model := range models() {
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
			g := serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour })
			waiting := conversation
			oneShot := g.chat(ask("hi")).header.Get(headerID)
			for _, profile := range []string{"openhands_default", "openhands_cheap", "openhands_secret", "openhands"} {
				g.as(key, profile, "clean up", waiting)
				opened := len(b.Opened())
				for _, id := range []string{waiting, oneShot} {
					refused(t, g.as(bearer, model, "what was said?", id))
					refused(t, g.as(bearer, model, "yes", id))
					refused(t, g.as(bearer, model, "go", id, "X-OpenHands-Confirm", "accept"))
					refused(t, g.as(bearer, model, "go", id, "Idempotency-Key", "k-"+id+profile))
					refused(t, g.as(bearer, model, "go", id, "X-OpenHands-Repeat", "run"))
				}
				if n := len(b.Opened()) - opened; n != 0 {
					t.Errorf("the backend was asked %d times", n)
				}
			}
			res := g.do(http.MethodPost, "/v1/conversations/"+waiting+"/interrupt", "", "Authorization", "Bearer "+bearer)
			unknown := g.do(http.MethodPost, "/v1/conversations/0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e/interrupt", "", "Authorization", "Bearer "+bearer)
			if strings.Replace(unknown.body, "0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e", waiting, 1) != res.body {
				t.Errorf("interrupt: %s, for an unknown one %s", res.body, unknown.body)
			}
			for _, d := range b.Decided() {
				if d.Accept {
					t.Error("somebody else said yes")
				}
			}
			completed(t, g.as(key, "openhands_secret", "yes", waiting))
			completed(t, g.as(key, "openhands_default", "hi", oneShot))
		})
	}
}

// It stays the owner's over a restart, and after its model was changed.
func TestOwnersAreKnownAfterARestart(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	withState := func(c *daemon.Config) { c.StateDir = state }
	first := serve(t, b, withState)
	completed(t, first.as(limitedKey, "openhands_cheap", "hi", conversation))
	completed(t, first.as(activeKey, "openhands", "hi", "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.daemon.Close(); err != nil {
		t.Fatal(err)
	}
	b.SetProfiles(agentapi.Profile{Name: "default", Revision: "1"}, agentapi.Profile{Name: "cheap", Active: true, Revision: "1"})
	second := serve(t, b, withState)
	refused(t, second.as(key, "openhands_cheap", "hi", conversation))
	refused(t, second.as(activeKey, "openhands", "hi", conversation))
	completed(t, second.as(limitedKey, "openhands_cheap", "hi", conversation))
	// Another profile is active now; the conversation is still the token's own.
	completed(t, second.as(activeKey, "openhands", "hi", "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9f"))
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
			open := serve(t, b, func(c *daemon.Config) { c.StateDir, c.Tokens, c.NoAuth = state, nil, true })
			const elsewhere = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d00"
			conv, err := b.Open(t.Context(), agentapi.OpenRequest{ID: elsewhere, Profile: profile})
			if err != nil {
				t.Fatal(err)
			}
			if err := conv.Close(); err != nil {
				t.Fatal(err)
			}
			completed(t, open.as("", "openhands_"+profile, "hi", conversation))
			if err := open.stop(); err != nil {
				t.Fatal(err)
			}
			if err := open.daemon.Close(); err != nil {
				t.Fatal(err)
			}
			g := serve(t, b, func(c *daemon.Config) { c.StateDir = state })
			for _, id := range []string{conversation, elsewhere} {
				refused(t, g.as(limitedKey, "openhands_cheap", "hi", id))
				refused(t, g.as(activeKey, "openhands", "hi", id))
				completed(t, g.as(key, "openhands_default", "hi", id))
				completed(t, g.as(otherKey, "openhands_default", "hi", id))
			}
		})
	}
}

// Without keys everybody may enter everything, what tokens own too.
func TestWithoutKeysNobodyOwnsAnything(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	state := t.TempDir()
	first := serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	completed(t, first.as(key, "openhands_default", "hi", conversation))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.daemon.Close(); err != nil {
		t.Fatal(err)
	}
	open := serve(t, b, func(c *daemon.Config) { c.StateDir, c.Tokens, c.NoAuth = state, nil, true })
	completed(t, open.as("", "openhands_default", "hi", conversation))
}

// A token that was refused has not kept the conversation, and an owner goes
// with it.
func TestARefusedTokenKeepsNothingAlive(t *testing.T) {
	t.Parallel()
	for bearer, model := range models() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := daemontest.New("default", "cheap")
				state := t.TempDir()
				g := serve(t, b, func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Minute })
				id := g.chat(ask("hi")).header.Get(headerID)
				time.Sleep(30 * time.Second)
				refused(t, g.as(bearer, model, "go on", id))
				time.Sleep(40 * time.Second)
				synctest.Wait()
				if got := b.Removed(); len(got) != 1 || got[0] != id {
					t.Errorf("removed %v, want %s", got, id)
				}
				data, err := os.ReadFile(filepath.Join(state, "owners", id[:2]))
				if err != nil {
					t.Fatal(err)
				}
				ends(t, "the file", strings.TrimSpace(string(data)), id+" ;")
			})
		})
	}
}

// A token for some models does not learn that another token is at work in a
// conversation without an owner: its request neither waits there nor counts.
func TestARefusedTokenDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := script(daemontest.Until(gate), daemontest.Finish("done"))
	g := serve(t, b)
	conv, err := b.Open(t.Context(), agentapi.OpenRequest{ID: conversation, Profile: "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Close(); err != nil {
		t.Fatal(err)
	}
	busy := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed), headerID, conversation))
	refused(t, g.as(limitedKey, "openhands_cheap", "go", conversation))
	close(gate)
	if f := parse(t, g.finish(busy)); f.text() != "done" {
		t.Errorf("%q", f.text())
	}
}

// Without a note of its owner no conversation is begun: later it would be
// anybody's.
func TestAConversationWithoutAnOwnerIsNotBegun(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	g := serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	if err := os.MkdirAll(filepath.Join(state, "owners", conversation[:2]), 0o700); err != nil { // where the file should be
		t.Fatal(err)
	}
	if res := g.as(key, "openhands_default", "hi", conversation); res.status != http.StatusInsufficientStorage {
		t.Errorf("%d %s", res.status, res.body)
	}
	if b.Runs() != 0 {
		t.Error("it ran")
	}
	if err := os.Remove(filepath.Join(state, "owners", conversation[:2])); err != nil {
		t.Fatal(err)
	}
	completed(t, g.as(limitedKey, "openhands_cheap", "hi", conversation, "X-OpenHands-Repeat", "run"))
	refused(t, g.as(key, "openhands_default", "hi", conversation, "X-OpenHands-Repeat", "run"))
}

// The chat of a UI belongs to its token, also where no owner was noted.
func TestAChatGoesOnWhoeverKnewOfOwners(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	state := t.TempDir()
	chat := func(g *gateway, list string) response {
		return g.chat(strings.Replace(messages(list), "openhands_default", "openhands_cheap", 1), "Authorization", "Bearer "+limitedKey, "X-OpenWebUI-Chat-Id", "c-1")
	}
	first := serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	id := chat(first, `{"role":"user","content":"hi"}`).header.Get(headerID)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.daemon.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(state, "owners")); err != nil { // an ohgw that knew of none
		t.Fatal(err)
	}
	second := serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	res := chat(second, fmt.Sprintf(`{"role":"user","content":"hi"},{"role":"assistant","content":%q},{"role":"user","content":"more"}`, "ok"))
	if got := res.header.Get(headerID); res.status != http.StatusOK || got != id || res.header.Get("X-OpenHands-Reconciled") != "continued" {
		t.Errorf("%d, %s instead of %s: %s", res.status, got, id, res.body)
	}
}
