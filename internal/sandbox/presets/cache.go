package presets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// fresh is how long an answer on the disk counts without another question. An older one
// counts while the question is asked again: what an answer comes from, such as the
// version of a program behind another one, is not all seen from outside.
const fresh = time.Hour

// CacheIn is the file for answers in ohgw's state directory.
func CacheIn(state string) string {
	return filepath.Join(state, "sandbox", "package-managers.json")
}

// keptAnswer is the answer of one preset on the disk.
type keptAnswer struct {
	Of      string            `json:"of"` // what it comes from
	At      time.Time         `json:"at"`
	Entries []netpolicy.Entry `json:"entries"`
	Env     []string          `json:"env"`
}

// programs are those that are run for a preset. The answers of the others are read from
// files, and not kept.
var programs = map[string][]string{
	"go": {"go"}, "node": {"npm", "node"}, "python": {"pip3", "python3"}, "system": {"apt-get"},
}

// sources are the files and directories that the programs of a preset read, or from
// which they choose what runs, beside those in files. Relative ones are below the home
// directory.
var sources = map[string][]string{
	"go":     {"../go.env"},
	"node":   {"/etc/npmrc", "../etc/npmrc", "../npmrc", ".config/npm/npmrc"},
	"python": {"/etc/pip.conf", "/etc/xdg/pip/pip.conf", "../pip.conf", ".pyenv/version"},
	"system": {"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf", "/etc/apt/apt.conf.d", "/etc/apt/mirrors", "/etc/apk/repositories"},
}

// stamp says what the answer for a preset comes from: the programs, their files and their
// variables. It is "" for presets without programs.
func (q *question) stamp() string {
	if len(programs[q.preset]) == 0 {
		return ""
	}
	sum := sha256.New()
	note := func(parts ...string) { fmt.Fprintf(sum, "%q\n", parts) }
	var beside []string
	for _, name := range programs[q.preset] {
		at, err := q.find(name)
		if err != nil {
			note(name)
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			real = at
		}
		note(name, at, real, stampOf(real))
		beside = append(beside, filepath.Dir(real))
	}
	cfg := q.asker.cfg
	for _, file := range slices.Concat(files[q.preset], sources[q.preset]) {
		switch rest, ok := strings.CutPrefix(file, "../"); {
		case ok:
			for _, dir := range beside {
				note(file, stampOf(filepath.Join(filepath.Dir(dir), rest)))
			}
		case filepath.IsAbs(file):
			note(file, stampOf(filepath.Join(cfg.Root, file)))
		default:
			note(file, stampOf(filepath.Join(cfg.Home, file)))
		}
	}
	for _, dir := range append([]string{q.configHome(), q.env("PYENV_ROOT")}, filepath.SplitList(q.env("XDG_CONFIG_DIRS"))...) {
		note(dir, stampOf(filepath.Join(dir, "pip", "pip.conf")), stampOf(filepath.Join(dir, "uv", "uv.toml")), stampOf(filepath.Join(dir, "go", "env")), stampOf(filepath.Join(dir, "version")))
	}
	for _, name := range passed {
		note(name, q.env(name))
	}
	for _, name := range variables[q.preset] {
		note(name, stampOf(q.env(name)))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// stampOf returns a text that changes with a file, or with a file in a directory.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	text := fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return text
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil {
				text += fmt.Sprint(" ", entry.Name(), info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return text
}

// recall is the answer on the disk for a key, if it still comes from the same. Old says
// that the question is to be asked again. The Asker is locked.
func (a *Asker) recall(key, of string) (found Found, old, ok bool) {
	if a.cfg.Cache == "" || of == "" {
		return Found{}, false, false
	}
	kept, there := a.answers()[keyOnDisk(key)]
	if !there || kept.Of != of {
		return Found{}, false, false
	}
	age := a.cfg.Now().Sub(kept.At)
	return Found{Entries: kept.Entries, Env: kept.Env}, age < 0 || age > fresh, true
}

// keep puts an answer on the disk. That it cannot be kept costs time only.
func (a *Asker) keep(key, of string, found Found) {
	if a.cfg.Cache == "" || of == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.answers()
	if all == nil || len(all) >= maxAnswers {
		all = map[string]keptAnswer{}
	}
	all[keyOnDisk(key)] = keptAnswer{Of: of, At: a.cfg.Now(), Entries: found.Entries, Env: found.Env}
	data, err := json.Marshal(all)
	if err == nil {
		err = paths.MakePrivate(filepath.Dir(a.cfg.Cache))
	}
	if err == nil {
		_ = atomicfile.Write(a.cfg.Cache, data, atomicfile.Options{})
	}
}

// maxAnswers bounds the file: each other PATH has answers of its own.
const maxAnswers = 100

// answers are those on the disk. Another process may have added to them.
func (a *Asker) answers() map[string]keptAnswer {
	var all map[string]keptAnswer
	if data, err := os.ReadFile(a.cfg.Cache); err != nil || json.Unmarshal(data, &all) != nil {
		return nil // They are asked again.
	}
	return all
}

func keyOnDisk(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
