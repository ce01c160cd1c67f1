package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
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
}

// Origin reports where the setting with that key came from.
func (s *Settings) Origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Kind: FromDefault}
}

// Load collects the settings. Every error is a [fault.Error] that names what
// is wrong where.
func Load(src Source) (*Settings, error) {
	file, err := readFile(src.File, src.Named)
	if err != nil {
		return nil, err
	}
	s := &Settings{Config: Default(), File: src.File, Found: file != nil, origins: map[string]Origin{}}
	for _, f := range Fields() {
		if err := s.take(f, src, file); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// take gives one field the value of its strongest source. The weaker ones are
// checked as well: a mistake in them would show up later, when nobody looks
// for it.
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
		texts := []string{v}
		if f.Repeats() {
			texts = split(v)
		}
		if err := s.put(f, Origin{FromEnv, f.Env}, texts); err != nil {
			return invalid(f.Env, v, err)
		}
	}
	if texts, ok := src.Flags[f.Flag]; ok && f.Flag != "" {
		if err := s.put(f, Origin{FromFlag, "--" + f.Flag}, texts); err != nil {
			return invalid("--"+f.Flag, strings.Join(texts, ","), err)
		}
	}
	return nil
}

func (s *Settings) put(f Field, from Origin, texts []string) error {
	if f.path && texts[0] != "" {
		p, err := absolute(texts[len(texts)-1], from)
		if err != nil {
			return err
		}
		texts = []string{p}
	}
	if err := f.set(&s.Config, texts); err != nil {
		return err
	}
	s.origins[f.Key] = from
	return nil
}

// absolute takes a path relative to the config file that it stands in, else to
// the working directory.
func absolute(path string, from Origin) (string, error) {
	if strings.HasPrefix(path, "~") {
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

// invalid is the error for one value. A value that holds a secret is not said.
func invalid(name, value string, err error) error {
	msg := fmt.Sprintf("%s is %q", name, value)
	if errors.Is(err, errSecret) {
		msg = name + " holds a password"
	}
	return &fault.Error{Msg: "invalid setting: " + msg, Hint: err.Error(), Code: fault.Usage}
}
