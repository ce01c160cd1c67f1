package keyfile

import "io/fs"

// Mine: the access lists of Windows are not looked at.
func Mine(fs.FileInfo) bool { return true }
