package systemd

import "os"

// InJournal reports whether what is written to a file goes to the journal; there
// is none here.
func InJournal(func(string) string, *os.File) bool { return false }
