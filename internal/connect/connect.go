// Package connect knows how other programs are told about ohgw: what their
// settings look like, and where they keep them.
//
// Each client is a file in clients/: a head, the exact settings, and what else
// there is to know. Settings name the variable [KeyVariable], never a key. This
// package reads and writes no files; what becomes of the text of one is
// [Client.Add] and [Client.Remove].
package connect

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/suggest"
)

//go:embed clients/*.txt
var files embed.FS

// KeyVariable is the environment variable in which settings look for the key.
const KeyVariable = "OHGW_API_KEY"

// Form is the language of settings.
type Form string

// The forms.
const (
	Shell  Form = "sh"
	YAML   Form = "yaml"
	JSON   Form = "json" // with comments and trailing commas, where it is a file; but see strict
	TOML   Form = "toml"
	Python Form = "python"
	Script Form = "js" // an ECMAScript module
	Go     Form = "go"
	Text   Form = "text" // for a person to type
)

// Client is a program that can use ohgw.
type Client struct {
	Name    string // as in: ohgw connect NAME
	Title   string
	Aliases []string
	Form    Form
	Source  string // the page of the client that describes the settings; may be ""
	// File is where the settings are kept, with ~ for the home directory; a
	// name alone is a file that the user keeps anywhere. Empty: they are not in
	// a file of known form.
	File string
	// Beside is a file of its own for the settings, where File has a choice of the
	// user in their place. Empty: there is none. BesideUse is the command that
	// starts the client with it.
	Beside, BesideUse string

	darwin   string   // File on macOS, where it is another one
	windows  string   // and on Windows
	variable string   // names the directory of File where it is set
	at       []string // keys to the place of our entry in the file
	same     []string // members that tell whether an entry is for the same
	whole    bool     // the file is for these settings alone
	strict   bool     // the client's JSON has no comments, so our entry has no mark
	settings string   // with marks
	notes    string
}

// Values are what is put into settings.
type Values struct {
	BaseURL string // "http://127.0.0.1:6449/v1"
	// ContainerURL is the same for a client in a container.
	ContainerURL string
	Model        string
	Program      string // the path of ohgw, for clients that start it
}

func (v Values) fill(text string) string {
	return strings.NewReplacer(
		"@BASE_URL@", v.BaseURL, "@HOST_URL@", strings.TrimSuffix(v.BaseURL, "/v1"), "@CONTAINER_URL@", v.ContainerURL, "@MODEL@", v.Model, "@PROGRAM@", v.Program,
	).Replace(text)
}

// Settings are the exact settings.
func (c Client) Settings(v Values) string {
	if c.Form == JSON {
		v.Program = strings.ReplaceAll(v.Program, `\`, `\\`) // as in a path of Windows
	}
	return v.fill(c.settings)
}

// Notes are what else there is to know, a paragraph a line.
func (c Client) Notes(v Values) string { return v.fill(c.notes) }

// Clients reads all clients, by name.
func Clients() []Client {
	entries, err := files.ReadDir("clients")
	if err != nil {
		panic("connect: " + err.Error()) // They are in the program.
	}
	list := make([]Client, 0, len(entries))
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("clients", e.Name()))
		if err != nil {
			panic("connect: " + err.Error())
		}
		c, err := parse(strings.TrimSuffix(e.Name(), ".txt"), string(text))
		if err != nil {
			panic("connect: " + err.Error()) // A test reads them all.
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Client) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parse reads a file of a client.
func parse(name, text string) (Client, error) {
	parts := strings.SplitN(text, "---\n", 3)
	if len(parts) != 3 {
		return Client{}, fmt.Errorf("client %s has %d parts, not 3", name, len(parts))
	}
	c := Client{Name: name, settings: parts[1], notes: strings.TrimSpace(parts[2])}
	texts := map[string]*string{
		"title": &c.Title, "source": &c.Source, "file": &c.File, "beside": &c.Beside, "use": &c.BesideUse,
		"darwin": &c.darwin, "windows": &c.windows, "variable": &c.variable,
	}
	lists := map[string]*[]string{"aliases": &c.Aliases, "at": &c.at, "same": &c.same}
	for line := range strings.Lines(parts[0]) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return Client{}, fmt.Errorf("client %s has the line %q", name, line)
		}
		text, isText := texts[key]
		list, isList := lists[key]
		switch {
		case isText:
			*text = value
		case isList:
			*list = strings.Fields(value)
		case key == "form":
			c.Form = Form(value)
		case key == "strict":
			c.strict = value == "yes"
		case key == "whole":
			c.whole = value == "yes"
		default:
			return Client{}, fmt.Errorf("client %s has %q", name, key)
		}
	}
	return c, nil
}

// Find looks up the client of that name or alias. Where there is none, near is the
// name of the one that may have been meant; it may be "".
func Find(name string) (c Client, near string, ok bool) {
	var names []string
	for _, c := range Clients() {
		if strings.EqualFold(c.Name, name) || slices.ContainsFunc(c.Aliases, func(a string) bool { return strings.EqualFold(a, name) }) {
			return c, "", true
		}
		names = append(names, c.Name)
		names = append(names, c.Aliases...)
	}
	near = suggest.Nearest(name, names)
	if near == "" {
		return Client{}, "", false
	}
	if c, _, ok := Find(near); ok {
		near = c.Name
	}
	return Client{}, near, false
}
