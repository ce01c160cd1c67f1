package canon

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

//go:embed models.json
var embedded []byte

// Standing is what the list says about the name of a model.
type Standing byte

// The standings. The zero value is that of a name that was not looked up.
const (
	NotAsked Standing = iota
	Current           // on the list
	Retired           // was on the list
	Unlisted          // never was
)

// List is the names of the models that OpenHands' proxy serves. It is safe for
// concurrent use.
type List struct {
	source  string
	current []string
	known   map[string]Standing
}

// Embedded is the list of the release that this program was written against.
func Embedded() *List {
	list, err := ParseList(embedded)
	if err != nil {
		panic(fmt.Sprintf("embedded list of models: %v", err)) // a test reads it
	}
	return list
}

// ParseList reads a list that takes the place of the embedded one.
func ParseList(src []byte) (*List, error) {
	var file struct {
		Source  string   `json:"source"`
		Current []string `json:"current"`
		Retired []struct {
			Name string `json:"name"`
		} `json:"retired"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("read list of models: %w", err)
	}
	if len(file.Current) == 0 {
		return nil, errors.New("read list of models: no current models")
	}
	l := &List{source: file.Source, current: file.Current, known: map[string]Standing{}}
	for _, r := range file.Retired {
		l.known[r.Name] = Retired
	}
	for _, name := range file.Current {
		l.known[name] = Current
	}
	return l, nil
}

// Source reports where the list is from.
func (l *List) Source() string { return l.source }

// Current are the names that are served now, without a prefix.
func (l *List) Current() []string { return slices.Clone(l.current) }

// Standing looks a name up. It is compared byte by byte, as OpenHands does.
func (l *List) Standing(name string) Standing {
	if s, ok := l.known[name]; ok {
		return s
	}
	return Unlisted
}
