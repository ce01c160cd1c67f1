package filelock

import "io/fs"

// kept is a lock that is taken anew each time: an open file could not be
// removed here.
type kept struct{ lock *Lock }

func (k *kept) try(path string, mode fs.FileMode) (bool, error) {
	lock, err := try(path, mode)
	k.lock = lock
	return lock != nil, err
}

func (k *kept) unlock() error { return k.lock.Release() }

func (k *kept) close() error { return nil }
