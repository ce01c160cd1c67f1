package keyfile

import "io/fs"

// isMine: the access lists of Windows are not looked at.
func isMine(fs.FileInfo) bool { return true }
