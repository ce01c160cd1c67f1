package filelock

import "os"

const openFlags = os.O_RDWR | os.O_CREATE
