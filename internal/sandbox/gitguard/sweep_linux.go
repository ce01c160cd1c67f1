package gitguard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/subpath"
)

// sweeper looks after what a program adds to a repository, and takes the parts away by
// which git, outside, would run programs: a worktree that has its configuration
// elsewhere, and settings and hooks of a new submodule or of a repository that is
// entered in the index. git goes into these by itself. What was there before is
// protected otherwise, and stays.
//
// It works below open directories: no link that a program makes leads it elsewhere.
type sweeper struct {
	repo Repository
	tell func(path string)

	index fs.FileInfo // of the index that was read; nil before
	links []string    // the repositories in it, below the tree
}

func newSweeper(r Repository, tell func(string)) *sweeper { return &sweeper{repo: r, tell: tell} }

// maxLinks bounds how many repositories below others are looked at.
const maxLinks = 1000

// concerns reports whether a name in a directory may be of a new worktree.
func (s *sweeper) concerns(dir, name string) bool {
	worktrees := filepath.Join(s.repo.Dir, "worktrees")
	return filepath.Join(dir, name) == worktrees || subpath.Within(worktrees, dir) && !s.repo.known[dir]
}

// worktrees repairs the new worktrees, and lists their directories.
func (s *sweeper) worktrees() (found []string) {
	root, err := os.OpenRoot(s.repo.Dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for _, entry := range entriesOf(root, "worktrees") {
		at := filepath.Join(s.repo.Dir, "worktrees", entry.Name())
		if s.repo.known[at] {
			continue
		}
		name := "worktrees/" + entry.Name()
		if !entry.IsDir() {
			if root.RemoveAll(name) == nil {
				s.tell(at)
			}
			continue
		}
		found = append(found, at)
		s.remove(root, name+"/"+worktreeConfig)
		s.common(root, name+"/"+commonDir)
	}
	return found
}

// commonOfWorktree is the only content of commondir in the directory of a worktree.
const commonOfWorktree = "../.."

// common repairs the file by which a worktree finds its repository. An empty one is
// about to be written.
func (s *sweeper) common(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil {
		return
	}
	if info.Mode().IsRegular() && info.Size() < 100 {
		text, err := root.ReadFile(name)
		if err != nil || strings.TrimRight(string(text), "\n") == commonOfWorktree || len(text) == 0 {
			return
		}
	}
	temporary := name + ".ohgw"
	err = errors.Join(root.RemoveAll(temporary), root.WriteFile(temporary, []byte(commonOfWorktree+"\n"), 0o644))
	if err == nil && info.IsDir() {
		err = root.RemoveAll(name)
	}
	if err == nil && atomicfile.Over(root, temporary, name) == nil {
		s.tell(filepath.Join(root.Name(), name))
	}
}

func (s *sweeper) remove(root *os.Root, name string) {
	if _, err := root.Lstat(name); err == nil && root.RemoveAll(name) == nil {
		s.tell(filepath.Join(root.Name(), name))
	}
}

// repositories takes away what runs programs in new git directories of submodules, and
// in repositories that are entered in the index.
func (s *sweeper) repositories() {
	if root, err := os.OpenRoot(s.repo.Dir); err == nil {
		found := 0
		s.modules(root, "modules", &found)
		for _, entry := range entriesOf(root, "worktrees") {
			s.modules(root, "worktrees/"+entry.Name()+"/modules", &found)
		}
		_ = root.Close()
	}
	if s.repo.Tree == "" {
		return
	}
	root, err := os.OpenRoot(s.repo.Tree)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	for _, name := range s.repo.never {
		s.remove(root, name)
	}
	if info, err := os.Lstat(s.repo.Index); err != nil || !info.Mode().IsRegular() {
		s.index, s.links = nil, nil
	} else if s.index == nil || !os.SameFile(info, s.index) || info.ModTime() != s.index.ModTime() || info.Size() != s.index.Size() {
		data, err := os.ReadFile(s.repo.Index)
		if err != nil {
			return
		}
		s.index, s.links = info, gitlinks(data)
	}
	found := 0
	for _, link := range s.links {
		s.linked(root, link, &found)
	}
}

// modules looks at new git directories in every depth.
func (s *sweeper) modules(root *os.Root, dir string, found *int) {
	for _, entry := range entriesOf(root, dir) {
		name := dir + "/" + entry.Name()
		if *found++; *found > maxModules || !entry.IsDir() {
			continue
		}
		if !hasHead(root, name) {
			s.modules(root, name, found)
			continue
		}
		s.clean(root, name)
		s.modules(root, name+"/modules", found)
	}
}

// linked looks at the repository at a path of the index, and at those below it.
func (s *sweeper) linked(root *os.Root, link string, found *int) {
	if *found++; *found > maxLinks {
		return
	}
	at := path.Join(link, ".git")
	info, err := root.Lstat(at)
	switch {
	case err != nil || s.repo.known[filepath.Join(s.repo.Tree, at)]:
		return
	case info.Mode().IsRegular():
		// Where the file leads out of the tree, git finds what was there before, or what
		// is looked at as a submodule.
		if at = s.pointer(root, at); at == "" {
			return
		}
	case !info.IsDir():
		if root.RemoveAll(at) == nil { // git makes no links of that name
			s.tell(filepath.Join(s.repo.Tree, at))
		}
		return
	}
	s.clean(root, at)
	data, err := root.ReadFile(at + "/index")
	if err != nil {
		return
	}
	for _, below := range gitlinks(data) {
		s.linked(root, path.Join(link, below), found)
	}
}

// pointer reads where a file .git leads, as a path in the tree; "" if that is not a new
// git directory in it.
func (s *sweeper) pointer(root *os.Root, file string) string {
	data, err := root.ReadFile(file)
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return ""
	}
	if to = resolve(to, filepath.Join(s.repo.Tree, filepath.Dir(file))); to == "" || to == s.repo.Dir || s.repo.known[to] {
		return ""
	}
	name, _ := subpath.Rel(s.repo.Tree, to)
	return name
}

// clean takes away what runs programs in a git directory that was made since.
func (s *sweeper) clean(root *os.Root, dir string) {
	if s.repo.known[filepath.Join(root.Name(), dir)] {
		return
	}
	for _, name := range []string{commonDir, worktreeConfig} {
		s.remove(root, dir+"/"+name)
	}
	s.config(root, dir+"/config")
	if info, err := root.Lstat(dir + "/hooks"); err == nil && !info.IsDir() {
		s.remove(root, dir+"/hooks")
	}
	for _, entry := range entriesOf(root, dir+"/hooks") {
		if !strings.HasSuffix(entry.Name(), ".sample") {
			s.remove(root, dir+"/hooks/"+entry.Name())
		}
	}
}

// config takes the settings out of a configuration that may run something.
func (s *sweeper) config(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil {
		return
	}
	if !info.Mode().IsRegular() || info.Size() > maxKeptSize {
		s.remove(root, name)
		return
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return
	}
	kept := harmlessOf(string(text))
	if kept == string(text) {
		return
	}
	temporary := name + ".ohgw"
	err = errors.Join(root.RemoveAll(temporary), root.WriteFile(temporary, []byte(kept), info.Mode().Perm()))
	if err == nil && atomicfile.Over(root, temporary, name) == nil {
		s.tell(filepath.Join(root.Name(), name))
	}
}

// ofNew are settings that git makes in a new repository, and which run nothing.
var ofNew = pattern.Of(`^(core  (repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree)|` +
	`submodule \S+ (url|active)|submodule  active|extensions  objectformat|remote \S+ (promisor|partialclonefilter|tagopt))$`)

// harmlessOf is a configuration without the settings that may run something.
func harmlessOf(text string) string {
	var kept strings.Builder
	section := ""
	for line := range strings.Lines(text) {
		line := strings.TrimSuffix(line, "\n")
		if m := headerLine().FindStringSubmatch(line); m != nil {
			section = sectionOf(m)
		} else if m := valueLine().FindStringSubmatch(line); m == nil || !isHarmless(settingOf(section, m)) && !isOfNew(settingOf(section, m)) {
			continue
		}
		kept.WriteString(line + "\n")
	}
	return kept.String()
}

func isOfNew(s setting) bool {
	return ofNew().MatchString(s.name) && !strings.Contains(s.value, "::")
}

// entriesOf is what is in a directory; nothing if there is none.
func entriesOf(root *os.Root, dir string) []fs.DirEntry {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	entries, _ := f.ReadDir(-1) // Those that were read count.
	return entries
}

func hasHead(root *os.Root, dir string) bool {
	_, err := root.Lstat(dir + "/HEAD")
	return err == nil
}

// Sizes of git's index: its header, and an entry without its path.
const (
	indexHeader = 12
	indexEntry  = 62
	gitlinkMode = 0o160000
)

// gitlinks are the paths of the repositories that an index of git has, as far as it can
// be read. Its object names have 20 bytes, or 32.
func gitlinks(data []byte) []string {
	if found, ok := gitlinksOf(data, 20); ok {
		return found
	}
	found, _ := gitlinksOf(data, 32)
	return found
}

func gitlinksOf(data []byte, name int) (found []string, ok bool) {
	if len(data) < indexHeader || string(data[:4]) != "DIRC" {
		return nil, true
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	rest, before := data[indexHeader:], ""
	entry := indexEntry - 20 + name
	for range count {
		if len(rest) < entry+2 {
			return found, false
		}
		mode, flags := binary.BigEndian.Uint32(rest[24:]), binary.BigEndian.Uint16(rest[entry-2:])
		if !slices.Contains([]uint32{0o04, 0o10, 0o12, 0o16}, mode>>12) { // as if names had another size
			return found, false
		}
		at := entry
		if version >= 3 && flags&0x4000 != 0 {
			at += 2
		}
		keep := 0
		if version == 4 {
			n, used := prefixSize(rest[min(at, len(rest)):])
			keep, at = len(before)-n, at+used
		}
		if keep < 0 {
			return found, false
		}
		end := bytes.IndexByte(rest[min(at, len(rest)):], 0)
		if end < 0 {
			return found, false
		}
		at, before = at+end, before[:keep]+string(rest[at:at+end])
		if version == 4 {
			at++
		} else {
			at += 8 - at%8
		}
		if mode&0o170000 == gitlinkMode && filepath.IsLocal(before) {
			found = append(found, before)
		}
		if at > len(rest) {
			return found, false
		}
		rest = rest[at:]
	}
	return found, true
}

// prefixSize reads how much of the path before does not count, as git writes it.
func prefixSize(data []byte) (n, used int) {
	for i, b := range data[:min(len(data), 5)] {
		if i > 0 {
			n++
		}
		n = n<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return n, i + 1
		}
	}
	return maxPath, 0
}

// maxPath is more than the size of any path.
const maxPath = 1 << 30
