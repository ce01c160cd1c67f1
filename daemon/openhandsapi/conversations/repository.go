package conversations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// makeWorkspace makes the directory of a conversation, and says whether it is new.
func makeWorkspace(dir string) (isNew bool, err error) {
	_, before := os.Lstat(dir)
	return errors.Is(before, fs.ErrNotExist), os.MkdirAll(dir, 0o777) //nolint:gosec // a workspace is the user's; the umask decides
}

// initRepository makes a new directory a git repository without a commit, as "git init"
// does, for clients that show what an agent has changed. Git itself need not be there.
func initRepository(dir string) error {
	mode := "true"
	if runtime.GOOS == "windows" {
		mode = "false"
	}
	root := filepath.Join(dir, ".git")
	for _, name := range []string{"", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info"} {
		if err := os.Mkdir(filepath.Join(root, filepath.FromSlash(name)), 0o777); err != nil { //nolint:gosec // as git makes them; the umask decides
			return fmt.Errorf("make a repository: %w", err)
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tfilemode = " + mode + "\n\tbare = false\n\tlogallrefupdates = true\n"
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil { //nolint:gosec // the same
			return fmt.Errorf("make a repository: %w", err)
		}
	}
	return nil
}

// unmake removes a repository that initRepository has made, with its directory, where a
// conversation did not come about. A directory that is not empty stays.
func unmake(dir string) {
	_ = os.RemoveAll(filepath.Join(dir, ".git")) // an empty directory is left at worst
	_ = os.Remove(dir)
}
