package token

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/budget"
)

// The files of the state directory.
const (
	tokensFile = "tokens.json"
	lockFile   = "tokens.lock"
	valueFile  = "default-token" // the value of the default token, where no key store takes it
)

// fileVersion is the version of tokens.json that this package writes.
const fileVersion = 1

// document is tokens.json in memory.
type document struct {
	hadDefault bool // the default token was made once
	entries    []entry
}

// storedFile is tokens.json.
type storedFile struct {
	Version    int           `json:"version"`
	HadDefault bool          `json:"had_default"`
	Tokens     []storedToken `json:"tokens"`
}

type storedToken struct {
	Name    string     `json:"name"`
	SHA256  string     `json:"sha256"`
	Tail    string     `json:"tail"`
	Models  []string   `json:"models,omitempty"`
	ChatBy  []string   `json:"chat_by,omitempty"`
	Places  []string   `json:"workspaces,omitempty"`
	All     bool       `json:"all_conversations,omitempty"`
	Confirm string     `json:"confirm,omitempty"`
	Money   []string   `json:"budget,omitempty"`
	Tokens  []string   `json:"budget_tokens,omitempty"`
	Native  bool       `json:"native,omitempty"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
}

func (d *document) find(name string) int {
	return slices.IndexFunc(d.entries, func(e entry) bool { return e.Name == name })
}

// read returns the document; without a file, an empty one.
func (s *Store) read() (document, error) {
	text, err := os.ReadFile(s.path(tokensFile))
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil
	}
	if err != nil {
		return document{}, fmt.Errorf("read tokens: %w", err)
	}
	doc, err := decode(text)
	if err != nil {
		return document{}, fmt.Errorf("read tokens from %s: %w", s.path(tokensFile), err)
	}
	return doc, nil
}

func decode(text []byte) (document, error) {
	// The version first: all else may have another form in a newer file.
	var head struct {
		Version int `json:"version"`
	}
	err := json.Unmarshal(text, &head)
	switch {
	case err != nil:
		return document{}, fmt.Errorf("damaged: %w", err)
	case head.Version > fileVersion:
		return document{}, ErrNewer
	case head.Version < 1:
		return document{}, errors.New("damaged: no version")
	}
	var stored storedFile
	if err := json.Unmarshal(text, &stored); err != nil {
		return document{}, fmt.Errorf("damaged: %w", err)
	}
	doc := document{hadDefault: stored.HadDefault}
	for _, t := range stored.Tokens {
		e := entry{Token: Token{Name: t.Name, Models: t.Models, ChatBy: t.ChatBy, Workspaces: workspacesOf(t.Name, t.Models, t.Places), Tail: t.Tail, Created: t.Created}}
		e.AllConversations, e.Confirm = t.All && len(t.Models) == 0, floorOf(t.Confirm)
		e.Budgets = append(rules(t.Money, budget.ParseCostRule), rules(t.Tokens, budget.ParseTokensRule)...)
		e.Native = t.Native && len(t.Models) == 0 && e.Confirm == "" && len(e.Budgets) == 0
		if n, err := hex.Decode(e.sum[:], []byte(fitting(t.SHA256))); err != nil || n != len(e.sum) {
			return document{}, fmt.Errorf("damaged: token %q has no hash", t.Name)
		}
		e.ID = e.sum.id()
		if t.Expires != nil {
			e.Expires = *t.Expires
		}
		doc.entries = append(doc.entries, e)
	}
	return doc, nil
}

// rules reads the limits of a token. One that only a newer ohgw may read allows nothing.
func rules(texts []string, parse func(string) (budget.Rule, error)) (list []budget.Rule) {
	for _, text := range texts {
		r, err := parse(text)
		if err != nil {
			r = budget.Nothing()
		}
		list = append(list, r)
	}
	return list
}

// fitting is the hexadecimal text if it has the length of a sum, else nothing.
func fitting(text string) string {
	if len(text) != hex.EncodedLen(len(sum{})) {
		return ""
	}
	return text
}

func (d *document) encode() []byte {
	stored := storedFile{Version: fileVersion, HadDefault: d.hadDefault, Tokens: []storedToken{}}
	for _, e := range d.entries {
		t := storedToken{Name: e.Name, SHA256: hex.EncodeToString(e.sum[:]), Tail: e.Tail, Models: e.Models, ChatBy: e.ChatBy, Places: e.Workspaces, All: e.AllConversations, Confirm: e.Confirm, Native: e.Native, Created: e.Created}
		for _, r := range e.Budgets {
			if r.Tokens > 0 {
				t.Tokens = append(t.Tokens, r.String())
			} else {
				t.Money = append(t.Money, r.String())
			}
		}
		if !e.Expires.IsZero() {
			t.Expires = &e.Expires
		}
		stored.Tokens = append(stored.Tokens, t)
	}
	text, err := json.MarshalIndent(stored, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("token: encode: %v", err)) // strings and times only
	}
	return append(text, '\n')
}
