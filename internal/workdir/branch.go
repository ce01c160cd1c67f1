package workdir

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/subpath"
)

const (
	// maxHead bounds what is read of a file of git, in bytes.
	maxHead = 4 << 10
	// shortHash is how many digits name a commit that no branch names.
	shortHash = 7
)

// Branch is the branch that is checked out in the git repository of dir, or the
// beginning of the commit's hash where none is; empty outside of a repository.
// Git itself is not run.
func Branch(dir string) string {
	for at := range subpath.Up(dir) {
		if git, ok := gitDir(filepath.Join(at, ".git")); ok {
			return head(filepath.Join(git, "HEAD"))
		}
	}
	return ""
}

// Repository is the root of the git repository that dir is in; empty for none.
func Repository(dir string) string {
	for at := range subpath.Up(filepath.Clean(dir)) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
	}
	return ""
}

// gitDir finds the directory that git keeps its files in: path itself, or in a linked
// work tree the one that the file at path names.
func gitDir(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		return path, true
	}
	to, ok := strings.CutPrefix(firstLine(path), "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	return to, true
}

func head(path string) string {
	line := firstLine(path)
	if ref, ok := strings.CutPrefix(line, "ref: "); ok {
		return strings.TrimPrefix(ref, "refs/heads/")
	}
	return line[:min(len(line), shortHash)]
}

// firstLine is the first line of a small file; empty if it cannot be read.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data := make([]byte, maxHead)
	n, _ := f.Read(data) // An error leaves n at 0.
	line, _, _ := strings.Cut(string(data[:n]), "\n")
	return strings.TrimSpace(line)
}
