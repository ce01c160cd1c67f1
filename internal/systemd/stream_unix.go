//go:build !windows

package systemd

import (
	"fmt"
	"os"
	"syscall"
)

// InJournal reports whether what is written to a file goes to the journal.
func InJournal(getenv func(string) string, f *os.File) bool {
	stream := getenv("JOURNAL_STREAM")
	if stream == "" {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
