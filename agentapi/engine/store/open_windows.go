package store

import "os"

func rename(from, to string) error { return os.Rename(from, to) }

func openFile(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, fileMode) }
