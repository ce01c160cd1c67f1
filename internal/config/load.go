package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// Source is where settings are looked for.
type Source struct {
	Flags  map[string][]string // values of the flags that were given, by name without dashes
	Getenv func(string) string
	File   string // the config file
	// Named reports that the user named File. One that is not named need not
	// exist.
	Named bool
}

// OriginKind says what kind of thing a setting came from.
type OriginKind string

// The kinds of origins, from strong to weak.
const (
	FromFlag    OriginKind = "flag"
	FromEnv     OriginKind = "env"
	FromFile    OriginKind = "file"
	FromDefault OriginKind = "default"
)

// Origin is where one setting came from.
type Origin struct {
	Kind OriginKind `json:"kind"`
	Name string     `json:"name,omitempty"` // "--addr", "OHGW_ADDR" or the path of the file
}

// String is the origin in a word.
func (o Origin) String() string {
	if o.Kind == FromDefault {
		return "default"
	}
	return o.Name
}

// Settings is a Config that knows where each value came from.
type Settings struct {
	Config

	File  string // the config file
	Found bool   // whether it is there

	origins map[string]Origin // by key; what is missing is a default
	added   map[string]added  // by key: lists that flags added to
	inside  []WorkspaceField
}

// added is what flags added to a list.
type added struct {
	items []string // in their normal form
	to    Origin   // where the rest of the list came from
}

// Origin reports where the setting with that key came from.
func (s *Settings) Origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Kind: FromDefault}
}

// GivenIn are the flags of a section that the command line has, as "--sandbox-net".
func (s *Settings) GivenIn(section Section) []string {
	var flags []string
	for _, f := range Fields() {
		o := s.Origin(f.Key)
		if f.Section == section && o.Kind == FromFlag && !slices.Contains(flags, o.Name) {
			flags = append(flags, o.Name)
		}
	}
	return flags
}

// SourceOf names where an item of the list with that key came from, for an error:
// "--sandbox-write", "OHGW_SANDBOX_WRITE" or "sandbox.files.write in PATH". For a
// setting that is not a list, item is empty.
func (s *Settings) SourceOf(key, item string) string {
	o := s.Origin(key)
	if a, ok := s.added[key]; ok && !slices.Contains(a.items, item) {
		o = a.to
	}
	switch o.Kind {
	case FromFile:
		return key + " in " + o.Name
	case FromFlag, FromEnv:
		return o.Name
	}
	return key
}

// Load collects the settings. Every error is a [fault.Error] that names what
// is wrong where.
func Load(src Source) (*Settings, error) {
	file, found, err := readFile(src.File, src.Named)
	if err != nil {
		return nil, err
	}
	s := &Settings{Config: Default(), File: src.File, Found: found, origins: map[string]Origin{}, added: map[string]added{}}
	for _, f := range Fields() {
		if err := s.take(f, src, file.values); err != nil {
			return nil, err
		}
	}
	if err := s.takeWorkspaces(file.workspaces); err != nil {
		return nil, err
	}
	return s, s.checkNetworkFlag(src.Flags[networkFlag])
}

// take gives one field the value of its strongest source. It checks the weaker
// ones as well: a mistake in them would show up later, when the user does not expect it.
func (s *Settings) take(f Field, src Source, file map[string]any) error {
	if v, ok := file[f.Key]; ok {
		texts, err := f.texts(v)
		if err == nil {
			err = s.put(f, Origin{FromFile, src.File}, texts)
		}
		if err != nil {
			return invalid(f.Key+" in "+src.File, fmt.Sprintf("%v", v), err)
		}
	}
	if v := src.Getenv(f.Env); v != "" {
		if f.public != nil {
			v = f.public(v)
		}
		texts := []string{v}
		if f.Repeats() {
			texts = split(v)
		}
		if err := s.put(f, Origin{FromEnv, f.Env}, texts); err != nil {
			return invalid(f.Env, v, err)
		}
	}
	if name, texts := f.given(src.Flags); len(texts) > 0 {
		if err := s.putFlag(f, Origin{FromFlag, "--" + name}, texts); err != nil {
			return invalid("--"+name, strings.Join(texts, ","), err)
		}
	}
	return nil
}

// given is the flag of a setting, and what the command line says with it.
func (f Field) given(flags map[string][]string) (name string, texts []string) {
	name = cmp.Or(f.Flag, f.shared)
	if name == "" {
		return "", nil
	}
	texts = slices.Clone(flags[name])
	if f.takes != nil {
		texts = slices.DeleteFunc(texts, func(text string) bool { return !f.takes(text) })
	}
	return name, texts
}

// putFlag gives a field the value of its flag.
func (s *Settings) putFlag(f Field, from Origin, texts []string) error {
	if !f.adds {
		return s.put(f, from, texts)
	}
	var flag Config
	if err := f.put(&flag, from, texts); err != nil {
		return err
	}
	items := *f.at(&flag).(*[]string)
	list := f.at(&s.Config).(*[]string)
	for _, item := range items {
		if !slices.Contains(*list, item) {
			*list = append(slices.Clip(*list), item)
		}
	}
	s.added[f.Key] = added{items: items, to: s.Origin(f.Key)}
	s.origins[f.Key] = from
	return nil
}

func (s *Settings) put(f Field, from Origin, texts []string) error {
	if err := f.put(&s.Config, from, texts); err != nil {
		return err
	}
	s.origins[f.Key] = from
	return nil
}

// put gives the setting in c the value that texts from there say.
func (f Field) put(c *Config, from Origin, texts []string) error {
	if f.path {
		texts = slices.Clone(texts)
		for i, text := range texts {
			var err error
			if texts[i], err = f.absolute(text, from); err != nil {
				return err
			}
		}
	}
	return f.set(c, texts)
}

// absolute takes a path relative to the config file that it stands in, else to
// the working directory. No path stays none.
func (f Field) absolute(path string, from Origin) (string, error) {
	switch {
	case path == "", f.tilde && (path == "~" || strings.HasPrefix(path, "~/")):
		return path, nil
	case f.tilde && strings.HasPrefix(path, "~"):
		return "", saidError{netpolicy.Quote(path) + " is another user's home directory: write the full path; only ~/ is expanded"}
	case strings.HasPrefix(path, "~"):
		return "", errors.New("write the full path; ~ is not expanded")
	}
	if from.Kind == FromFile && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from.Name), path)
	}
	return filepath.Abs(path)
}

// split takes a list apart at commas; empty items are left out.
func split(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// invalid returns the error for one value, without the value if it holds a secret.
func invalid(name, value string, err error) error {
	msg := fmt.Sprintf("%s is %q", name, value)
	switch {
	case errors.Is(err, errSecret):
		msg = name + " holds a password"
	case errors.Is(err, errSaid):
		msg = name
	}
	return &fault.Error{Msg: "invalid setting: " + msg, Hint: err.Error(), Code: fault.Usage}
}
