// Package token keeps the client tokens of the gateway: who may call, for
// which models, until when.
//
// The state directory has tokens.json, for the user only. It holds the SHA-256
// of each token: enough to check one, useless to call with. (A plain hash is
// right here because tokens are random and long; there is nothing to guess.)
// tokens.lock is locked by whoever writes. The plain value of the token
// "default", which exists so that the first start can show a line to paste, is
// kept in the key store, that of LLMs: a keyring, or what its user has
// chosen instead. Where there is no keyring, or it does not work, the private
// file default-token keeps it: whoever can read that file can start agents as
// this user, and could do so without it. Nothing moves the value later.
//
// Invariants: a plain value is returned once, by the call that makes it, and is
// in no error and no other file; a change by any process holds at the next
// [Store.Check], which asks no keyring; if the file cannot be read, no client is admitted.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/workdir"
)

// What can be wrong with a token.
var (
	// ErrUnknown: no token has this value.
	ErrUnknown = errors.New("unknown token")
	// ErrExpired: the token had this value, and its time is over.
	ErrExpired = errors.New("token expired")
	// ErrNotFound: no token has this name.
	ErrNotFound = errors.New("no such token")
	// ErrExists: a token has this name already.
	ErrExists = errors.New("token exists")
	// ErrNoValue: the plain value of the default token is not kept here.
	ErrNoValue = errors.New("the token's value is not stored")
	// ErrNewer: the tokens were written by a newer version of this package.
	ErrNewer = errors.New("written by a newer ohgw")
	// ErrName: a name that a token cannot have.
	ErrName = errors.New("invalid token name")
	// ErrModel: a model that a token cannot be limited to.
	ErrModel = errors.New("invalid model id")
	// ErrWorkspace: a directory that a token cannot be made for.
	ErrWorkspace = errors.New("not an absolute directory")
	// ErrNative: OpenHands' own API knows no limits.
	ErrNative = errors.New("a token for OpenHands' own API cannot be limited")
	// ErrConfirm: a confirmation mode that there is not.
	ErrConfirm = errors.New("not a confirmation mode")
	// ErrAll: a token for some models enters only what it has started.
	ErrAll = errors.New("a token limited to models cannot enter all conversations")
	// ErrChatField: a field that cannot name chats.
	ErrChatField = errors.New("not a field path that can identify chats")
)

// DefaultName is the token that the first start of the daemon makes.
const DefaultName = "default"

// Prefix begins every token, so that people and secret scanners know it.
const Prefix = "ohgw-"

// Token is what is known about a token, without its value.
type Token struct {
	// ID is the same for the whole life of the token and never used again. It
	// is not a secret.
	ID     string
	Name   string
	Models []string // ids of the models it may use; empty: all
	ChatBy []string // fields of a request that name a chat for its client; see ChatFields
	// Workspaces are the directories, absolute and resolved, that its client may
	// choose for conversations, with all below them; [workdir.Any]: every one, which
	// the default token has unless it was limited to models or to other directories.
	Workspaces []string
	// AllConversations: it enters the conversations and responses of all tokens.
	AllConversations bool
	// Confirm is the lowest confirmation mode in which agents work for it, one of
	// [Confirms]; empty: any.
	Confirm string
	// Budgets are what its runs may take in a period; empty: there is no limit.
	Budgets []budget.Rule
	// Native: it was made for OpenHands' own API; see MayUseNative.
	Native  bool
	Tail    string    // the last characters of the value, to recognise it
	Created time.Time // zero when unknown
	Expires time.Time // zero: never
}

// Allows reports whether the token may use a model, by its id.
func (t Token) Allows(model string) bool {
	return len(t.Models) == 0 || slices.Contains(t.Models, model)
}

// Operator reports whether the token may see and stop the runs of all tokens: the
// default token, and the first key of OHGW_API_KEYS, as ohgw's own commands use
// them. A default token that is limited to models may not.
func (t Token) Operator() bool {
	return (t.Name == DefaultName || t.Name == firstKey) && len(t.Models) == 0
}

// MayUseNative reports whether the token may use OpenHands' own API: the default token
// and the keys of OHGW_API_KEYS may, unless they are limited to
// models, by a confirmation mode or by a budget, and those made for it.
func (t Token) MayUseNative() bool {
	return t.Native || (t.Name == DefaultName || strings.HasPrefix(t.Name, keysVariable+"[")) && len(t.Models) == 0 && t.Confirm == "" && len(t.Budgets) == 0
}

// Expired reports whether the token's time is over.
func (t Token) Expired(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires)
}

// Spec describes a token to make.
type Spec struct {
	Name    string
	Models  []string
	ChatBy  []string
	Expires time.Time

	Workspaces []string

	AllConversations bool
	Confirm          string // one of Confirms, or empty, which is the lowest
	Budgets          []budget.Rule
	Native           bool
}

// nameForm is what a name looks like. It ends up in tables, logs and command
// lines.
var nameForm = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ChatFields are the fields of a request that name a chat only for clients who
// say so: for most they name a person, or nothing.
func ChatFields() []string { return []string{"user", "prompt_cache_key"} }

// Confirms are the confirmation modes, the lowest first.
func Confirms() []string { return []string{"never", "risky", "always"} }

// floorOf returns a confirmation mode as the lowest of a token. The lowest mode
// of all does not limit the token; a mode that only a newer ohgw may know counts
// as the highest.
func floorOf(mode string) string {
	switch {
	case mode == "" || mode == Confirms()[0]:
		return ""
	case slices.Contains(Confirms(), mode):
		return mode
	}
	return Confirms()[len(Confirms())-1]
}

// modelForm is what a model id of the gateway looks like.
var modelForm = pattern.Of(`^(auto|openhands(_[^\s,]+)?)$`)

func (s Spec) check() error {
	if !nameForm().MatchString(s.Name) || LooksLikeValue(s.Name) {
		return ErrName
	}
	for _, m := range s.Models {
		if !modelForm().MatchString(m) {
			return fmt.Errorf("%w %q", ErrModel, m)
		}
	}
	for _, dir := range s.Workspaces {
		if dir != workdir.Any && !filepath.IsAbs(dir) {
			return fmt.Errorf("%w %q", ErrWorkspace, dir)
		}
	}
	for _, f := range s.ChatBy {
		if !slices.Contains(ChatFields(), f) {
			return fmt.Errorf("%w %q", ErrChatField, f)
		}
	}
	return s.checkRights()
}

// checkRights refuses rights that go round a limit of the same token.
func (s Spec) checkRights() error {
	switch {
	case s.Confirm != "" && !slices.Contains(Confirms(), s.Confirm):
		return fmt.Errorf("%w: %q", ErrConfirm, s.Confirm)
	case s.Native && (len(s.Models) > 0 || floorOf(s.Confirm) != "" || len(s.Budgets) > 0):
		return ErrNative
	case s.AllConversations && len(s.Models) > 0:
		return ErrAll
	}
	return nil
}

// LooksLikeValue reports whether s is a token's value, given where its name is
// wanted.
func LooksLikeValue(s string) bool {
	return strings.HasPrefix(s, Prefix) && len(s) >= len(Prefix)+valueLength
}

const (
	// valueLength is the number of random characters: 32 of 62 are 190 bits.
	valueLength = 32
	alphabet    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tailLength  = 4
)

// newValue makes the value of a token.
func newValue() secret.Value {
	value := make([]byte, 0, len(Prefix)+valueLength)
	value = append(value, Prefix...)
	var random [2 * valueLength]byte
	for len(value) < cap(value) {
		_, _ = rand.Read(random[:]) // never fails: the runtime ends the program first
		for _, b := range random {
			// Higher bytes would make the first characters likelier.
			if limit := 256 / len(alphabet) * len(alphabet); int(b) < limit && len(value) < cap(value) {
				value = append(value, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return secret.New(string(value))
}

// sum is the SHA-256 of a value.
type sum [sha256.Size]byte

func sumOf(value string) sum { return sha256.Sum256([]byte(value)) }

// id is a name for the value that tells nothing about it: hashed once more, so
// that it is not part of what is compared.
func (s sum) id() string {
	again := sha256.Sum256(s[:])
	return hex.EncodeToString(again[:8])
}

func tail(value string) string {
	if len(value) < 3*tailLength {
		return "" // most of a short value would be told
	}
	return value[len(value)-tailLength:]
}
