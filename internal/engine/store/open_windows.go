package store

import "os"

func openFile(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, fileMode) }
